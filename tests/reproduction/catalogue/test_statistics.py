"""Slopes that are known are found again; where there is none, or a run is missing, nothing is said."""

from collections.abc import Callable, Sequence

import pytest
from study_rows import run_of
from two_cue_rows import runs_of

from diacritic.files.ledger import Row
from diacritic.studies.cell import Cell
from diacritic.studies.results import Results
from reproduction.catalogue import statistics as distances
from reproduction.figure import Figure
from reproduction.verdicts import NO_ESTIMATE, Count, Range

SLOPE = -0.15


def asked(name: str) -> Figure:
    (matching,) = [figure for figure in distances.STUDY.figures if figure.name == name]
    return matching


def ours(name: str, rows: Sequence[Row]) -> Range | None:
    own = asked(name).ours(Results({"x": rows}), "statistics")
    assert own is None or isinstance(own, Range)
    return own


def falling(cell: Cell, distance: float) -> float:
    """Log-odds that fall with the distance, from another height for every learner."""
    return 2.5 + SLOPE * distance + len(cell.learner) / 20


FALLING = runs_of(distances.POOL, falling)
SAID = "two cues: log-odds per step of distance"
INTERVALS = [
    f"{SAID}, 95 %: {how}"
    for how in ("errors by run", "runs redrawn", "errors by configuration", "configurations redrawn")
]


@pytest.mark.parametrize("name", ["", ", no other factor", ", given β, N and sweep"])
def test_every_specification_finds_the_slope(name: str):
    own = ours(SAID + name, FALLING)
    assert own is not None
    assert own.low == own.high == pytest.approx(SLOPE, abs=0.04)
    assert asked(SAID + name).ours(Results({"x": FALLING[9:]}), "statistics") is None  # seven seeds


def test_every_interval_holds_the_slope_and_no_two_are_alike():
    actual = {name: ours(name, FALLING) for name in INTERVALS}
    middle = ours(SAID, FALLING)
    assert middle is not None
    for name, interval in actual.items():
        assert interval is not None, name
        assert interval.low < SLOPE < interval.high < 0, name
        assert interval.low < middle.low < interval.high, name
        assert interval.high - interval.low < 0.15, name
    assert len(set(actual.values())) == len(INTERVALS)


@pytest.mark.parametrize("level", [-1000.0, 1000.0])
def test_runs_that_are_all_alike_have_no_slope(level: float):
    rows = runs_of(distances.POOL, lambda cell, distance: level / distance)
    for name in (SAID, *INTERVALS, "two cues: learners whose own slope is negative"):
        assert ours(name, rows) == NO_ESTIMATE, name


def test_a_distance_that_separates_has_no_slope():
    rows = runs_of(distances.POOL, lambda cell, distance: 15.0 * (20 - distance))
    assert {_kept["S_G"] for row in rows for _kept in row["scores"].values()} == {1.0, 0.1}
    for name in (SAID, *INTERVALS):
        assert ours(name, rows) == NO_ESTIMATE, name


def test_own_slopes_are_counted_by_their_sign():
    def rising(cell: Cell, distance: float) -> float:
        return 0.1 * (distance - 15) if cell.learner == "plain+bfs" else falling(cell, distance)

    def sure(cell: Cell, distance: float) -> float:
        return 300.0 if cell.learner == "plain" else falling(cell, distance)

    name = "two cues: learners whose own slope is negative"
    assert ours(name, FALLING) == Range(3, 3)
    assert ours(name, runs_of(distances.POOL, rising)) == Range(2, 2)
    assert ours(name, runs_of(distances.POOL, sure)) == NO_ESTIMATE
    assert asked(name).verdict(Range(2, 2)).kind == "differs"


def test_pairwise_contrasts_are_those_of_the_sweep():
    below = asked("pairwise contrasts of the sweep below 0.05").ours(Results({"x": FALLING}), "statistics")
    assert isinstance(below, Count)
    assert below.of == len(distances.CELLS) * (len(distances.CELLS) - 1) // 2
    assert below.passed > 0


PLAIN = ("plain", "plain+bfs")


