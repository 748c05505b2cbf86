"""Which rows answer a cell."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from study_rows import run_of

from diacritic.studies.cell import Cell
from diacritic.studies.results import Results
from diacritic.studies.tasks import task

CELL = Cell("toys", task("gap", gap2=6), "plain", "carousel", "full", 0.03, 6000, seeds=2)


def row(cell: Cell, seed: int, passed: bool = True, rate: float | None = 1.0, **more):
    return run_of(cell, seed, sufficient=passed, rate={"gap": rate}, success=0.5 + 0.5 * passed, **more)


def test_rows_answer_the_cell_they_were_made_for_wherever_they_lie():
    other = replace(CELL, steps=20)
    results = Results({"elsewhere": [row(CELL, 1), row(other, 0)], "toys": [row(CELL, 0), {"dataset": "x"}]})
    assert [run["seed"] for run in results.runs(CELL)] == [0, 1]
    assert results.complete(CELL) == results.runs(CELL)
    assert len(results.runs(other)) == 1
    assert results.complete(other) == []
    assert results.runs(replace(CELL, preset="release")) == []
    assert results.runs(replace(CELL, first_seed=1, seeds=1)) == [row(CELL, 1)]


def test_rows_of_an_older_version_of_the_task_are_shown_until_newer_ones_come(monkeypatch: pytest.MonkeyPatch):
    arm = Cell("s", task("two-cues", gap=6), "plain", "carousel", "task", 1e-3, 10, seeds=16)
    old = [row(arm, seed) | {"configuration": arm.digest_of(1)} for seed in range(8)]
    monkeypatch.setattr(type(arm.task), "version", 7)
    new = [row(arm, seed, task_version=7) for seed in range(16)]
    assert arm.digest not in {run["configuration"] for run in old}
    before = Results({"s": old})
    assert before.runs(arm) == []
    assert before.complete(arm) == before.shown(arm) == old
    assert Results({"s": old[:7]}).complete(arm) == []
    assert Results({"s": [*old, *new]}).complete(arm) == new
    some, few = (Results({"s": [*old, *new[:count]]}) for count in (9, 7))
    assert some.complete(arm) == some.comparable(arm) == new[:9]  # the usual eight of its sixteen are enough
    assert few.complete(arm) == old
    assert few.comparable(arm) == []


def test_a_folder_is_read_with_its_figures(tmp_path: Path):
    (tmp_path / "figures").mkdir()
    (tmp_path / "toys.jsonl").write_text(json.dumps(row(CELL, 0)) + "\n")
    (tmp_path / "figures" / "t0.jsonl").write_text(json.dumps({"figure": "x", "value": [1]}) + "\n")
    results = Results.read(tmp_path)
    assert set(results.files) == {"toys", "figures/t0"}
    assert results.runs(CELL)[0]["seed"] == 0
