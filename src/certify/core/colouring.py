"""Minimum-entropy proper colouring of a weighted conflict graph, exactly; and the simpler bounds beside it.

Vertices are the histories of one observation fiber, an edge joins two that no memory state may share, and the entropy
of the best colouring is R_t^mem(0) of the fiber. Graphs are given as bitmasks (bit j of ``conflicts[i]``: i and j
conflict), weights are positive integers of any size.
"""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import zip_longest
from operator import itemgetter
from typing import Literal, NamedTuple

from certify.core.logs import LogSum, entropy
from certify.core.partition import (
    CoverSearch,
    LimitReached,
    compatible_sets,
    components,
    insert,
    mass_of,
    masses_of,
    members,
    polished,
    purer,
    recombined,
    safe_prices,
)

Proof = Literal["search", "prices", "alpha", "clique"]

_FIRST_BURST = 2_000  # search nodes before the incumbent is polished for the first time


@dataclass(frozen=True)
class Limits:
    """How much work one colouring may cost; beyond it the answer is a proved bracket."""

    independent_sets: int = 3_000_000
    nodes: int = 1_000_000
    seconds: float = 10.0


class Budget:
    """Seconds shared by many colourings; each may take an eighth of what is left."""

    def __init__(self, seconds: float) -> None:
        self.deadline = time.monotonic() + seconds

    @property
    def spent(self) -> bool:
        return time.monotonic() > self.deadline

    def limits(self) -> Limits:
        """For the next colouring: a power of two, so that equal fibers have equal limits and are solved once."""
        part = max(2.0**-7, (self.deadline - time.monotonic()) / 8)
        return Limits(seconds=min(8.0, 2.0 ** math.floor(math.log2(part))))


@dataclass(frozen=True)
class Evidence:
    """What proves the lower bound of one compatibility component.

    With M the mass of the component, y(S) <= (m_S/M)·log2(M/m_S) holds for every compatible set S, so that the entropy
    within the component is at least the sum of the prices. By `proof`: "search", an exhaustive search over exact covers
    of small total slack found nothing better than the classes; "prices", no partition has total slack below `searched`
    unless it is no better than the classes, hence the bound sum(prices) + searched; "alpha" and "clique", the bound of
    that name is the larger one.
    """

    types: tuple[int, ...]  # merged vertices, bitmasks over the input
    prices: tuple[Fraction, ...]  # bits, one per type
    searched: Fraction
    proof: Proof


@dataclass(frozen=True)
class Colouring:
    """A proper colouring and the bracket in which the minimum entropy (in bits) lies."""

    classes: tuple[int, ...]  # bitmasks over the input vertices, heaviest first
    lower: LogSum
    upper: LogSum  # the entropy of `classes`
    optimal: bool  # lower == upper
    duals: tuple[Evidence, ...]  # one per compatibility component of two or more types


class _Graph(NamedTuple):
    weights: tuple[int, ...]
    conflicts: tuple[int, ...]
    types: tuple[int, ...]  # bitmasks over the input: vertices with one and the same neighbourhood


class _Solved(NamedTuple):
    classes: tuple[int, ...]
    lower: LogSum
    upper: LogSum
    evidence: Evidence


