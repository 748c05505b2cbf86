"""Minimum-entropy colouring against every proper colouring of small graphs, and its evidence checked exactly."""

import random
from collections.abc import Iterator, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import combinations

import pytest

from certify.core.colouring import (
    Colouring,
    Limits,
    alpha_bound,
    clique_bound,
    fewest_colours,
    heaviest_compatible_set,
    minimum_entropy,
    repeated_alpha_bound,
)
from certify.core.logs import LogSum, entropy

Graph = tuple[list[int], list[int]]


def graph(weights: list[int], edges: list[tuple[int, int]]) -> Graph:
    conflicts = [0] * len(weights)
    for one, two in edges:
        conflicts[one] |= 1 << two
        conflicts[two] |= 1 << one
    return weights, conflicts


def random_graph(rng: random.Random, vertices: int, density: float, heaviest: int) -> Graph:
    edges = [pair for pair in combinations(range(vertices), 2) if rng.random() < density]
    return graph([rng.randint(1, heaviest) for _ in range(vertices)], edges)


def small_graphs(seed: int, count: int) -> Iterator[Graph]:
    rng = random.Random(seed)
    for _ in range(count):
        yield random_graph(rng, rng.randint(1, 9), rng.choice([0.1, 0.3, 0.5, 0.7, 0.9]), rng.choice([1, 2, 100]))


def disjoint_cliques(size: int, count: int) -> list[tuple[int, int]]:
    return [(size * k + i, size * k + j) for k in range(count) for i, j in combinations(range(size), 2)]


def all_masses(weights: list[int], conflicts: list[int]) -> set[tuple[int, ...]]:
    """The class masses of every proper colouring, each sorted."""
    masses: set[tuple[int, ...]] = set()

    def assign(v: int, classes: list[tuple[int, int]]) -> None:
        if v == len(weights):
            masses.add(tuple(sorted(mass for mass, _ in classes)))
            return
        for index, (mass, mask) in enumerate([*classes, (0, 0)]):
            if not mask & conflicts[v]:
                assign(v + 1, [*classes[:index], (mass + weights[v], mask | 1 << v), *classes[index + 1 :]])

    assign(0, [])
    return masses


@cache
def nats(mass: int, total: int, digits: int) -> Decimal:
    """Share of the mass times the natural logarithm of its inverse."""
    with localcontext() as context:
        context.prec = digits + 10
        return -(mass / Decimal(total)) * (mass / Decimal(total)).ln()


def literal_entropy(masses: Sequence[int], digits: int = 40) -> Decimal:
    with localcontext() as context:
        context.prec = digits + 10
        return round(sum(nats(mass, sum(masses), digits) for mass in masses) / Decimal(2).ln(), digits)


def class_masses(weights: list[int], classes: Sequence[int]) -> list[int]:
    return [sum(w for v, w in enumerate(weights) if mask >> v & 1) for mask in classes]


def is_proper(conflicts: list[int], classes: Sequence[int]) -> bool:
    """Every vertex once, and no conflict inside a class."""
    once = (
        sum(classes)
        == (1 << len(conflicts)) - 1
        == sum(1 << v for v in range(len(conflicts)) for m in classes if m >> v & 1)
    )
    return once and not any(mask >> v & 1 and mask & c for mask in classes for v, c in enumerate(conflicts))


def independent_sets(conflicts: list[int]) -> list[int]:
    sets = range(1, 1 << len(conflicts))
    return [s for s in sets if not any(s >> v & 1 and s & c for v, c in enumerate(conflicts))]


@pytest.mark.parametrize("seed", range(6))
def test_agrees_with_all_proper_colourings(seed):
    for weights, conflicts in small_graphs(seed, 100):
        colouring = minimum_entropy(weights, conflicts)
        masses = class_masses(weights, colouring.classes)
        literal = all_masses(weights, conflicts)
        assert colouring.optimal
        assert is_proper(conflicts, colouring.classes)
        assert colouring.lower == colouring.upper == entropy(masses)
        assert literal_entropy(masses) == min(map(literal_entropy, literal))
        assert len(fewest_colours(conflicts) or ()) == min(map(len, literal))
        heaviest = heaviest_compatible_set(weights, conflicts)
        assert heaviest is not None
        assert heaviest[0] == max(map(max, literal))
        assert class_masses(weights, [heaviest[1]]) == [heaviest[0]]


@pytest.mark.parametrize("seed", range(2))
def test_simple_bounds_hold_and_are_ordered(seed):
    for weights, conflicts in small_graphs(100 + seed, 60):
        minimum = minimum_entropy(weights, conflicts).upper
        alpha, repeated = alpha_bound(weights, conflicts), repeated_alpha_bound(weights, conflicts)
        assert alpha <= repeated <= minimum
        assert clique_bound(weights, conflicts) <= minimum
        assert alpha_bound(weights, conflicts, limit=0) <= alpha
        assert repeated_alpha_bound(weights, conflicts, limit=0) <= repeated
        assert clique_bound(weights, conflicts, limit=0) <= clique_bound(weights, conflicts)


