"""Every study that trains on recordings runs from end to end: recorded, trained, judged, played and entered."""

from dataclasses import replace
from pathlib import Path

import pytest

from diacritic.studies import choose
from diacritic.studies.cell import Cell
from diacritic.studies.choose import cells_of
from diacritic.studies.engine import StudySettings, jobs_of, run_here
from diacritic.studies.results import Results
from diacritic.training.learner import LEARNERS
from reproduction.catalogue import STUDIES
from reproduction.compare import compare

RECORDED = [name for name, study in STUDIES.items() if any(cell.task.recorded for cell in study.cells)]
CAMERAS = pytest.mark.system  # which render with a Debian package


def covered() -> dict[str, list[Cell]]:
    """Of every study its first cell, those on the same recording whose kind of carrier no study before has shown, and
    a cell that starts from another or has forecasters of its own."""
    seen: set[object] = set()
    chosen: dict[str, list[Cell]] = {}
    for name in RECORDED:
        cells = [cell for cell in STUDIES[name].cells if cell.task.recorded]
        chosen[name] = [cell for cell in cells if cell.after or cell.forecaster or cell.misled][:1]
        for cell in cells:
            carrier = LEARNERS[cell.learner].changes
            if cell is cells[0] or (cell.task == cells[0].task and carrier not in seen):
                chosen[name].append(cell)
            seen.add(carrier)
    return chosen


@pytest.fixture(scope="module")
def demos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demos")


@pytest.mark.parametrize("name", [pytest.param(name, marks=CAMERAS) if name == "pixels" else name for name in RECORDED])
def test_a_quick_run_ends_in_the_ledger(name: str, tmp_path: Path, demos: Path, monkeypatch: pytest.MonkeyPatch):
    for key, number in (("STEPS", 2), ("EPISODES", 16), ("DEMONSTRATIONS", 8)):
        monkeypatch.setattr(choose, f"QUICK_{key}", number)
    study = replace(STUDIES[name], cells=tuple(covered()[name]))
    quick = replace(study, cells=tuple(cells_of([study], seeds=1, quick=True)))
    settings = StudySettings(
        tmp_path / "results", tmp_path / "work", demos, tmp_path / "runs", "cpu", 1, 1, forecaster_steps=2
    )
    run_here(jobs_of(quick.cells, settings), settings, say=lambda line: None)
    results = Results.read(settings.results)
    rows = [results.runs(cell) for cell in quick.cells]
    assert [len(per_cell) for per_cell in rows] == [1] * len(quick.cells)
    assert {(row["steps"], row["episodes"]) for (row,) in rows} == {(2, 1)}
    # a scaffold that stands for a fixed number of updates is still up after two, and down when the policy plays
    assert {row["same_codes"] for (row,) in rows if not row["learner"].startswith("scaffold")} <= {1.0}
    assert "not run" not in {line.verdict for line in compare(quick, results).cells}
