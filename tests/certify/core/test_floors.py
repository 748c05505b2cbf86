"""The per-step floor: colourings, closed assignments and the solver give one number."""

from fractions import Fraction

import numpy as np
import pytest
from certify_exhaustive import Exhaustive
from certify_twin import Document, Twin, documents, loose_models, node_histories
from hypothesis import given, settings

from certify import Model
from certify.core.colouring import Budget, Limits, alpha_bound, clique_bound
from certify.core.exact import group_sums, rank
from certify.core.floors import bitmasks, exact_rate, floor, floors
from certify.core.rates import conditional_rate
from certify.core.relations import compatibility, strong_classes
from certify.zoo import build


@pytest.mark.parametrize("seed", range(5))
def test_floors_are_the_minima_over_closed_assignments(seed: int) -> None:
    """On 1,050 models without classes: any best colouring of a step extends to a closed assignment, so closure
    costs a single step nothing; and the solver returns that minimum, with cells that attain it."""
    for document, twin in loose_models(seed, 210):
        exhaustive, graph = Exhaustive(twin), Model.from_episodes(document).graph
        minima = exhaustive.closed_minima()
        assert minima == exhaustive.colouring_minima()
        relations, strong = compatibility(graph), strong_classes(graph)
        for t, bracket in enumerate(floors(graph, relations, strong)):
            assert bracket.proved
            assert bracket.lower == pytest.approx(bracket.upper, abs=1e-13)
            assert bracket.upper == pytest.approx(exhaustive.bits(minima[t]), abs=1e-13)
            assert bracket.states == exhaustive.fewest_states(t)
            histories = node_histories(graph, t)
            cells = {c: [h for h, k in zip(histories, bracket.cells, strict=True) if k == c] for c in bracket.cells}
            assert all((h, k) in twin.compatible[t] for cell in cells.values() for h in cell for k in cell)
            assert conditional_rate(graph.levels[t], bracket.cells) == pytest.approx(bracket.upper, abs=1e-13)
            lower, upper = twin.behavioural_entropy(t), twin.class_entropy(t, twin.strong[t])
            assert lower - 1e-13 <= bracket.upper <= upper + 1e-13


@settings(max_examples=150)
@given(documents())
def test_floors_of_any_model(document: Document) -> None:
    """With classes the floor is H(Γ|O), and it says which method it used."""
    twin, graph = Twin(document), Model.from_episodes(document).graph
    for t, bracket in enumerate(floors(graph, compatibility(graph), strong_classes(graph))):
        assert bracket.proved
        if twin.transitive(t):
            assert bracket.method == "classes"
            assert bracket.upper == pytest.approx(twin.class_entropy(t, twin.compatible[t]), abs=1e-13)
        else:
            assert bracket.method == "colouring"


class Stingy(Budget):
    """As little work as can be asked for."""

    def limits(self) -> Limits:
        return Limits(independent_sets=1, nodes=1, seconds=1e-6)


def test_a_limit_leaves_a_bracket_that_holds_the_minimum() -> None:
    """The least work that can be asked for: the bracket is open or shut, but never wrong."""
    budget = Stingy(1)
    still_open = 0
    for document, twin in loose_models(21, 100):
        exhaustive, graph = Exhaustive(twin), Model.from_episodes(document).graph
        relations, strong = compatibility(graph), strong_classes(graph)
        for t, (level, relation) in enumerate(zip(graph.levels, relations, strict=True)):
            bound = floor(level, relation, strong[t], budget)
            least = exhaustive.bits(exhaustive.colouring_minima()[t])
            assert bound.lower - 1e-13 <= least <= bound.upper + 1e-13
            still_open += not bound.proved
            assert bound.proved == ("limit" not in bound.method)
            if bound.proved:
                assert bound.upper == pytest.approx(least, abs=1e-13)
    assert still_open


