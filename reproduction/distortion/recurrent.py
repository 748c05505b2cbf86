"""R_t^mem(D): the least H(C_t | O_t) of a deterministic recurrent memory with distortion at most D at every step.

Distortion at step s is E[δ(P_E(A_s | H_s), π(· | O_s, C_s))] under the expert's histories, δ total variation. Only the
partition 𝒫 of the histories of step t into (O_t, C_t) cells matters. Members of a cell A with a common continuation ξ
are followed into one cell, so the cells of a later step are unions of sets (A, ξ) = {hξ : h ∈ A}; a union distorts no
less than its parts, since the parts could all use its decoder. Conversely, single histories before t (no distortion),
𝒫 at t and exactly the sets (A, ξ) after t are closed, so some realization has them. Hence R_t^mem(D) is the least
H(𝒫 | O_t) for which the sets (A, ξ) with their best decoders distort by at most D at every step s ≥ t. Rate and each
step's distortion are sums over the cells of 𝒫. The proof in full is in docs/theory.md.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cmp_to_key
from itertools import islice
from math import lcm, log2

import numpy as np

from certify.core.assignments import bits
from certify.core.exact import total_of
from certify.core.graph import Graph, Level
from certify.core.logs import sign
from certify.core.merged import unfold
from certify.core.rates import conditional_rate
from reproduction.distortion.frontier import FIBER_LIMIT, Source, best_decoder, rate_bounds

HISTORY_LIMIT = 20_000
CHOICE_LIMIT = 200_000
_CLEAR_BITS = 1e-9  # far above the rounding of a float rate; closer rates are compared exactly


@dataclass(frozen=True)
class RecurrentPoint:
    """A Pareto point: H(C_t | O_t) in bits, the largest distortion of a step, and a cell for every history of step t.

    Histories are the nodes of the level; for a merged graph, those of `certify.core.merged.unfold(graph)`.
    """

    rate: float
    distortion: Fraction
    cells: tuple[int, ...]


@dataclass(frozen=True)
class Gap:
    """R_{G|O}(D) of step t without recurrence (a lower bound), R_t^mem(D), and what recurrence adds; in bits."""

    distortion: Fraction | float
    lower: float
    upper: float
    gap: float


@dataclass(frozen=True)
class _Choice:
    """Cells for some of the histories of step t, as bitmasks."""

    bits: float  # Σ p·log₂(1/p) over the cells: the rate, up to a constant that all choices share
    masses: tuple[int, ...]  # of the cells, ascending; they give the rate exactly
    losses: tuple[int, ...]  # distortion at each step that counts, in a common unit
    cells: tuple[int, ...]

    def __add__(self, other: "_Choice") -> "_Choice":
        masses = tuple(sorted(self.masses + other.masses))
        losses = tuple(map(int.__add__, self.losses, other.losses))
        return _Choice(self.bits + other.bits, masses, losses, self.cells + other.cells)


def gap(graph: Graph, t: int, distortion: Fraction | float) -> Gap:
    """The instantaneous lower bound at step t (counted from 0), R_t^mem(D), and the difference."""
    upper = recurrent_rate(graph, t, distortion)
    lower = rate_bounds(Source.of_classes(graph, t), distortion)[0]
    return Gap(distortion, lower, upper, max(0.0, upper - lower))


def recurrent_rate(graph: Graph, t: int, distortion: Fraction | float) -> float:
    """R_t^mem(D) in bits, t counted from 0; a float D is taken at its exact binary value."""
    if not distortion >= 0:
        raise ValueError(f"distortion {distortion} is not a number ≥ 0")
    return min(point.rate for point in recurrent_frontier(graph, t) if point.distortion <= distortion)


def recurrent_frontier(graph: Graph, t: int, limit: int = FIBER_LIMIT) -> tuple[RecurrentPoint, ...]:
    """All Pareto points of (H(C_t | O_t), largest distortion of a step) by falling rate; exact, t counted from 0.

    The limits are `limit` histories in a fiber of step t, `HISTORY_LIMIT` histories for a merged graph that has to be
    unfolded, and `CHOICE_LIMIT` partial partitions compared at once; beyond them it is a ValueError.
    """
    if not 0 <= t < graph.horizon:
        raise ValueError(f"step {t}: steps are counted from 0 to {graph.horizon - 1}")
    tree = _tree(graph)
    level = tree.levels[t]
    fibers: dict[int, int] = {}
    for node, observation in enumerate(level.observation.tolist()):
        fibers[observation] = fibers.get(observation, 0) | 1 << node
    for observation, fiber in fibers.items():
        if fiber.bit_count() > limit:
            where = f"step {t}, {tree.observations[observation]!r}"
            raise ValueError(f"{where}: {fiber.bit_count()} histories, more than {limit}, have too many partitions")
    table: dict[int, list[Fraction]] = {}
    for fiber in fibers.values():
        table |= _losses(tree, t, fiber)
    losses, unit = _in_one_unit(table)
    mass = [int(m) for m in level.mass]
    choices = [_Choice(0.0, (), losses[0], ())]
    for fiber in fibers.values():
        partitions = _partitions(fiber, mass, losses)
        choices = _undominated(left + right for left in choices for right in partitions)
    worst = _undominated(replace(choice, losses=(max(choice.losses),)) for choice in choices)
    return tuple(_point(level, choice, unit) for choice in reversed(worst))


def _point(level: Level, choice: _Choice, unit: int) -> RecurrentPoint:
    labels = [next(k for k, cell in enumerate(choice.cells) if cell >> node & 1) for node in range(level.size)]
    rate = conditional_rate(level, np.array(labels))
    return RecurrentPoint(rate, Fraction(choice.losses[0], unit), tuple(labels))


def _tree(graph: Graph) -> Graph:
    """One node a history; a merged graph is unfolded if it is small."""
    histories = [total_of(level.paths) for level in graph.levels]
    if histories == [level.size for level in graph.levels]:
        return graph
    if max(histories) > HISTORY_LIMIT:
        raise ValueError(f"the merged graph stands for {max(histories)} histories, more than {HISTORY_LIMIT}")
    return unfold(graph)


def _losses(tree: Graph, t: int, fiber: int) -> dict[int, list[Fraction]]:
    """For every subset A of a fiber: at each step s ≥ t, what the cells (A, ξ) lose with their best decoders."""
    table: dict[int, list[Fraction]] = {mask: [] for mask in _subsets(fiber)}
    followers = [{1 << node: node for node in bits(fiber)}]  # for each ξ: whom it can follow, and into which node
    for s in range(t, tree.horizon):
        law = tree.levels[s].law
        telling = [reached for reached in followers if len({int(law[node]) for node in reached.values()}) > 1]
        costs = [(sum(reached), _decoding(tree, s, reached)) for reached in telling]
        for mask, lost in table.items():
            lost.append(sum((cost[mask & shared] for shared, cost in costs), Fraction(0)))
        if s + 1 < tree.horizon:
            followers = _follow(tree, s, followers)
    return table


def _decoding(tree: Graph, s: int, reached: dict[int, int]) -> dict[int, Fraction]:
    """For every set of these histories of step s: its probability times the distortion of its best decoder."""
    level = tree.levels[s]
    masses: dict[int, dict[int, int]] = {0: {}}  # of each law, for every set
    for bit, node in reached.items():
        law, mass = int(level.law[node]), int(level.mass[node])
        masses |= {mask | bit: {**old, law: old.get(law, 0) + mass} for mask, old in masses.items()}
    cost = {mask: Fraction(0) for mask in masses}
    for mask, weights in masses.items():
        if len(weights) > 1:
            letters = [(mass, {str(action): p for action, p in tree.laws[law]}) for law, mass in weights.items()]
            cost[mask] = Fraction(sum(weights.values()), level.total) * best_decoder(letters)[1]
    return cost


def _follow(tree: Graph, s: int, followers: list[dict[int, int]]) -> list[dict[int, int]]:
    """Extend every ξ by one continuation; what only one history can do costs nothing, then or later."""
    level, words = tree.levels[s], tree.continuation(s)
    begin = np.searchsorted(level.source, np.arange(level.size + 1)).tolist()
    extended: list[dict[int, int]] = []
    for reached in followers:
        after: dict[int, dict[int, int]] = {}
        for bit, node in reached.items():
            for edge in range(begin[node], begin[node + 1]):
                after.setdefault(int(words[edge]), {})[bit] = int(level.child[edge])
        extended += (together for together in after.values() if len(together) > 1)
    return extended


def _in_one_unit(table: dict[int, list[Fraction]]) -> tuple[dict[int, tuple[int, ...]], int]:
    """Losses as integers, with their unit, and without the steps at which some other step never loses less."""
    columns = set(zip(*table.values(), strict=True))
    unit = lcm(*(loss.denominator for column in columns for loss in column))
    whole = sorted(tuple(int(loss * unit) for loss in column) for column in columns)
    kept = [step for step in whole if not any(step != more and all(map(int.__le__, step, more)) for more in whole)]
    return dict(zip(table, zip(*kept, strict=True), strict=True)), unit


def _partitions(fiber: int, mass: list[int], losses: dict[int, tuple[int, ...]]) -> list[_Choice]:
    """The undominated partitions of one fiber, by a program over its subsets."""
    total = sum(mass)
    cells: dict[int, _Choice] = {}
    for mask in islice(_subsets(fiber), 1, None):
        inside = sum(mass[node] for node in bits(mask))
        cells[mask] = _Choice(inside / total * (log2(total) - log2(inside)), (inside,), losses[mask], (mask,))
    best = {0: [_Choice(0.0, (), losses[0], ())]}
    for left in (*islice(_subsets(fiber & fiber - 1), 1, None), fiber):  # the first history goes into the first cell
        first = left & -left  # its cell comes next, so that each partition is met once
        with_first = (first | others for others in _subsets(left ^ first))
        best[left] = _undominated(rest + cells[cell] for cell in with_first for rest in best[left ^ cell])
    return best[fiber]


def _subsets(mask: int) -> Iterator[int]:
    """All submasks, ascending."""
    subset = 0
    while subset != mask:
        yield subset
        subset = (subset - mask) & mask
    yield mask


def _undominated(choices: Iterable[_Choice]) -> list[_Choice]:
    """By rising rate, the choices that no other beats or equals in rate and in the loss of every step."""
    candidates = list(islice(choices, CHOICE_LIMIT + 1))
    if len(candidates) > CHOICE_LIMIT:
        raise ValueError(f"more than {CHOICE_LIMIT} partial partitions to compare")
    different = {(choice.masses, choice.losses): choice for choice in candidates}
    largest = max(max(choice.losses) for choice in candidates)
    losses = np.empty((len(different), len(candidates[0].losses)), np.int64 if largest < 2**62 else object)
    kept: list[_Choice] = []
    for choice in sorted(different.values(), key=cmp_to_key(_compare)):
        row = np.array(choice.losses, losses.dtype)
        if not (losses[: len(kept)] <= row).all(axis=1).any():
            losses[len(kept)] = row
            kept.append(choice)
    return kept


def _compare(left: _Choice, right: _Choice) -> int:
    """By rate, exactly, then by losses."""
    if abs(left.bits - right.bits) > _CLEAR_BITS:
        return -1 if left.bits < right.bits else 1
    order = 0
    if left.masses != right.masses:
        order = sign([*((-m, m) for m in left.masses), *((m, m) for m in right.masses)])
    return order or (left.losses > right.losses) - (left.losses < right.losses)
