"""The ledger of recordings: made once, read back, one line each, and the page that the repository ships."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certify.errors import UserError
from diacritic.demos import command
from diacritic.demos.record import record
from diacritic.tasks.franka.layout import SLICES
from diacritic.tasks.franka.tasks import TASKS, make_task
from reproduction import recordings_survey, recordings_tables
from reproduction.recordings_survey import DATASETS, Dataset, read, survey

ROOT = Path(__file__).parents[2]
SHORT = {"gap": 1, "first_gap": 1}
MARKS = "\n".join(
    f"<!-- {name}: written by reproduction.recordings_survey -->\nold\n<!-- {name}: end -->"
    for name in ("recordings", "controls")
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A survey of one clean and one flawed recording, made once."""
    actual = tmp_path_factory.mktemp("survey")
    (actual / "page.md").write_text(f"# Page\n\n{MARKS}\n\nend\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recordings_survey, "DATASETS", small())
        survey(actual, actual / "recordings", actual / "page.md")
    return actual


def small() -> tuple[Dataset, ...]:
    leak = Dataset("leak4", "two-cues", {**SHORT, "leak": 8.0}, 48, flaw="height tells the slot")
    return Dataset("two-cues-gap6", "two-cues", SHORT, 48), leak


def test_one_line_each(folder: Path) -> None:
    clean, flawed = read(folder / "acceptance.jsonl")
    assert (clean["dataset"], clean["episodes"], clean["expert_success"]) == ("two-cues-gap6", 48, [48, 48])
    assert clean["parameters"]["gap"] == 1
    assert clean["certificate"]["requirement"]["gap1"] == [2.0]
    assert clean["certificate"]["requirement"]["gap2"] == [1.0]
    assert clean["certificate"]["history"]["gap2"] == [3.0]
    assert clean["certificate"]["failing"] == {"a2": [], "a4": [], "transitive": []}
    assert {wrong for wrong, given, _ in clean["disagreements"].values() for wrong in (wrong, given)} == {0}
    assert clean["fresh"]["identical"]
    assert clean["fresh"]["succeeded"] == 48
    assert flawed["fresh"] is None
    assert "leaks" in flawed["failed"]
    assert {(cell["phase"], cell["variable"]) for cell in flawed["leaks"]["failed"]} >= {("gap2", "slot")}


def test_the_page_is_renewed_and_nothing_else_on_it(folder: Path) -> None:
    page = (folder / "page.md").read_text()
    assert page.startswith("# Page\n")
    assert page.endswith("\n\nend\n")
    assert "old" not in page
    assert "| `two-cues gap=1 first_gap=1` | 48 | 48/48 + 48/48 | 0 of " in page
    assert "| 0 → 1 → 2 → 1 → 0 | the same | 3 | – | – | identical |" in page
    assert "| height tells the slot | `two-cues gap=1 first_gap=1 leak=8.0` | slot in gap2 | " in page
    assert recordings_tables.renewed(page, read(folder / "acceptance.jsonl")) == page


def test_what_is_recorded_is_not_recorded_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (folder / "acceptance.jsonl").read_text()
    monkeypatch.setattr(recordings_survey, "DATASETS", small())
    monkeypatch.setattr(command, "run", lambda *_: pytest.fail("recorded again"))
    survey(folder, folder / "recordings", only=("leak4",))
    assert (folder / "acceptance.jsonl").read_text() == before


def test_a_page_without_the_marks_is_refused() -> None:
    with pytest.raises(UserError, match="page: has no table of recordings; put the lines"):
        recordings_tables.renewed("# Page\n", [])


def test_the_datasets_are_all_tasks_and_flaws() -> None:
    assert {dataset.task for dataset in DATASETS} == set(TASKS)
    assert len({dataset.name for dataset in DATASETS}) == len(DATASETS)
    assert {dataset.name for dataset in DATASETS if dataset.flaw} == set(recordings_tables.QUESTIONS)
    for dataset in DATASETS:
        make_task(dataset.task, **dataset.parameters)


def test_the_shipped_page_is_that_of_the_shipped_ledger() -> None:
    page, rows = (ROOT / "docs/demos.md").read_text(), read(ROOT / "results/acceptance.jsonl")
    assert recordings_tables.renewed(page, rows) == page
    assert [row["dataset"] for row in rows] == [d.name for d in DATASETS if d.name in {r["dataset"] for r in rows}]


LEVELS = {  # bits required in the first gap, in the second one, and at the end
    "two-cues": (2, 1, 0),
    "full-reveal": (2, 1, 0),
    "readout-2": (2, 1, 0),
    "readout-3": (3, 3, 0),
    "weighing": (2, None, 0),
}


@pytest.mark.parametrize(
    "row", [r for r in read(ROOT / "results/acceptance.jsonl") if not r["flaw"]], ids=lambda row: row["dataset"]
)
def test_what_the_docs_say_of_every_clean_recording(row: dict[str, Any]) -> None:
    proof = row["certificate"]
    for window in {"gap1", "gap2"} & proof["requirement"].keys():
        assert set(proof["instantaneous"][window]) == {0}
    assert proof["failing"]["a2"] == proof["failing"]["transitive"] == []
    assert row["expert_success"][0] == row["expert_success"][1] == row["episodes"]
    assert all(item[:2] == [0, 0] for item in row["disagreements"].values())
    assert row["fresh"] is None or row["fresh"]["identical"]
    if row["task"] == "hidden-mass":
        assert set(proof["requirement"]["grasp"]) == {0}
        assert 1 in set(proof["strong"]["grasp"]) <= {0, 1}
    elif row["parameters"].get("classes") != 4:
        first, second, last = LEVELS[row["task"]]
        assert set(proof["requirement"]["gap1"]) == {first}
        assert second is None or set(proof["requirement"]["gap2"]) == {second}
        assert proof["requirement"]["place"][-1] == last


def test_how_much_the_tool_tells_of_the_mass_is_measured() -> None:
    """In the first gap of weighing, without noise: the arm comes to rest where the load it has set down lets it."""
    page = " ".join((ROOT / "docs/demos.md").read_text().split())
    apart: dict[int, np.ndarray] = {}
    for gap in (6, 20):
        demos, _ = record(make_task("weighing", gap=gap, no_noise=True), episodes=64)
        steps = demos.phase[:, 0] == demos.convention.phases.index("gap1")
        heights = 1000 * demos.observations[steps][..., SLICES["tool position"]][..., 2]
        means = np.stack([heights[:, demos.latents["mass"] == mass].mean(1) for mass in range(4)])
        apart[gap] = np.ptp(means, axis=0)
        assert (np.diff(apart[gap]) < 0).all()
    assert f"differs by {apart[20][0]:.1f} mm at the first step" in page
    assert f"(by {apart[6][0]:.1f} mm at gap 6" in page


def test_what_leaks_is_what_the_page_says() -> None:
    page = " ".join((ROOT / "docs/demos.md").read_text().split())
    clean = [row for row in read(ROOT / "results/acceptance.jsonl") if not row["flaw"]]
    (leaking,) = (row for row in clean if not row["passed"])
    cells = leaking["leaks"]["failed"]
    assert leaking["dataset"] == "weighing-gap20"
    assert {cell["phase"] for cell in cells} == {"gap1"}
    accuracies = sorted({f"{cell['accuracy']:.2f}" for cell in cells if cell["variable"] in ("mass", "side")})
    assert f"in {' and '.join(accuracies)} of the held-out episodes" in page


def test_what_an_analog_display_shows_is_what_the_page_says() -> None:
    page = " ".join((ROOT / "docs/demos.md").read_text().split())
    (row,) = (row for row in read(ROOT / "results/acceptance.jsonl") if row["dataset"] == "analog")
    best = {
        name: max(row["leaks"]["accuracy"][f"scan × {name} ({probe})"] for probe in ("linear", "kernel"))
        for name in ("side", "slot")
    }
    assert (
        f"the octile in the scan in {best['slot']:.2f} of the held-out episodes and the side in {best['side']:.2f}"
        in page
    )
    assert set(row["certificate"]["requirement"]["gap1"]) == {0}
    starts = np.cumsum([0, *(len(bits) for bits in row["certificate"]["requirement"].values())])
    decisions = [1 + starts[list(row["certificate"]["requirement"]).index(phase)] for phase in ("grasp", "place")]
    assert row["certificate"]["failing"]["a2"] == decisions
