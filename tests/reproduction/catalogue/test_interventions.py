"""Coefficients of interventions that are known are found again, beside their p."""

from collections.abc import Callable, Sequence
from math import log

import numpy as np
import pytest
from two_cue_rows import runs_of

from diacritic.files.ledger import Row
from diacritic.studies.cell import Cell
from diacritic.studies.results import Results
from reproduction.catalogue import interventions, statistics
from reproduction.figure import Figure
from reproduction.verdicts import NO_ESTIMATE, Range, Value

TRUE = {"refinement": 0.0, "curriculum": -2.0, "bfs": 1.5}


def asked(name: str) -> Figure:
    (matching,) = [figure for figure in interventions.STUDY.figures if figure.name == name]
    return matching


def ours(name: str, rows: Sequence[Row]) -> Value | None:
    return asked(name).ours(Results({"x": rows}), "interventions")


def number(name: str, rows: Sequence[Row]) -> float:
    own = ours(name, rows)
    assert isinstance(own, Range)
    assert own.low == own.high
    return own.low


def does(cell: Cell) -> float:
    """What the interventions of a cell add to the log-odds."""
    given = {"refinement": cell.learner == "refinement", "curriculum": cell.after, "bfs": cell.learner.endswith("+bfs")}
    return sum(TRUE[name] for name, present in given.items() if present)


def runs(odds: Callable[[Cell], float]) -> list[Row]:
    """Made-up runs of the pool; log-odds fall by a tenth a step, and every second run is sufficient."""
    rows = runs_of(interventions.POOL, lambda cell, distance: odds(cell) - 0.1 * (distance - 15), draws=1)
    return [{**row, "sufficient": row["seed"] % 2 == 0} for row in rows]


def test_the_pool_holds_every_configuration_once_with_all_its_seeds():
    assert len({cell.digest for cell in interventions.POOL}) == len(interventions.POOL)
    assert {cell.preset for cell in interventions.POOL} == {"release"}
    assert {cell.task.name for cell in interventions.POOL} == {"two-cues"}
    assert "full-history" not in {cell.learner for cell in interventions.POOL}
    (shared,) = [
        cell
        for cell in interventions.POOL
        if (cell.learner, cell.task) == ("plain+bfs", interventions.SETTINGS["gap 10"])
    ]
    assert shared.seeds == 16


def test_the_factors_are_those_of_the_release():
    """Of a run at gap 20 with a scaffold and BFS, after the curriculum: its two classes one after the other."""
    (cell,) = [cell for cell in interventions.POOL if cell.after and cell.task == interventions.SETTINGS["gap 20"]]
    seen = statistics.both_classes([cell])(Results({"x": runs(does)}))
    told = {name: np.asarray(column)[:2].tolist() for name, column in interventions.factors(seen).items()}
    of_both = {"bfs": 1.0, "scaffold": 1.0, "refinement": 0.0, "curriculum": 1.0, "β": 2.0, "log N": log(448)}
    expected = {name: [value, value] for name, value in of_both.items()}
    assert told == expected | {"distance": [3.0, 33.0], "second class": [0.0, 1.0]}


def test_coefficients_are_found_again_with_their_p():
    rows = runs(does)
    for name, true in TRUE.items():
        actual = number(f"{name}: log-odds in the pooled regression", rows)
        assert actual == pytest.approx(true, abs=1.0), name
        p = number(f"{name}: p in the pooled regression", rows)
        assert (p < 0.05) == (true != 0), name
    assert ours("bfs: log-odds in the pooled regression", rows[1:]) is None


def test_an_intervention_that_always_fails_has_no_coefficient():
    rows = runs(lambda cell: -300.0 if cell.after else does(cell))
    assert ours("curriculum: log-odds in the pooled regression", rows) == NO_ESTIMATE
    assert ours("curriculum: p in the pooled regression", rows) == NO_ESTIMATE
    assert number("bfs: log-odds in the pooled regression", rows) > 0
    assert ours("bfs: p in the pooled regression", runs(lambda cell: 300.0)) == NO_ESTIMATE


def test_refinement_is_held_against_plain_runs_gap_by_gap():
    name, rows = "refinement against plain: least Fisher p over the gaps", runs(does)
    assert number(name, rows) == pytest.approx(1)
    at_ten = [row for row in rows if row["learner"] == "refinement" and "gap=10" in row["cell"]]
    for row in at_ten:
        row["sufficient"] = True
    assert 0.02 < number(name, rows) < 0.06
    rows.remove(at_ten[0])
    assert ours(name, rows) is None


def test_tolerances_come_from_the_paper_s_own_p():
    bfs = asked("bfs: log-odds in the pooled regression")
    assert bfs.verdict(Range(0.2, 0.2)).kind == "agrees"
    assert bfs.verdict(Range(0.0, 0.0)).kind == "differs"  # its p of 0.02 leaves no room for 0
    assert asked("refinement: log-odds in the pooled regression").verdict(Range(0.0, 0.0)).kind == "agrees"
    assert asked("bfs: p in the pooled regression").verdict(Range(0.051, 0.051)).kind == "differs"
    assert asked("refinement: p in the pooled regression").verdict(Range(0.049, 0.049)).kind == "differs"