def minimum_entropy(weights: Sequence[int], conflicts: Sequence[int], limits: Limits | None = None) -> Colouring:
    """The proper colouring whose class masses have the least entropy, H_χ; a bracket where a limit is met.

    A class never spans two components of the compatibility graph, so these are solved one by one and share the time.
    """
    limits = limits or Limits()
    graph = _merge_twins(weights, conflicts)
    parts = _split(graph)
    masses = [sum(part.weights) for part in parts]
    lower = upper = entropy(masses)
    allowance = replace(limits, seconds=limits.seconds / max(1, sum(len(part.types) > 1 for part in parts)))
    classes: list[int] = []
    duals: list[Evidence] = []
    for part, mass in zip(parts, masses, strict=True):
        if len(part.types) == 1:
            classes += part.types
            continue
        common = math.gcd(*part.weights)
        solved = _solve(tuple(w // common for w in part.weights), part.conflicts, allowance)
        share = Fraction(mass, sum(masses))
        lower, upper = lower + solved.lower * share, upper + solved.upper * share
        classes += [_union(part.types, mask) for mask in solved.classes]
        duals.append(replace(solved.evidence, types=part.types))
    classes.sort(key=lambda mask: (-mass_of(weights, mask), mask))
    return Colouring(tuple(classes), lower, upper, lower == upper, tuple(duals))


@lru_cache(maxsize=4096)
def _solve(weights: tuple[int, ...], conflicts: tuple[int, ...], limits: Limits) -> _Solved:
    """One component; equal fibers of a model are solved once."""
    deadline = time.monotonic() + limits.seconds
    heaviest_first = sorted(range(len(weights)), key=lambda v: -weights[v])
    best = recombined(insert((), heaviest_first, weights, conflicts), weights, conflicts, deadline)
    family = compatible_sets(weights, conflicts, limits.independent_sets)
    if family is None:
        best = polished(best, weights, conflicts, deadline)
        return _bracket(weights, conflicts, best, limits)
    prices = safe_prices(family, best, deadline)
    search = CoverSearch(family, prices, best, deadline)
    left, burst = limits.nodes, _FIRST_BURST
    search.run(min(burst, left))
    while not search.complete and left > 0 and time.monotonic() < deadline:
        search.offer(polished(search.best, weights, conflicts, deadline, seed=burst))  # pays only in a long search
        left, burst = left - burst, 4 * burst
        search.run(min(burst, left))
    exact_prices = tuple(map(Fraction, prices.tolist()))
    if not search.complete:
        return _bracket(weights, conflicts, search.best, limits, exact_prices, Fraction(search.searched))
    minimum = entropy(masses_of(weights, search.best))
    return _Solved(search.best, minimum, minimum, Evidence((), exact_prices, Fraction(0), "search"))


def _bracket(
    weights: tuple[int, ...],
    conflicts: tuple[int, ...],
    best: tuple[int, ...],
    limits: Limits,
    prices: tuple[Fraction, ...] = (),
    searched: Fraction = Fraction(0),
) -> _Solved:
    """The sharpest of the bounds at hand, where the search did not end; without prices, those of the α bound."""
    steps = int(100_000 * limits.seconds)  # the bounds take about as long as the search did
    alpha = repeated_alpha_bound(weights, conflicts, steps)
    if not prices:  # in proportion to mass: every class costs at least log2(1/α) per unit of it
        low, _ = alpha_bound(weights, conflicts, steps).interval()
        floor = Fraction(math.floor(Fraction(low) * 2**40), 2**40)
        prices = tuple(floor * Fraction(w, sum(weights)) for w in weights)
    bounds: list[tuple[LogSum, Proof]] = [
        (LogSum.rational(sum(prices) + searched), "prices"),
        (alpha, "alpha"),
        (clique_bound(weights, conflicts, steps // 500), "clique"),
    ]
    lower, proof = max(bounds, key=itemgetter(0))
    return _Solved(best, lower, entropy(masses_of(weights, best)), Evidence((), prices, searched, proof))


def _union(types: Sequence[int], mask: int) -> int:
    """The input vertices of a set of types."""
    return sum(types[v] for v in members(mask))


def _merge_twins(weights: Sequence[int], conflicts: Sequence[int]) -> _Graph:
    """One vertex per neighbourhood: an optimum keeps twins together, for the lighter class would give its own away."""
    twins: dict[int, int] = {}
    for v, enemies in enumerate(conflicts):
        twins[enemies] = twins.get(enemies, 0) | 1 << v
    types = tuple(twins.values())
    if not types or len(weights) != len(conflicts) or min(weights) < 1:
        raise ValueError("a conflict graph needs a positive weight for each of its vertices, and at least one")
    reduced = []
    for k, enemies in enumerate(twins):
        near = [other for other, mask in enumerate(types) if mask & enemies]
        if k in near or sum(types[other] for other in near) != enemies:
            raise ValueError("conflicts must be symmetric, without loops, and among the vertices given")
        reduced.append(sum(1 << other for other in near))
    if not all(reduced[other] >> k & 1 for k, near in enumerate(reduced) for other in members(near)):
        raise ValueError("conflicts must be symmetric")
    return _Graph(tuple(masses_of(weights, types)), tuple(reduced), types)


def _split(graph: _Graph) -> list[_Graph]:
    """The connected components of the compatibility graph."""
    parts = []
    for component in components(graph.conflicts, (1 << len(graph.types)) - 1, conflicting=False):
        inside = list(members(component))
        conflicts = tuple(_gather(graph.conflicts[v], inside) for v in inside)
        parts.append(_Graph(tuple(graph.weights[v] for v in inside), conflicts, tuple(graph.types[v] for v in inside)))
    return parts


def _gather(mask: int, positions: Sequence[int]) -> int:
    """The bits of `mask` at the given positions, packed."""
    return sum((mask >> v & 1) << k for k, v in enumerate(positions))


def heaviest_compatible_set(
    weights: Sequence[int], conflicts: Sequence[int], limit: int = 1_000_000
) -> tuple[int, int] | None:
    """Mass and bitmask of a heaviest set without conflicts, α times the total; None beyond `limit` steps."""
    graph = _merge_twins(weights, conflicts)
    ceiling, mask = _heaviest(graph, limit)
    mass = mass_of(graph.weights, mask)
    return (mass, _union(graph.types, mask)) if mass == ceiling else None


def alpha_bound(weights: Sequence[int], conflicts: Sequence[int], limit: int = 1_000_000) -> LogSum:
    """log2(1/α): no class is heavier than the heaviest compatible set (or than what is proved of it at the limit)."""
    ceiling, _ = _heaviest(_merge_twins(weights, conflicts), limit)
    return LogSum.of([(1, sum(weights)), (-1, ceiling)])


def repeated_alpha_bound(weights: Sequence[int], conflicts: Sequence[int], limit: int = 1_000_000) -> LogSum:
    """Entropy of (α, …, α, rest), which majorises the masses of every proper colouring."""
    ceiling, _ = _heaviest(_merge_twins(weights, conflicts), limit)
    full, rest = divmod(sum(weights), ceiling)
    return entropy([ceiling] * full + [rest] * (rest > 0))


@lru_cache(maxsize=16)
def _heaviest(graph: _Graph, limit: int) -> tuple[int, int]:
    """A bound on the mass of compatible sets, and the best set found: it attains the bound unless the limit is met."""
    order = sorted(range(len(graph.weights)), key=lambda v: -graph.weights[v])
    weights = [graph.weights[v] for v in order]
    conflicts = [_gather(graph.conflicts[v], order) for v in order]

    def clique_cover(open_set: int) -> list[tuple[int, int]]:
        """The vertices clique by clique, each with a bound on the compatible sets of those up to it."""
        bounds, bound = [], 0
        while open_set:
            clique = open_set
            bound += weights[(clique & -clique).bit_length() - 1]  # its heaviest vertex comes first
            while clique:
                v = (clique & -clique).bit_length() - 1
                bounds.append((v, bound))
                open_set ^= 1 << v
                clique &= conflicts[v]
        return bounds

    everything = (1 << len(weights)) - 1
    ceiling = clique_cover(everything)[-1][1]
    best = max(insert((), range(len(weights)), weights, conflicts), key=lambda mask: mass_of(weights, mask))
    best_mass = mass_of(weights, best)
    stack = [(everything, 0, 0, ceiling)]  # what may join, the set, its mass, a bound on what it can grow to
    while stack and limit > 0:
        open_set, mask, mass, bound = stack.pop()
        if bound <= best_mass:
            continue
        if mass > best_mass:
            best_mass, best = mass, mask
        before = 0
        for v, gain in clique_cover(open_set):
            limit -= 1
            if mass + gain > best_mass:
                stack.append((before & ~conflicts[v], mask | 1 << v, mass + weights[v], mass + gain))
            before |= 1 << v
    return best_mass if limit > 0 else ceiling, sum(1 << order[v] for v in members(best))


def clique_bound(weights: Sequence[int], conflicts: Sequence[int], limit: int = 2_000) -> LogSum:
    """Best bound from a clique: its members get different classes, and at best all other mass joins the heaviest."""
    graph = _merge_twins(weights, conflicts)
    spread = [sum(weights)]
    for clique in _maximal_cliques(graph.conflicts, (1 << len(graph.types)) - 1, graph.weights, limit):
        lighter = sorted(graph.weights[v] for v in members(clique))[:-1]
        masses = [*lighter, sum(weights) - sum(lighter)]
        spread = masses if purer(spread, masses) else spread
    return entropy(spread)


def _maximal_cliques(conflicts: Sequence[int], vertices: int, weights: Sequence[int], limit: int) -> Iterator[int]:
    """Maximal sets of pairwise conflicting vertices (Bron–Kerbosch with pivots): all within `limit` steps, or some."""
    stack = [(0, vertices, 0)]  # the clique, what may join it, what was tried with it
    first = True
    while stack and (limit > 0 or first):
        limit -= 1
        clique, open_set, tried = stack.pop()
        if not open_set | tried:
            first = False
            yield clique
        if not open_set:
            continue
        pivot = max(members(open_set | tried), key=lambda v: (open_set & conflicts[v]).bit_count())
        for v in sorted(members(open_set & ~conflicts[pivot]), key=lambda v: weights[v]):
            stack.append((clique | 1 << v, open_set & conflicts[v], tried & conflicts[v]))
            open_set ^= 1 << v
            tried |= 1 << v


def fewest_colours(conflicts: Sequence[int], limit: int = 5_000_000) -> list[int] | None:
    """A proper colouring with as few colours as possible, as bitmasks; None beyond `limit` steps.

    Colours add up over components of the compatibility graph and are shared over components of the conflict graph.
    """
    graph = _merge_twins([1] * len(conflicts), conflicts)

    def solve(vertices: int) -> list[int]:
        parts = components(graph.conflicts, vertices, conflicting=False)
        if len(parts) > 1:
            return [mask for part in parts for mask in solve(part)]
        parts = components(graph.conflicts, vertices, conflicting=True)
        if len(parts) > 1:
            return [sum(masks) for masks in zip_longest(*map(solve, parts), fillvalue=0)]
        return _dsatur(graph.conflicts, vertices, limit)

    try:
        return [_union(graph.types, mask) for mask in solve((1 << len(graph.types)) - 1)]
    except (LimitReached, RecursionError):  # the alternation of the two splits may be deep
        return None


def _dsatur(conflicts: Sequence[int], vertices: int, limit: int) -> list[int]:
    """Exact colouring from a large clique on, branching on the vertex that sees the most colours."""
    alike = [1] * len(conflicts)
    clique = max(_maximal_cliques(conflicts, vertices, alike, 200), key=int.bit_count)
    by_degree = sorted(members(vertices), key=lambda v: -conflicts[v].bit_count())
    best = list(insert((), by_degree, alike, conflicts))
    stack = [(vertices & ~clique, [1 << v for v in members(clique)])]
    while stack and len(best) > clique.bit_count():
        rest, classes = stack.pop()
        if len(classes) >= len(best):
            continue
        if not rest:
            best = classes
            continue
        limit -= rest.bit_count() * len(classes)
        if limit < 0:
            raise LimitReached
        seen = {v: sum(conflicts[v] & mask != 0 for mask in classes) for v in members(rest)}
        v = max(seen, key=lambda v: (seen[v], (conflicts[v] & rest).bit_count()))
        stack.append((rest ^ 1 << v, [*classes, 1 << v]))
        for j, mask in enumerate(classes):
            if not mask & conflicts[v]:
                stack.append((rest ^ 1 << v, [*classes[:j], mask | 1 << v, *classes[j + 1 :]]))
    return best