def test_components_of_the_conflict_graph_share_colours():
    """The best colourings of a path and of an edge, put together, cost 1.1416 bits; the best of both is 1 bit."""
    path, edge = [(0, 2), (2, 1), (1, 3)], [(4, 5)]
    weights, conflicts = graph([4, 1, 1, 4, 8, 8], path + edge)
    together = minimum_entropy(weights, conflicts)
    assert together.optimal
    assert together.upper == LogSum.rational(1)
    assert minimum_entropy(*graph([4, 1, 1, 4], path)).upper == entropy([8, 1, 1])
    assert entropy([8 + 8, 8 + 1, 1]).bits == pytest.approx(1.1416, abs=1e-4)


def test_optimum_may_need_more_colours_than_the_chromatic_number():
    weights, conflicts = graph([2, 1, 1, 2, 3], [(0, 2), (1, 2), (1, 4), (2, 3)])
    colouring = minimum_entropy(weights, conflicts)
    assert len(fewest_colours(conflicts) or ()) == 2
    assert colouring.optimal
    assert class_masses(weights, colouring.classes) == [7, 1, 1]
    assert min(literal_entropy(m) for m in all_masses(weights, conflicts) if len(m) == 2) > literal_entropy([7, 1, 1])


def test_heaviest_compatible_set_first_is_not_optimal():
    weights, conflicts = graph([2, 1, 2, 1], [(0, 1), (1, 3), (3, 2)])
    assert heaviest_compatible_set(weights, conflicts) == (4, 0b0101)
    assert minimum_entropy(weights, conflicts).upper == LogSum.rational(1)
    assert entropy([4, 1, 1]) > LogSum.rational(1)


def test_three_histories():
    weights, conflicts = graph([1, 1, 1], [(0, 2)])
    colouring = minimum_entropy(weights, conflicts)
    assert colouring.optimal
    assert colouring.upper == entropy([1, 2]) == repeated_alpha_bound(weights, conflicts)
    assert colouring.upper.bits == pytest.approx(0.9182958340544896, rel=1e-15)
    assert alpha_bound(weights, conflicts) == LogSum.of([(1, 3), (-1, 2)])
    assert clique_bound(weights, conflicts) == entropy([1, 2])


def test_trivial_graphs():
    assert minimum_entropy([3, 1, 5], [0, 0, 0]).classes == (0b111,)
    complete = minimum_entropy(*graph([1, 2, 5], [(0, 1), (0, 2), (1, 2)]))
    assert (complete.classes, complete.duals, complete.optimal) == ((0b100, 0b010, 0b001), (), True)
    assert complete.upper == entropy([1, 2, 5]) == clique_bound(*graph([1, 2, 5], [(0, 1), (0, 2), (1, 2)]))


def test_twins_are_merged():
    """Ten copies of the three-history instance: three types, and one class per side."""
    weights, conflicts = [1] * 30, [((1 << 10) - 1) << 20] * 10 + [0] * 10 + [(1 << 10) - 1] * 10
    colouring = minimum_entropy(weights, conflicts)
    assert colouring.upper == entropy([1, 2])
    assert sorted(map(int.bit_count, colouring.duals[0].types)) == [10, 10, 10]


def prices_dominate(weights: list[int], conflicts: list[int], colouring: Colouring) -> bool:
    """y(S) <= cost(S) for every compatible set of types of every component, by exact arithmetic."""
    for evidence in colouring.duals:
        masses = class_masses(weights, evidence.types)
        owner = [next(v for v in range(len(weights)) if mask >> v & 1) for mask in evidence.types]
        inside = [sum(1 << j for j, u in enumerate(owner) if conflicts[v] >> u & 1) for v in owner]
        for chosen in independent_sets(inside):
            price = sum((y for k, y in enumerate(evidence.prices) if chosen >> k & 1), Fraction(0))
            mass = class_masses(masses, [chosen])[0]
            cost = LogSum.of([(Fraction(mass, sum(masses)), sum(masses)), (Fraction(-mass, sum(masses)), mass)])
            if LogSum.rational(price) > cost:
                return False
    return True


@pytest.mark.parametrize("limits", [Limits(), Limits(independent_sets=0), Limits(seconds=0.0)], ids=str)
def test_prices_never_exceed_the_cost_of_a_compatible_set(limits):
    for weights, conflicts in small_graphs(7, 40):
        assert prices_dominate(weights, conflicts, minimum_entropy(weights, conflicts, limits))
    weights, conflicts = random_graph(random.Random(1), 13, 0.5, 1000)
    assert prices_dominate(weights, conflicts, minimum_entropy(weights, conflicts, limits))


def test_prices_are_sharp():
    """On random graphs the linear programme is within a twentieth of a bit; far better than α."""
    for seed in range(5):
        weights, conflicts = random_graph(random.Random(seed), 16, 0.5, 1000)
        colouring = minimum_entropy(weights, conflicts)
        evidence = colouring.duals[0]
        assert len(evidence.prices) == 16
        assert evidence.proof == "search"
        assert colouring.upper.bits - 0.05 < float(sum(evidence.prices)) <= colouring.upper.bits


