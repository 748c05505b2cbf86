"""Figures of the toys from rows: selective forgetting, codes of a stochastic expert, the continuous bottleneck."""

from math import log2

import numpy as np
import pytest
from study_rows import run_of

from diacritic.files.ledger import Row
from diacritic.rollout.machine import CodeMachine
from diacritic.studies.results import Results
from diacritic.studies.symbolic import judge
from diacritic.studies.tasks import model_of
from reproduction.catalogue import toys
from reproduction.verdicts import Count, Profile, Range

FORGETTING = [cell for cell in toys.CELLS if cell.demonstrations == 48]
STOCHASTIC = [
    cell
    for cell in toys.CELLS
    if (cell.task.name, cell.learner, cell.preset) == ("stochastic-expert", "plain", "carousel")
]
SHARED, THREE = (
    next(figure for figure in toys.STUDY.figures if figure.name.startswith(f"stochastic expert: runs {rest}"))
    for rest in ("in which", "that use three")
)


def test_selective_forgetting_is_a_mean_over_seeds_for_each_pressure():
    assert [(cell.preset, cell.beta, cell.seeds) for cell in FORGETTING] == [
        (preset, beta, 4) for preset in ("carousel", "release-reveal") for beta in (0.0, 0.1, 0.3)
    ]
    rows = [
        run_of(
            cell,
            seed,
            information_profile={"nuisance": [0.0, 0.0, 0.0, 4 * (cell.beta + seed)]},
            surplus_profile=[0.0, 0.0, 4 * (2 * cell.beta + seed), 0.0],
            sufficiency_profile=[None, None, 1 - cell.beta, 0.0],
        )
        for cell in FORGETTING
        for seed in cell.run_seeds
    ]
    asked = [figure for figure in toys.STUDY.figures if figure.block == "toys.selective_forgetting"]
    actual = [figure.ours(Results({"x": rows}), "toys") for figure in asked]
    for ours, expected in zip(actual, 2 * [(1.5, 1.6, 1.8), (1.5, 1.7, 2.1), (1.0, 0.9, 0.7)], strict=True):
        assert isinstance(ours, Profile)
        assert ours.values == pytest.approx(expected)
    without = [figure.ours(Results({"x": rows[1:]}), "toys") for figure in asked]
    assert [ours is None for ours in without] == 3 * [True] + 3 * [False]
    bare = [{key: value for key, value in row.items() if not key.endswith("_profile")} for row in rows]
    for figure in asked:  # rows of earlier versions do not have them
        ours = figure.ours(Results({"x": bare}), "toys")
        assert isinstance(ours, Profile)
        assert np.isnan(ours.values).all()


def judged(codes: tuple[int, int, int]) -> Row:
    """The row of a memory that gives the three hidden states of the expert these codes and keeps them."""
    cell = STOCHASTIC[0]
    graph = model_of(cell.task).graph
    shown = [graph.observations[k] for k in range(len(graph.observations))]
    move = np.zeros((9, len(shown), len(graph.actions) + 1), np.int64)
    move[:8] = np.arange(8)[:, None, None]
    for state, code in enumerate(codes):
        move[8, shown.index(f"state {state}")] = code
    act = np.full((8, len(shown), len(graph.actions)), 1 / len(graph.actions))
    return judge(cell.task, "full", CodeMachine(move, act))


@pytest.mark.parametrize(
    ("codes", "shared", "three"),
    [((5, 5, 5), True, False), ((5, 5, 0), True, False), ((5, 0, 5), False, False), ((5, 0, 1), False, True)],
)
def test_rows_tell_whether_states_of_one_law_share_a_code(codes: tuple[int, int, int], shared: bool, three: bool):
    row = judged(codes)
    assert row["rate"]["decision"] == pytest.approx({1: 0.0, 2: log2(3) - 2 / 3, 3: log2(3)}[len(set(codes))], abs=1e-5)
    rows = [{**run_of(cell, seed), **row} for cell in STOCHASTIC for seed in cell.run_seeds]
    assert len(rows) == 64
    assert SHARED.ours(Results({"x": rows}), "toys") == Count(64 * shared, 64)
    assert THREE.ours(Results({"x": rows}), "toys") == Count(64 * three, 64)
    assert SHARED.ours(Results({"x": rows[1:]}), "toys") is None


def test_rows_that_tell_no_surplus_are_no_answer():
    rows = [run_of(cell, seed) for cell in STOCHASTIC for seed in cell.run_seeds]
    assert SHARED.ours(Results({"x": rows}), "toys") is None
    assert THREE.ours(Results({"x": rows}), "toys") is None


def test_what_the_continuous_bottleneck_carries_is_that_of_its_sufficient_runs():
    (cell,) = [cell for cell in toys.CELLS if cell.learner == "gaussian" and cell.beta == 0.003]
    (asked,) = [figure for figure in toys.STUDY.figures if figure.block == "toys.ablation"]
    rows = [
        run_of(cell, seed, sufficient=seed > 5, kl_bits_at_means={"first gap": float(seed), "second gap": 99.0})
        for seed in cell.run_seeds
    ]
    assert asked.ours(Results({"x": rows}), "toys") == Range(6.5, 6.5)
    bare = [{key: told for key, told in row.items() if key != "kl_bits_at_means"} for row in rows]
    assert str(asked.ours(Results({"x": bare}), "toys")) == "no estimate"


def test_the_released_criterion_counts_runs_over_the_three_gaps():
    cells = [cell for cell in toys.CELLS if cell.learner == "plain" and cell.preset == "release-toy"]
    cells = [cell for cell in cells if cell.task.name == "gap-toy" and cell.reference and cell.demonstrations is None]
    assert [(dict(cell.task.parameters)["gap2"], cell.seeds) for cell in cells] == [(6, 4), (10, 4), (15, 4)]
    (asked,) = (figure for figure in toys.STUDY.figures if figure.name.startswith("gaps 6, 10 and 15, plain:"))
    assert asked.paper == Count(10, 12)
    rows = [
        run_of(cell, seed, sufficient=False, variation_profile=[0.9, 0.01 + 0.02 * seed])
        for cell in cells
        for seed in cell.run_seeds
    ]
    assert asked.ours(Results({"x": rows}), "toys") == Count(6, 12)
    assert asked.ours(Results({"x": [*rows[:-1], run_of(cells[-1], 3)]}), "toys") is None  # an older row that is open
    assert asked.ours(Results({"x": rows[1:]}), "toys") is None
