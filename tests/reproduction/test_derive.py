"""What is derived from the rows of cells."""

from dataclasses import replace

from study_rows import run_of

from diacritic.studies.cell import Cell
from diacritic.studies.results import Results
from diacritic.studies.tasks import task
from reproduction.catalogue import toys
from reproduction.derive import (
    declared,
    mean_rate,
    most_information,
    rate_range,
    spread,
    success_range,
    sufficient,
    tally,
)
from reproduction.verdicts import NO_ESTIMATE, Count, Range, judge

CELL = Cell("toys", task("gap", gap2=6), "plain", "carousel", "full", 0.03, 6000, seeds=2)


def row(cell: Cell, seed: int, passed: bool = True, rate: float | None = 1.0, **more):
    return run_of(cell, seed, sufficient=passed, rate={"gap": rate}, success=0.5 + 0.5 * passed, **more)


def test_runs_of_undeclared_cells_are_left_out():
    cell = toys.CELLS[0]
    results = Results({"toys": [row(cell, 0), row(replace(cell, steps=7), 0), row(CELL, 99)]})
    assert declared(results) == [row(cell, 0)]


def test_rates_are_those_of_the_sufficient_seeds_unless_all_are_asked_for():
    rows = [row(CELL, 0, True, 2.0), row(CELL, 1, False, 1.0)]
    assert sufficient(rows) == Count(1, 2)
    assert mean_rate(rows, "gap") == 2.0
    assert mean_rate(rows, "gap", over_all=True) == 1.5
    assert mean_rate(rows, "elsewhere") is None
    assert mean_rate(rows[1:], "gap") is None


def test_derived_figures_wait_for_every_run():
    second = replace(CELL, beta=0.1)
    told = {"gap": {"mass": 0.25}}
    half = Results({"toys": [row(CELL, 0, information=told), row(CELL, 1, information=told)]})
    whole = Results({"toys": [*half.files["toys"], row(second, 0, True, 3.0), row(second, 1, False, 5.0)]})
    cells = [CELL, second]
    for derive in (tally(cells), rate_range(cells, "gap"), success_range(cells), most_information(cells, "mass")):
        assert derive(half) is None
    assert tally(cells)(whole) == Count(3, 4)
    assert tally(cells, lambda row: not row["sufficient"])(whole) == Count(1, 4)
    assert rate_range(cells, "gap")(whole) == Range(1.0, 3.0)
    assert rate_range(cells, "gap", over_all=True)(whole) == Range(1.0, 4.0)
    assert success_range(cells)(whole) == Range(0.75, 1.0)
    assert success_range(cells, lambda row: not row["sufficient"])(whole) == Range(0.5, 0.5)
    assert most_information([CELL], "mass")(whole) == Range(0.25, 0.25)
    assert most_information([CELL], "slot")(whole) == NO_ESTIMATE


def test_runs_of_which_none_is_sufficient_give_no_estimate_rather_than_nothing():
    failed = Results({"toys": [row(CELL, seed, passed=False) for seed in (0, 1)]})
    assert sufficient(failed.complete(CELL)) == Count(0, 2)
    for derive in (rate_range([CELL], "gap"), success_range([CELL], lambda row: bool(row["sufficient"]))):
        assert derive(failed) is NO_ESTIMATE
        assert derive(Results({})) is None
    assert str(NO_ESTIMATE) == "no estimate"
    assert judge(NO_ESTIMATE, Range(1.0, 1.0), 0.1, "higher").kind == "differs"
    unplayed = Results({"toys": [row(CELL, seed) | {"success": None} for seed in (0, 1)]})
    assert success_range([CELL])(unplayed) is None
    assert spread([], failed.complete(CELL)) is NO_ESTIMATE
    assert spread([], []) is None
