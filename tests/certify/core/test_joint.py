"""One machine for all steps against an exhaustive search over closed compatible assignments."""

import random

import pytest
from certify_exhaustive import Exhaustive
from certify_twin import Chain, chains, loose_models
from hypothesis import given, settings

from certify import Model
from certify.core.assignments import verify
from certify.core.floors import floors
from certify.core.graph import Graph
from certify.core.joint import Joint, JointLimits, Objective, best_machine
from certify.core.rates import conditional_rate
from certify.core.relations import compatibility, strong_classes
from certify.zoo import build

EXACT = 1e-12


def solve(
    graph: Graph, objective: Objective = "sum", weights: list[int] | None = None, limits: JointLimits | None = None
) -> Joint:
    relations = compatibility(graph)
    return best_machine(graph, relations, floors(graph, relations, strong_classes(graph)), objective, weights, limits)


def check_machine(joint: Joint) -> None:
    """The cells are closed and compatible, and the rates are theirs."""
    assert verify(joint.graph, joint.cells) is None
    rates = [conditional_rate(level, cells) for level, cells in zip(joint.graph.levels, joint.cells, strict=True)]
    assert list(joint.rates) == pytest.approx(rates, abs=EXACT)


@pytest.mark.parametrize("seed", range(5))
def test_the_least_sum_and_whether_one_machine_attains_all(seed: int) -> None:
    """1,050 models without classes: Σ_t H(P_t|O_t) and `simultaneous` are those of the exhaustive search."""
    apart = 0
    for document, twin in loose_models(seed, 210):
        exhaustive = Exhaustive(twin)
        joint = solve(Model.from_episodes(document).graph)
        check_machine(joint)
        assert joint.optimal
        assert joint.simultaneous is exhaustive.simultaneous()
        assert joint.bracket[0] == joint.bracket[1] == pytest.approx(exhaustive.least_sum(), abs=EXACT)
        assert sum(joint.rates) == pytest.approx(joint.bracket[1], abs=EXACT)
        apart += not joint.simultaneous
        minima = [exhaustive.bits(cost) for cost in exhaustive.colouring_minima()]
        assert joint.simultaneous == (list(joint.rates) == pytest.approx(minima, abs=EXACT))
    assert apart >= 2, "the sample holds models whose minima no single machine attains"


@pytest.mark.parametrize("seed", [500, 501])
def test_the_least_peak_and_the_order_of_time(seed: int) -> None:
    """Looked for where it is hard: models whose minima no single machine attains, and a few others."""
    raised = differ = 0
    for k, (document, twin) in enumerate(loose_models(seed, 600)):
        exhaustive = Exhaustive(twin)
        if k >= 20 and exhaustive.simultaneous():
            continue
        graph = Model.from_episodes(document).graph
        peak, ordered = solve(graph, "peak"), solve(graph, "lexicographic")
        for joint in (peak, ordered):
            check_machine(joint)
            assert joint.optimal
            assert joint.simultaneous in (exhaustive.simultaneous(), None)
        assert max(peak.rates) == pytest.approx(exhaustive.least_peak(), abs=EXACT)
        assert peak.bracket[0] == peak.bracket[1] == pytest.approx(exhaustive.least_peak(), abs=EXACT)
        assert list(ordered.rates) == pytest.approx(exhaustive.least_in_order(), abs=EXACT)
        raised += exhaustive.least_peak() > exhaustive.bits(max(exhaustive.colouring_minima())) + 1e-9
        differ += sum(ordered.rates) > exhaustive.least_sum() + 1e-9
    assert raised >= 2, "the sample holds models whose least peak is above every floor"
    assert differ >= 2, "the sample holds models where time order and sum disagree"


def test_steps_may_be_weighted() -> None:
    rng = random.Random(0)
    for document, twin in loose_models(200, 100):
        weights = [rng.randint(0, 3) for _ in range(twin.horizon)]
        exhaustive = Exhaustive(twin)
        joint = solve(Model.from_episodes(document).graph, weights=weights)
        check_machine(joint)
        assert joint.optimal
        assert joint.bracket[1] == pytest.approx(exhaustive.least_sum(weights), abs=EXACT)
        assert joint.simultaneous in (exhaustive.simultaneous(), None)


