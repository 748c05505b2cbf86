"""Entropies of labellings against the twin."""

from math import log2

from certify_twin import Document, Twin, documents
from hypothesis import given, settings

from certify import Model
from certify.core.rates import conditional_rate, most_in_a_fiber
from certify.core.relations import compatibility, strong_classes
from certify.zoo import build

TOLERANCE = 1e-14


@settings(max_examples=300)
@given(documents())
def test_entropies_are_those_of_the_twin(document: Document) -> None:
    """H(H|O), H(G|O), H(Γˢ|O), and H(Γ|O) where there is a Γ, in the order that the theorems give them."""
    twin, graph = Twin(document), Model.from_episodes(document).graph
    relations, strong = compatibility(graph), strong_classes(graph)
    for t, level in enumerate(graph.levels):
        history, present = level.history_entropy, conditional_rate(level, level.law)
        classes = conditional_rate(level, strong[t])
        assert abs(history - twin.history_entropy(t)) < TOLERANCE
        assert abs(present - twin.behavioural_entropy(t)) < TOLERANCE
        assert abs(classes - twin.class_entropy(t, twin.strong[t])) < TOLERANCE
        assert present <= classes + TOLERANCE
        assert classes <= history + TOLERANCE
        if relations[t].transitive:
            rate = conditional_rate(level, relations[t].kind)
            assert abs(rate - twin.class_entropy(t, twin.compatible[t])) < TOLERANCE
            assert present - TOLERANCE <= rate <= classes + TOLERANCE


def test_classes_in_a_fiber_are_counted_by_observation() -> None:
    """The lost cue leaves three values of the first bit; with the second bit shown they are all that is remembered."""
    graph = build("lost-cue").graph
    relations = compatibility(graph)
    assert [most_in_a_fiber(level, r.kind) for level, r in zip(graph.levels, relations, strict=True)] == [1, 1, 3, 6]


def test_rates_worked_out_by_hand() -> None:
    """The lost cue: the first bit is 0, 1 or unknown with 0.35, 0.35, 0.3; log₂ of these, to 1e-15 relative."""
    graph = build("lost-cue").graph
    first = 0.7 * log2(1 / 0.35) + 0.3 * log2(1 / 0.3)
    rates = [conditional_rate(level, r.kind) for level, r in zip(graph.levels, compatibility(graph), strict=True)]
    assert rates[:2] == [0, 0]
    assert abs(rates[2] - first) <= 2e-15
    assert abs(rates[3] - (first + 1)) <= 2e-15
    # the same digits from a table of logarithms: log₂(20/7) = 1.5145731728297582, log₂(10/3) = 1.7369655941662063
    assert abs(rates[2] - (0.7 * 1.5145731728297582 + 0.3 * 1.7369655941662063)) <= 2e-15
