"""Runs of the release, by the cells that they belong to."""

import pytest
from study_rows import run_of

from diacritic.studies.cell import Cell
from diacritic.studies.tasks import task
from diacritic.training.learner import LEARNERS
from reproduction.catalogue import CELLS
from reproduction.release import _runs, imitating, rates, released, successes

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


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"variation_profile": [0.5, 0.049]}, True),
        ({"variation_profile": [0.0, 0.05]}, False),
        ({"variation_profile": [0.0, 0.0], "diverged": True}, False),
        ({"profile": [2.0, 0.70], "decision_profile": [0.0, 1.0]}, False),  # at least 0.054 wrong
        ({"profile": [0.0, 0.72], "decision_profile": [0.0, 1.0]}, None),  # as little as 0.048 can be
        ({"profile": [2.0, 0.0], "decision_profile": [0.0, None]}, None),  # more than a code is remembered
        ({"profile": [2.0, 0.0], "decision_profile": [0.0, 1.0], "task": "gap-toy gap2=6 p=4/5"}, None),
        ({}, None),
    ],
)
def test_a_run_on_the_gap_toy_as_the_release_counts_it(row: dict, expected: bool | None):
    toy = Cell("s", task("gap-toy", gap2=6), "plain", "release-toy", "full", 0.03, 6000)
    assert imitating(run_of(toy, 0, **row)) is expected