def corridor(learners: Sequence[str], passes: Callable[[int, int], bool]) -> list[Row]:
    """Runs of the signpost corridor whose halls pass by the steps to each use and the seed; the gate always fails."""
    rows = []
    for cell in distances.signpost_corridor.CELLS:
        given = dict(cell.task.parameters)
        used = {"hall 1": given["hall1"] + 1, "hall 2": given["hall1"] + given["hall2"] + 2}
        for seed in cell.run_seeds if cell.learner in learners and cell.preset == "release-corridor" else ():
            scores = {hall: {"S_Gamma": float(passes(far, seed))} for hall, far in used.items()}
            rows.append(run_of(cell, seed, sufficient=False, scores=scores))
    return rows


def test_the_corridor_is_told_by_both_classes():
    rows = corridor(PLAIN, lambda far, seed: far < 8 + 2 * seed)
    said = "corridor, plain and plain+bfs: "
    slope = ours(f"{said}log-odds per step of distance", rows)
    interval = ours(f"{said}log-odds per step of distance, 95 %: configurations redrawn", rows)
    p = ours(f"{said}p of the log-odds per step of distance", rows)
    assert slope is not None
    assert interval is not None
    assert p is not None
    assert interval.low < slope.low < interval.high < 0
    assert 0 <= p.low < 0.05
    assert ours(f"{said}log-odds per step of distance", [row for row in rows if row["seed"]]) is None
    assert ours(f"{said}log-odds per step of distance", [row for row in rows if row["learner"] == "plain"]) is None


def test_a_second_class_is_kept_only_where_the_first_was():
    """The first class is lost in half of the runs, four steps on; with it the second one, so that no slope is seen."""
    rows = corridor(["scaffold+bfs"], lambda far, seed: far > 4 or seed % 2 == 0)
    flat = ours("corridor, scaffold: log-odds per step of distance", rows)
    assert flat is not None
    assert flat.low == pytest.approx(0, abs=1e-6)


def test_a_scaffold_that_always_keeps_its_class_has_no_slope():
    name = "corridor, scaffold: log-odds per step of distance"
    assert ours(name, corridor(["scaffold+bfs"], lambda far, seed: True)) == NO_ESTIMATE
    flat = ours(name, corridor(["scaffold+bfs"], lambda far, seed: seed > 0))
    assert flat is not None
    assert flat.low == pytest.approx(0, abs=1e-6)
    assert asked(name).verdict(flat).kind == "agrees"
    assert asked(name).verdict(Range(-0.11, -0.11)).kind == "differs"


def test_the_cue_corridor_is_pooled_over_its_learners():
    def runs(learner: str, most: int) -> list[Row]:
        cells = [cell for cell in distances.cue_corridor.STUDY.cells if cell.learner == learner]
        return [
            run_of(cell, seed, sufficient=dict(cell.task.parameters)["L"] < most + 8 * seed)
            for cell in cells
            if cell.preset == "release-corridor"
            for seed in cell.run_seeds
        ]

    plain, scaffold = runs("plain", 4), runs("scaffold+bfs", 8)
    alone, pooled = "cue corridor, 2 cues, plain: ", "cue corridor, 2 cues, plain and scaffold+bfs: "
    actual = {name: ours(name + "log-odds per cell", [*plain, *scaffold]) for name in (alone, pooled)}
    for name, slope in actual.items():
        assert slope is not None, name
        assert -0.5 < slope.low < -0.01, name
    assert actual[alone] != actual[pooled]
    assert ours(pooled + "log-odds per cell", plain) is None
    assert ours(alone + "log-odds per cell", plain) == actual[alone]


def test_intervals_must_stay_on_the_paper_s_side_of_zero():
    wide = asked("corridor, plain and plain+bfs: log-odds per step of distance, 95 %: configurations redrawn")
    assert wide.verdict(Range(-0.24, -0.01)).kind == "agrees"
    assert wide.verdict(Range(-0.20, 0.01)).kind == "differs"
    assert wide.verdict(Range(-0.30, -0.05)).kind == "differs"