def test_the_three_histories_and_the_simpler_bounds() -> None:
    """0.918 by colouring, log₂(3/2) = 0.585 by the heaviest compatible set; a clique of two sees it as well."""
    graph = build("three-histories").graph
    relation, level = compatibility(graph)[1], graph.levels[1]
    bound = floor(level, relation, strong_classes(graph)[1])
    assert abs(bound.upper - 0.9182958340544896) <= 1e-15
    assert bound.states == 2
    masses = group_sums(relation.kind, level.mass, relation.kinds).tolist()
    conflicts = bitmasks(relation.conflict_matrix(np.arange(relation.kinds)))
    assert sorted(masses) == [level.total // 3] * 3
    assert abs(alpha_bound(masses, conflicts).bits - 0.5849625007211562) <= 1e-15
    assert abs(clique_bound(masses, conflicts).bits - 0.9182958340544896) <= 1e-15


def test_exact_rates_are_exact() -> None:
    """The floats agree, and equality is decided where floats cannot."""
    graph = build("lost-cue").graph
    for level, label in zip(graph.levels, strong_classes(graph), strict=True):
        assert exact_rate(level, label).bits == pytest.approx(conditional_rate(level, label), abs=1e-15)
    level, label = graph.levels[2], strong_classes(graph)[2]
    renumbered = rank(-label)[0]
    assert exact_rate(level, label) == exact_rate(level, renumbered)
    assert exact_rate(level, label) != exact_rate(level, np.zeros_like(label))


def test_rows_of_bits() -> None:
    matrix = np.zeros((9, 9), bool)
    matrix[0, 8] = matrix[8, 0] = matrix[3, 0] = True
    assert bitmasks(matrix) == [1 << 8, 0, 0, 1, 0, 0, 0, 0, 1]


def test_masses_beyond_64_bits() -> None:
    """The three histories with a weight of 2⁻¹⁰⁰ moved from one to another: still h₂ of a third, almost."""
    tiny = Fraction(1, 2**100)
    shares = {"h1": Fraction(1, 3) - tiny, "h2": Fraction(1, 3), "h3": Fraction(1, 3) + tiny}
    futures = {"h1": ("u", "v1"), "h2": ("w",), "h3": ("u", "v3")}

    def step(latent: tuple[str, str], actions: tuple[str, ...]) -> tuple[str, str]:
        return [(latent[0], "wait"), ("same", "wait"), (latent[1], latent[0] if latent[1] == "u" else "wait")][
            len(actions)
        ]

    latents = [((h, word), shares[h] / len(futures[h])) for h in futures for word in futures[h]]
    graph = Model.from_latents(3, latents, step).graph
    actual = floors(graph, compatibility(graph), strong_classes(graph))[1]
    assert actual.proved
    assert abs(actual.upper - 0.9182958340544896) <= 1e-15
    words = {actual.cells[k]: graph.history(1, k)[0] for k in range(3)}
    assert actual.cells.tolist().count(max(actual.cells, key=actual.cells.tolist().count)) == 2
    assert words[min(actual.cells, key=actual.cells.tolist().count)] == "h1", "the heavier partner takes h2, exactly"


def test_fibers_of_equal_masses_but_other_conflicts_are_not_taken_for_one() -> None:
    """Four equally likely histories each: a path of conflicts in one fiber, a triangle with a tail in the other."""
    conflicts = {"path": [(0, 1), (1, 2), (2, 3)], "kite": [(0, 1), (0, 2), (1, 2), (2, 3)]}
    episodes = []
    for fiber, edges in conflicts.items():
        for k in range(4):
            meets = [edge for edge in edges if k in edge]
            for edge in meets:
                seen = [f"{fiber} {k}", fiber, f"{fiber} {edge}"]
                done = ["wait", "wait", f"say {edge.index(k)}"]
                steps = [{"obs": o, "action_law": {a: 1}, "action": a} for o, a in zip(seen, done, strict=True)]
                episodes.append({"weight": Fraction(1, 8 * len(meets)), "steps": steps})
    graph = Model.from_episodes(episodes).graph
    relation = compatibility(graph)[1]
    bound = floor(graph.levels[1], relation, strong_classes(graph)[1])
    assert len(relation.loose) == 2
    assert bound.proved
    assert bound.upper == 1.25  # two colours of equal mass, and three of which one has half the mass
    together = [(a, b) for a in range(8) for b in range(a) if bound.cells[a] == bound.cells[b]]
    assert together
    assert not any(relation.in_conflict(a, b) for a, b in together)
