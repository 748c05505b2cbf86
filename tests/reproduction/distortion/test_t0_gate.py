"""The gate that the solver passes before anything is learned: five checks and a flag, in the paper's order."""

from fractions import Fraction
from math import log2

import pytest

from certify.core.floors import floors
from certify.core.graph import Graph
from certify.core.rates import conditional_rate
from certify.core.relations import compatibility, strong_classes
from certify.witness import a2_witness, transitivity_witness
from certify.zoo import build
from reproduction.distortion.frontier import Source, blahut_arimoto, closed_form, deterministic_frontier, rate
from reproduction.distortion.horizon_table import horizon_table

DECISION = 3  # the last step of the reveal toy
TENTHS = [Fraction(k, 20) for k in range(16)]  # up to 1 − 1/R = 3/4, where nothing need be stored


def required(graph: Graph) -> list[float]:
    """H(Γ_t|O_t) at every step of a model with classes."""
    relations = compatibility(graph)
    assert all(relation.transitive for relation in relations)
    return [conditional_rate(level, relation.kind) for level, relation in zip(graph.levels, relations, strict=True)]


def strong(graph: Graph) -> list[float]:
    """H(Γˢ_t|O_t) at every step."""
    return [conditional_rate(level, label) for level, label in zip(graph.levels, strong_classes(graph), strict=True)]


# ---- (a) Blahut–Arimoto on the classes G given O agrees with H(G|O) at zero distortion


@pytest.mark.parametrize("name", ["reveal", "gap", "stochastic-expert", "three-histories", "signpost-corridor"])
def test_a_no_distortion_costs_the_entropy_of_the_classes(name: str) -> None:
    graph = build(name).graph
    for t, level in enumerate(graph.levels):
        source = Source.of_classes(graph, t)
        present = conditional_rate(level, level.law)
        assert abs(rate(source, 0) - present) <= 1e-15
        steep = blahut_arimoto(source, 4000.0)  # a slope at which any distortion costs more than it saves
        assert abs(steep.rate - present) <= 1e-14
        assert steep.distortion <= 1e-14


# ---- (b) Blahut–Arimoto on whole histories agrees with the classes


@pytest.mark.parametrize("modes", [4, 8, 16])
def test_b_compressing_histories_is_compressing_classes(modes: int) -> None:
    graph = build("reveal", modes=modes).graph
    histories, classes = Source.of_histories(graph, DECISION), Source.of_classes(graph, DECISION)
    assert histories.reduced().entropy() == classes.entropy() == 2
    assert histories.entropy() == log2(modes)
    for distortion in TENTHS:
        exact = closed_form(4, distortion)
        assert abs(rate(classes, distortion) - exact) <= 1e-12
        assert abs(rate(histories, distortion) - exact) <= 1e-12
    for slope in (0.5, 2.0, 3.5, 8.0):
        ours, theirs = blahut_arimoto(histories, slope), blahut_arimoto(classes, slope)
        assert abs(ours.rate + slope * ours.distortion - theirs.rate - slope * theirs.distortion) <= 1e-14


# ---- (c) the deterministic frontier


def test_c_the_deterministic_frontier_of_four_classes() -> None:
    """Merge no, two, three or all four of the actions: (2, 0), (1.5, ¼), (0.81, ½), (0, ¾)."""
    points = deterministic_frontier(Source.of_classes(build("reveal").graph, DECISION))
    expected = [(2.0, 0), (1.5, Fraction(1, 4)), (2 - 0.75 * log2(3), Fraction(1, 2)), (0.0, Fraction(3, 4))]
    assert [point.distortion for point in points] == [distortion for _, distortion in expected]
    assert all(abs(point.rate - bits) <= 1e-15 for point, (bits, _) in zip(points, expected, strict=True))
    assert all(point.rate >= closed_form(4, point.distortion) - 1e-15 for point in points)


def test_c_whole_histories_have_the_same_deterministic_frontier() -> None:
    graph = build("reveal").graph
    ours = deterministic_frontier(Source.of_histories(graph, DECISION))
    classes = deterministic_frontier(Source.of_classes(graph, DECISION))
    assert (ours[0], ours[-1]) == (classes[0], classes[-1])
    for point in classes:  # a code of histories may only do better between the ends
        assert any(p.distortion <= point.distortion and p.rate <= point.rate + 1e-12 for p in ours)


# ---- (d) the staircases that a pencil gives


def test_d_the_staircase_of_the_reveal_toy() -> None:
    assert required(build("reveal").graph) == [0, 0, 1, 2]


def test_d_the_staircase_of_the_gap_toy() -> None:
    assert required(build("gap").graph) == [0, 0, 1, 2, 2, 2, 2, 1, 1, 1, 1]


@pytest.mark.parametrize(("first", "second"), [(2, 4), (3, 2), (4, 4)])
def test_d_the_staircase_of_other_classes(first: int, second: int) -> None:
    """log₂(R₁R₂), then log₂R₂, then the second decision ends it."""
    staircase = required(build("gap", gap1=1, gap2=1, R1=first, R2=second).graph)
    expected = [0, 0, log2(first), log2(first * second), log2(first * second), log2(second), log2(second)]
    assert all(abs(a - b) <= 1e-15 for a, b in zip(staircase, expected, strict=True))


# ---- (e) strict brackets, refusal, and a monotone table


def test_e_the_strict_bracket_of_the_re_reveal_instance() -> None:
    """Γ falls 2, 1, 0 while Γˢ stays at 2: at the third step Γˢ asks for two bits where Γ asks for one."""
    graph = build("re-reveal-t0").graph
    assert required(graph)[1:4] == [2, 1, 0]
    assert strong(graph)[1:4] == [2, 2, 2]


def test_e_no_classes_are_built_where_compatibility_is_not_transitive() -> None:
    """The three histories: refused with a witness, and bracketed by H(G|O) = 0 and H(Γˢ|O) = log₂3."""
    graph = build("three-histories").graph
    relations = compatibility(graph)
    assert [relation.transitive for relation in relations] == [True, False, True]
    assert transitivity_witness(graph, relations, 1) is not None
    level = graph.levels[1]
    assert conditional_rate(level, level.law) == 0
    assert abs(strong(graph)[1] - log2(3)) <= 1e-15
    floor = floors(graph, relations, strong_classes(graph))[1]
    assert floor.proved
    assert abs(floor.upper - (log2(3) - 2 / 3)) <= 1e-15
    assert horizon_table(graph)[-1][1] is None


@pytest.mark.parametrize("name", ["reveal", "gap", "re-reveal", "re-reveal-t0", "cue-corridor", "memory-chain"])
def test_e_looking_further_ahead_never_asks_for_less(name: str) -> None:
    table = horizon_table(build(name).graph)
    for t, column in enumerate(zip(*table, strict=True)):
        values = [bits for bits in column if bits is not None]
        assert len(values) == len(column)
        assert sorted(values) == values
        assert values[-1] == required(build(name).graph)[t]


# ---- and a flag where the expert knows more than its history


def test_a_violation_of_a2_is_flagged() -> None:
    graph = build("lost-cue").graph
    assert [a2_witness(graph, t) is not None for t in range(4)] == [False, False, False, True]
    assert [round(bits, 2) for bits in required(graph)] == [0, 0, 1.58, 2.58]
    assert not any(a2_witness(build("reveal").graph, t) for t in range(4))
