"""What failing runs confuse, from a training that cannot succeed to the line of its cell."""

from dataclasses import replace

from diacritic.studies.tasks import task
from reproduction.beyond_paper.confused import LEARNER, MISSED, confused, confused_rows


def test_a_run_that_was_hardly_trained_never_encoded_its_cue() -> None:
    cell = replace(MISSED[0], task=task("gap", gap1=1, gap2=1), seeds=2, steps=1)
    rows = confused_rows(cell)
    assert {row["learner"] for row in rows} == {LEARNER}
    assert all(row["conflicts"] and row["heaviest"]["merged"] is None for row in rows)
    line = confused(rows).splitlines()[-1]
    assert line.startswith(f"| {cell.name} | 0/2 | 2 | 0 | ")
    passed = [row | {"sufficient": True} for row in rows]
    assert confused(passed).splitlines()[-1].startswith(f"| {cell.name} | 2/2 | 0 | 0 | ")


def test_cells_that_missed_are_plain_and_finite() -> None:
    assert {cell.learner for cell in MISSED} == {"plain"}
    assert not any(cell.task.recorded for cell in MISSED)
    assert task("running-parity", horizon=10) in {cell.task for cell in MISSED}
