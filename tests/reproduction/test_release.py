"""Runs of the release, by the cells that they belong to."""

from diacritic.studies.cell import Cell
from diacritic.studies.tasks import task
from diacritic.training.learner import LEARNERS
from reproduction.catalogue import CELLS
from reproduction.release import _runs, rates, released, successes

CELL = Cell("s", task("two-cues", gap=10), "event-agnostic", "carousel", "task", 1e-3, 10_000, None, 448)


def test_a_cell_finds_its_runs_whatever_its_preset():
    runs = released(CELL)
    assert sum(bool(run.sufficient) for run in runs) == 7
    assert (min(successes(runs)), max(successes(runs))) == (0.3671875, 1.0)
    assert min(rates(runs, "gap2", over_all=False)) == 1.0836
    assert len(rates(runs, "gap1", over_all=True)) == len(runs) == 8
    assert released(Cell("s", CELL.task, "plain", "carousel", "task", 0.5, 10_000, None, 448)) == []


def test_most_runs_belong_to_a_declared_cell():
    held = {id(run) for cell in CELLS for run in released(cell)}
    everything = [run for runs in _runs().values() for run in runs]
    assert len(held) > len(everything) / 2
    assert {key[1] for key in _runs()} - set(LEARNERS) == {"gru-128+event-agnostic"}