def test_exact_ties_are_equal():
    """(4, 4, 4, 4) and (8, 2, 2, 2, 2) both have two bits: neither may replace the other, and the bracket closes."""
    weights, conflicts = graph([1] * 12, disjoint_cliques(4, 3))
    colouring = minimum_entropy(weights, conflicts)
    assert colouring.optimal
    assert colouring.lower == LogSum.rational(2) == entropy([8, 2, 2, 2, 2])
    assert class_masses(weights, colouring.classes) == [3, 3, 3, 3]


@pytest.mark.parametrize(("size", "count"), [(2, 10), (3, 7), (4, 6), (4, 8), (6, 5)])
def test_many_tied_optima_do_not_stall(size, count):
    """Disjoint cliques with equal weights have (size!)^(count-1) optima, all alike."""
    weights, conflicts = graph([1] * size * count, disjoint_cliques(size, count))
    colouring = minimum_entropy(weights, conflicts)
    assert colouring.optimal
    assert colouring.upper == LogSum.of([(1, size)]) == alpha_bound(weights, conflicts)
    assert clique_bound(weights, conflicts) < colouring.upper


TIGHT = [Limits(independent_sets=0), Limits(independent_sets=5), Limits(nodes=0), Limits(nodes=3), Limits(seconds=0.0)]


@pytest.mark.parametrize("limits", TIGHT, ids=str)
def test_brackets_at_a_tiny_limit_are_valid(limits):
    still_open = 0
    for weights, conflicts in small_graphs(11, 60):
        bracket, exact = minimum_entropy(weights, conflicts, limits), minimum_entropy(weights, conflicts)
        assert is_proper(conflicts, bracket.classes)
        assert bracket.upper == entropy(class_masses(weights, bracket.classes))
        assert bracket.lower <= exact.lower == exact.upper <= bracket.upper
        assert bracket.optimal == (bracket.lower == bracket.upper)
        still_open += not bracket.optimal
    assert still_open


def test_unfinished_search_raises_the_bound_of_the_prices():
    weights, conflicts = random_graph(random.Random(1), 28, 0.5, 1000)
    bracket, exact = minimum_entropy(weights, conflicts, Limits(nodes=150)), minimum_entropy(weights, conflicts)
    (evidence,) = bracket.duals
    assert evidence.proof == "prices"
    assert evidence.searched > Fraction(1, 1024)
    assert bracket.lower == LogSum.rational(sum(evidence.prices) + evidence.searched)
    assert bracket.lower < exact.upper <= bracket.upper


def test_components_wider_than_a_word_get_a_bracket():
    weights, conflicts = random_graph(random.Random(3), 80, 0.5, 1000)
    bracket = minimum_entropy(weights, conflicts, Limits(seconds=0.5))
    assert is_proper(conflicts, bracket.classes)
    assert not bracket.optimal
    assert repeated_alpha_bound(weights, conflicts) <= bracket.lower < bracket.upper


def test_huge_weights():
    rng = random.Random(5)
    for _ in range(10):
        weights, conflicts = random_graph(rng, 7, 0.5, 10)
        scaled = [w * (2**1000 - 1) for w in weights]
        assert minimum_entropy(scaled, conflicts).upper == minimum_entropy(weights, conflicts).upper
        skewed = [3 ** rng.randint(0, 200) for _ in weights]
        masses = class_masses(skewed, minimum_entropy(skewed, conflicts).classes)
        literal = (literal_entropy(m, 250) for m in all_masses(skewed, conflicts))
        assert literal_entropy(masses, 250) == min(literal)


@pytest.mark.parametrize("density", [0.5, 0.8])
def test_forty_five_vertices_are_solved_exactly(density):
    weights, conflicts = random_graph(random.Random(0), 45, density, 1000)
    colouring = minimum_entropy(weights, conflicts, Limits(seconds=60))
    assert colouring.optimal
    assert is_proper(conflicts, colouring.classes)


def test_fewest_colours():
    for weights, conflicts in small_graphs(13, 60):
        classes = fewest_colours(conflicts)
        assert classes is not None
        assert is_proper(conflicts, classes)
        assert len(classes) == min(map(len, all_masses(weights, conflicts)))
    wheel = [(k, (k + 1) % 5) for k in range(5)] + [(k, 5) for k in range(5)]
    assert len(fewest_colours(graph([1] * 6, wheel)[1]) or ()) == 4
    _, conflicts = random_graph(random.Random(2), 40, 0.5, 1)
    assert fewest_colours(conflicts, limit=10) is None


def test_heaviest_compatible_set_stops_at_its_limit():
    weights, conflicts = random_graph(random.Random(2), 40, 0.2, 1000)
    assert heaviest_compatible_set(weights, conflicts, limit=10) is None
    assert heaviest_compatible_set(weights, conflicts) is not None


@pytest.mark.parametrize(
    ("weights", "conflicts"),
    [([], []), ([1, 0], [0, 0]), ([1], [0, 0]), ([1, 1], [2, 0]), ([1, 1], [1, 0]), ([1, 1], [4, 4])],
)
def test_malformed_graphs_are_refused(weights, conflicts):
    with pytest.raises(ValueError, match="conflict"):
        minimum_entropy(weights, conflicts)
