"""Rows of the community benchmarks hold machines, and these are played where the tasks come from."""

from pathlib import Path

import pytest
from study_rows import run_of

from certify import certify
from certify.zoo import build
from diacritic.files.ledger import Row, merge_ledger, read_ledger
from diacritic.rollout.machine import from_certified, packed
from diacritic.studies.symbolic import judge
from diacritic.studies.tasks import task
from reproduction.__main__ import main
from reproduction.beyond_paper.delays_page import between
from reproduction.catalogue import CELLS
from reproduction.live import MARK, lines, part, played

ROOT = Path(__file__).parents[2]
COMMITTED = [row for path in sorted((ROOT / "results" / "live").glob("*.jsonl")) for row in read_ledger(path)]


def solved(seed: int = 0, **more: object) -> Row:
    """A run that has learned what certify knows."""
    model = build("memory-chain", bits=1, delay=10)
    machine = from_certified(certify(model).machine, model)
    judged = judge(task("memory-chain", bits=1, delay=10), "external", machine)
    assert judged["machine"] == packed(machine)
    cell = next(
        cell for cell in CELLS if (cell.study, cell.task.title) == ("community", "memory-chain bits=1 delay=10")
    )
    told = {"seconds": 1.0, "demos_sha256": model.digest}
    return run_of(cell, seed, **judged) | cell.identity(seed) | told | more


def test_a_row_is_played_where_its_task_comes_from() -> None:
    row = played(solved(), episodes=16)
    assert row is not None
    assert (row["live"]["episodes"], row["live"]["success"]) == (16, 1.0)
    assert row["live"]["environment"].startswith("bsuite")
    assert played(solved(task="passive-t-maze L=10")) is None  # no checkout


def test_the_table_has_a_line_a_cell() -> None:
    row = solved() | {"live": {"environment": "bsuite 1", "episodes": 4, "success": 0.75}}
    other = solved(1) | {"success": 0.5, "sufficient": False, "live": row["live"] | {"success": 0.25}}
    *_, line = lines([row, other, solved(2)]).splitlines()
    assert line.endswith("| 1/2 | 0.750 | 0.500 | bsuite 1 |")


def test_a_folder_is_played_and_a_page_filled(tmp_path: Path) -> None:
    merge_ledger(tmp_path / "some.jsonl", [solved(), {k: v for k, v in solved(1).items() if k != "machine"}])
    page = tmp_path / "page.md"
    page.write_text(f"before\n<!-- {MARK} -->\n<!-- end of {MARK} -->\n")
    assert main(["live", str(tmp_path), "--episodes", "8", "--page", str(page)]) == 0
    assert ["live" in row for row in read_ledger(tmp_path / "some.jsonl")] == [True, False]
    assert "| 1/1 | 1.000 | 1.000 | bsuite" in page.read_text()


def test_bad_input_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    merge_ledger(tmp_path / "some.jsonl", [solved(machine="?")])
    assert main(["live", str(tmp_path)]) == 2
    assert capsys.readouterr().err == "diacritic: machine: is not a line of base64 text; train the run again\n"
    for arguments, told in (
        ([str(tmp_path), "--episodes", "0"], "--episodes: must be at least 1"),
        ([str(tmp_path), "--page", str(tmp_path / "none.md")], "none.md: does not exist"),
        ([str(tmp_path / "none")], "none: is not a folder"),
    ):
        assert main(["live", *arguments]) == 2
        assert told in capsys.readouterr().err


def test_the_page_is_that_of_the_committed_rows() -> None:
    page = (ROOT / "docs" / "live.md").read_text(encoding="utf-8")
    assert between(page, MARK, part(COMMITTED)) == page


def test_exact_success_is_never_more_than_what_the_environment_rewards() -> None:
    """As the page says: equal where the model says that every action is right, and no less elsewhere."""
    assert COMMITTED
    assert all("live" in row for row in COMMITTED)
    for row in COMMITTED:
        there, spread = row["live"]["success"], 4 * (0.25 / row["live"]["episodes"]) ** 0.5
        assert there == 1 if row["success"] == 1 else there >= row["success"] - spread
        assert row["success"] == 1 or not row["sufficient"]