def test_weights_are_one_a_step_and_not_negative() -> None:
    graph = build("three-histories").graph
    for weights in ([1, 1], [1, 1, -1]):
        with pytest.raises(ValueError, match="expected 3 non-negative step weights"):
            solve(graph, weights=weights)


@pytest.mark.parametrize("limits", [JointLimits(partitions=0), JointLimits(partitions=3), JointLimits(seconds=0.0)])
def test_at_its_limit_the_search_leaves_a_true_bracket(limits: JointLimits) -> None:
    undecided = 0
    for document, twin in loose_models(300, 100):
        exhaustive = Exhaustive(twin)
        joint = solve(Model.from_episodes(document).graph, limits=limits)
        check_machine(joint)
        least = exhaustive.least_sum()
        assert joint.bracket[0] - 1e-12 <= least <= joint.bracket[1] + 1e-12
        assert joint.simultaneous in (exhaustive.simultaneous(), None)
        assert joint.optimal or joint.simultaneous is None
        if joint.optimal:
            assert joint.bracket[1] == pytest.approx(least, abs=EXACT)
        undecided += not joint.optimal
    assert undecided >= 1


@settings(max_examples=60)
@given(chains())
def test_merged_graphs_are_unfolded_where_that_is_small(chain: Chain) -> None:
    merged, plain = solve(chain.model().graph), solve(Model.from_episodes(chain.document()).graph)
    check_machine(merged)
    assert merged.bracket == pytest.approx(plain.bracket, abs=EXACT)
    assert (merged.optimal, merged.simultaneous) == (plain.optimal, plain.simultaneous)


def test_a_merged_graph_too_large_to_unfold_has_a_bracket() -> None:
    """A coin at every step and a question that supports answer only in part: 2^40 histories, not transitive."""
    steps = 40
    futures = {0: {"u": "1/2", "v": "1/2"}, 1: {"w": 1}, 2: {"u": "1/2", "x": "1/2"}}
    graph = Model.from_generative(
        steps,
        {0: "1/3", 1: "1/3", 2: "1/3"},
        lambda t, s: f"cue {s}" if t == 1 else {"heads": "1/2", "tails": "1/2"} if t < steps else futures[s],
        lambda t, s: "wait" if t < steps or s == 1 else f"say {s}",
        lambda t, s, a: s,
    ).graph
    joint = solve(graph)
    check_machine(joint)
    assert not joint.optimal
    assert joint.simultaneous is None
    floor = 0.9182958340544896  # h₂(1/3) at every step but the first and the last, where the word is shown
    last = joint.rates[-1]
    assert joint.bracket[0] == pytest.approx((steps - 2) * floor + last, abs=1e-9)
    assert joint.bracket[1] == pytest.approx((steps - 2) * 1.584962500721156 + last, abs=1e-9)


def test_minima_that_no_machine_attains_together() -> None:
    """A model found by search, small enough to follow by hand; the exhaustive search says the same."""
    document, exhaustive = next(
        (document, exhaustive)
        for document, twin in loose_models(0, 200)
        if not (exhaustive := Exhaustive(twin)).simultaneous()
    )
    joint = solve(Model.from_episodes(document).graph)
    floor = sum(exhaustive.bits(cost) for cost in exhaustive.colouring_minima())
    assert joint.simultaneous is False
    assert joint.bracket[1] > floor + 1e-6


def test_with_classes_every_objective_takes_them() -> None:
    graph = build("gap").graph
    staircase = (0, 0, 1, 2, 2, 2, 2, 1, 1, 1, 1)
    expected: dict[Objective, int] = {"sum": 13, "peak": 2, "lexicographic": 0}
    for objective, value in expected.items():
        joint = solve(graph, objective)
        assert joint.rates == staircase
        assert joint.bracket == (value, value)
        assert joint.optimal
        assert joint.simultaneous is True


@pytest.mark.parametrize("W", [3, 5])
def test_the_drifting_corridor_has_one_machine(W: int) -> None:
    joint = solve(build("signpost-corridor", W=W).graph)
    check_machine(joint)
    assert joint.simultaneous is True
    assert joint.bracket == pytest.approx((13, 13), abs=EXACT)
