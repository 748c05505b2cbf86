"""Ledgers are sorted, whole, mergeable and without NaN; the committed ones satisfy their own format."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from report_inputs import ledger_row

from certify.errors import UserError
from diacritic.files.ledger import merge_ledger, problem_of, read_keys, read_ledger, write_ledger

RESULTS = Path(__file__).parents[3] / "results"


def row(cell: str = "a", seed: int = 0, **more: Any) -> dict[str, Any]:
    return ledger_row(cell, seed, True, **more)


def test_rows_are_sorted_and_numbers_short(tmp_path: Path):
    path = tmp_path / "x.jsonl"
    write_ledger(path, [row("b"), row("a", 1, rate={"gap": math.pi}), row("a", 0, success=math.nan)])
    rows = read_ledger(path)
    assert [(r["cell"], r["seed"]) for r in rows] == [("a", 0), ("a", 1), ("b", 0)]
    assert rows[0]["success"] is None
    assert rows[1]["rate"] == {"gap": 3.14159}
    assert list(tmp_path.iterdir()) == [path]


def test_merging_replaces_the_same_run_and_keeps_the_others(tmp_path: Path):
    path = tmp_path / "x.jsonl"
    merge_ledger(path, [row("a", 0, K=1), row("a", 1, K=1)])
    merge_ledger(path, [row("a", 1, K=2), row("b", 0, K=2)])
    assert [(r["cell"], r["seed"], r["K"]) for r in read_ledger(path)] == [("a", 0, 1), ("a", 1, 2), ("b", 0, 2)]


def test_an_incomplete_row_is_refused_and_leaves_the_file(tmp_path: Path):
    path = tmp_path / "x.jsonl"
    write_ledger(path, [row()])
    broken = {key: value for key, value in row().items() if key != "gate"}
    with pytest.raises(UserError, match="lacks gate"):
        write_ledger(path, [broken])
    assert len(read_ledger(path)) == 1


def test_rows_of_two_versions_of_a_task_stand_side_by_side(tmp_path: Path):
    path = tmp_path / "x.jsonl"
    merge_ledger(path, [row("a", 0, K=1)])
    merge_ledger(path, [row("a", 0, K=2, task_version=2)])
    merge_ledger(path, [row("a", 0, K=3, task_version=2)])
    assert [(r["K"], r.get("task_version")) for r in read_ledger(path)] == [(1, None), (3, 2)]


def test_a_broken_line_is_named(tmp_path: Path):
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(row()) + '\n{"cell": \n')
    with pytest.raises(UserError, match=r"x\.jsonl:2"):
        read_ledger(path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("seed", "0"),
        ("seed", True),
        ("rate", {"gap": "1"}),
        ("scores", {"gap": 1.0}),
        ("sufficient", None),
        ("cell", 3),
    ],
)
def test_a_field_of_another_type_is_refused(tmp_path: Path, key: str, value: Any):
    with pytest.raises(UserError, match=f"has a {key} of another type"):
        write_ledger(tmp_path / "x.jsonl", [row() | {key: value}])
    assert not list(tmp_path.iterdir())


def test_lines_end_at_newlines_alone(tmp_path: Path):
    """U+2028 and its like are ordinary characters of a text."""
    path = tmp_path / "x.jsonl"
    write_ledger(path, [row("a\u2028b\x85c"), row("d")])
    assert [r["cell"] for r in read_ledger(path)] == ["a\u2028b\x85c", "d"]
    assert len(read_keys(path)) == 2


def test_a_file_that_is_not_text_is_one_line(tmp_path: Path):
    (tmp_path / "x.jsonl").write_bytes(b'{"cell": "\xff"}\n')
    with pytest.raises(UserError, match="is not UTF-8 text"):
        read_ledger(tmp_path / "x.jsonl")


def _is_of_runs(path: Path) -> bool:
    return {"study", "cell", "learner"} <= json.loads(path.read_text().partition("\n")[0]).keys()


@pytest.mark.parametrize("path", sorted(filter(_is_of_runs, RESULTS.glob("*.jsonl"))), ids=lambda p: p.stem)
def test_committed_ledgers_are_well_formed(path: Path):
    rows = read_ledger(path)
    assert rows
    keys = [(r["cell"], r["learner"], r["preset"], r["seed"], r.get("task_version", 1)) for r in rows]
    assert keys == sorted(set(keys))
    for r in rows:
        assert r["study"] == path.stem
        assert problem_of(r) is None
        assert not (r["sufficient"] and r["diverged"])
        assert r["success"] is None or 0 <= r["success"] <= 1 + 1e-9
        assert r["rate"].keys() == r["requirement"].keys() == r["scores"].keys()
