"""Minimum-entropy exact cover of one component by its compatible sets: a linear programme, then a bounded search.

A class S of mass share s costs s·log2(1/s) bits. Prices y_v with y(S) <= cost(S) for every compatible set S (a feasible
dual of the set-partition programme) bound the entropy of *every* partition from below by y(V), and the excess of a
partition is the sum of the slacks cost(S) - y(S) >= 0 of its classes. A partition at least as good as a known one hence
uses only sets of small slack; these are few, and trying all exact covers by them proves optimality.
"""

import math
import random
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from certify.core.logs import sign

Floats = NDArray[np.float64]
Masks = NDArray[np.uint64]

WIDEST = 64  # vertices of a component whose sets fit a machine word
PRICE_GRID = 2.0**40  # prices are multiples of 2^-40 bit: sums of 64 of them are exact in a double
SLACK_ERROR = 2.0**-44  # bounds the float error of one cost (20 additions and a logarithm: below 100 units of 2^-53)
REACH_ERROR = 2.0**-37  # bounds the float error of the total slack of a partition into at most 64 classes

_OPTIMAL = 1e-11  # reduced costs above -1e-11 count as non-negative inside the simplex method
_COLUMNS_PER_ROUND = 100
_FIRST_REACH = 2.0**-10
_REACH_GROWTH = 1.4
_POLISHING_ROUNDS = 200
_MASS_OPTIONS = 64
_FILLING_EFFORT = 20_000


def members(mask: int) -> Iterator[int]:
    """Positions of the ones of a bitmask, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def mass_of(weights: Sequence[int], mask: int) -> int:
    """Total weight of the members of a bitmask."""
    return sum(weights[v] for v in members(mask))


def masses_of(weights: Sequence[int], classes: Iterable[int]) -> list[int]:
    """Total weight of each class."""
    return [mass_of(weights, mask) for mask in classes]


def purer(first: Sequence[int], second: Sequence[int]) -> bool:
    """Whether masses `first` have strictly less entropy than `second` of equal total: more sum of m·log2 m."""
    return sign([(m, m) for m in first] + [(-m, m) for m in second]) > 0


def components(conflicts: Sequence[int], rest: int, conflicting: bool) -> list[int]:
    """Connected components of the vertices in `rest`, joined by conflicts or by compatibility."""
    components = []
    while rest:
        component = frontier = rest & -rest
        rest ^= frontier
        while frontier:
            v = frontier.bit_length() - 1
            reached = rest & (conflicts[v] if conflicting else ~conflicts[v])
            rest ^= reached
            component |= reached
            frontier = frontier ^ 1 << v | reached
        components.append(component)
    return components


def insert(
    classes: Sequence[int], vertices: Iterable[int], weights: Sequence[int], conflicts: Sequence[int]
) -> tuple[int, ...]:
    """Put each vertex into the heaviest class that takes it, or into a class of its own."""
    entries = [(mass_of(weights, mask), mask) for mask in classes]
    for v in vertices:
        mass, mask = max((entry for entry in entries if not entry[1] & conflicts[v]), default=(0, 0))
        if mask:
            entries.remove((mass, mask))
        entries.append((mass + weights[v], mask | 1 << v))
    return tuple(mask for _, mask in entries)


def recombined(
    classes: tuple[int, ...], weights: Sequence[int], conflicts: Sequence[int], deadline: float
) -> tuple[int, ...]:
    """Local optimum: no two classes lose entropy by exchanging parts along their conflict components (Kempe chains)."""
    entries = [(mass_of(weights, mask), mask) for mask in classes]
    improved = True
    while improved and time.monotonic() < deadline:
        improved = False
        for one, two in combinations(range(len(entries)), 2):
            if time.monotonic() > deadline:
                break
            (mass_one, mask_one), (mass_two, mask_two) = entries[one], entries[two]
            heavy = 0
            for chain in components(conflicts, mask_one | mask_two, conflicting=True):
                sides = chain & mask_one, chain & mask_two
                heavy |= max(sides, key=lambda side: mass_of(weights, side))
            mass = mass_of(weights, heavy)
            if mass > max(mass_one, mass_two):
                entries[one], entries[two] = (mass, heavy), (mass_one + mass_two - mass, (mask_one | mask_two) ^ heavy)
                improved = True
    return tuple(mask for _, mask in entries if mask)


def polished(
    classes: tuple[int, ...], weights: Sequence[int], conflicts: Sequence[int], deadline: float, seed: int = 0
) -> tuple[int, ...]:
    """Iterated local search: take out half of the vertices, put them back in random order, recombine."""
    rng = random.Random(seed)
    masses = masses_of(weights, classes)
    for _ in range(_POLISHING_ROUNDS):
        if time.monotonic() > deadline:
            break
        moved = rng.sample(range(len(weights)), (len(weights) + 1) // 2)
        kept = ~sum(1 << v for v in moved)
        trial = insert([mask & kept for mask in classes if mask & kept], moved, weights, conflicts)
        trial = recombined(trial, weights, conflicts, deadline)
        trial_masses = masses_of(weights, trial)
        if not purer(masses, trial_masses):
            classes, masses = trial, trial_masses
    return classes


@dataclass(frozen=True)
class Family:
    """Every non-empty compatible set of a component, its share of the component's mass and its cost in bits."""

    weights: tuple[int, ...]
    masks: Masks
    share: Floats
    cost: Floats

    @classmethod
    def of(cls, weights: tuple[int, ...], masks: Masks) -> "Family":
        """Shares and costs of the given sets."""
        total = sum(weights)
        share = np.maximum(_sums(masks, np.array([w / total for w in weights])), 1e-300)  # underflow costs nothing
        return cls(weights, masks, share, -share * np.log2(share))

    def slack(self, prices: Floats) -> Floats:
        """cost(S) - y(S) of every set."""
        return self.cost - _sums(self.masks, prices)


def compatible_sets(weights: tuple[int, ...], conflicts: tuple[int, ...], limit: int) -> Family | None:
    """All compatible sets, or None where the component is too wide or they are more than `limit`."""
    if len(weights) > WIDEST:
        return None
    masks = np.zeros(1, np.uint64)
    for v, enemies in enumerate(conflicts):
        joinable = masks[(masks & np.uint64(enemies)) == 0]
        if len(masks) + len(joinable) > limit + 1:
            return None
        masks = np.concatenate([masks, joinable | np.uint64(1 << v)])
    return Family.of(weights, masks[1:])


def _sums(masks: Masks, values: Floats) -> Floats:
    """Sum of the values over the members of each mask, by one look-up table per 16 vertices."""
    digits = np.ascontiguousarray(masks, dtype="<u8").view("<u2").reshape(-1, 4)
    result = np.zeros(len(masks))
    for digit in range((len(values) + 15) // 16):
        table = np.zeros(1)
        for value in values[16 * digit : 16 * digit + 16]:
            table = np.concatenate([table, table + value])
        result += table[digits[:, digit]]
    return result


def _incidence(masks: Masks, width: int) -> NDArray[np.bool_]:
    """Row per set, column per vertex."""
    octets = np.ascontiguousarray(masks, dtype="<u8").view(np.uint8).reshape(-1, 8)
    return np.unpackbits(octets, axis=1, count=width, bitorder="little").view(np.bool_)


def safe_prices(family: Family, start: Sequence[int], deadline: float) -> Floats:
    """Nearly best prices, on the grid, that no set of the family violates: y(S) <= cost(S) holds rigorously.

    `start` are the classes of a good partition. Stopping early at the deadline costs sharpness, never validity.
    """
    prices = _best_prices(family, start, deadline)
    slack = family.slack(prices)
    by_mass, by_count = float(np.max(-slack / family.share)), len(prices) * float(np.max(-slack))
    if 0 < by_mass < by_count:  # lowering each price in proportion to its mass repairs every set at once
        total = sum(family.weights)
        prices = prices - by_mass * np.array([w / total for w in family.weights])
    prices = np.floor(prices * PRICE_GRID) / PRICE_GRID
    shortfall = SLACK_ERROR - float(family.slack(prices).min())
    return prices - max(0.0, np.ceil(shortfall * PRICE_GRID) / PRICE_GRID)


def _best_prices(family: Family, start: Sequence[int], deadline: float) -> Floats:
    """Duals of the set-partition programme by column generation over the explicit family."""
    width = len(family.weights)
    chosen = np.array([1 << v for v in range(width)] + list(start), dtype=np.uint64)
    columns, cost = _incidence(chosen, width).T.astype(float), Family.of(family.weights, chosen).cost
    # right-hand sides slightly above one and all different keep the degenerate simplex method from cycling
    supply = 1 + 1e-6 * np.random.default_rng(0).random(width)
    basis = np.arange(width)
    while True:
        prices = _simplex(columns, cost, basis, supply)
        slack = family.slack(prices)
        count = min(_COLUMNS_PER_ROUND, len(slack))
        best = np.argpartition(slack, count - 1)[:count]
        best = best[slack[best] < -_OPTIMAL]
        if not len(best) or time.monotonic() > deadline:
            return prices
        columns = np.concatenate([columns, _incidence(family.masks[best], width).T.astype(float)], axis=1)
        cost = np.concatenate([cost, family.cost[best]])


def _simplex(columns: Floats, cost: Floats, basis: NDArray[np.int64], supply: Floats) -> Floats:
    """Duals of min cost·x, columns·x = supply, x >= 0 by the revised simplex method; updates the feasible `basis`."""
    inverse = np.linalg.inv(columns[:, basis])
    duals = cost[basis] @ inverse
    for step in range(1, 50 * len(basis) + 1):
        reduced = cost - duals @ columns
        enter = int(reduced.argmin())
        if reduced[enter] > -_OPTIMAL / 2:
            break
        direction, level = inverse @ columns[:, enter], inverse @ supply
        ratio = np.full(len(basis), np.inf)
        np.divide(level, direction, out=ratio, where=direction > 1e-7)
        leave = int(ratio.argmin())
        if np.isinf(ratio[leave]):  # only rounding errors can make the programme look unbounded
            break
        basis[leave] = enter
        if step % 40 == 0:
            inverse = np.linalg.inv(columns[:, basis])
        else:
            pivot_row = inverse[leave] / direction[leave]
            inverse -= np.outer(direction, pivot_row)
            inverse[leave] = pivot_row
        duals = cost[basis] @ inverse
    return np.asarray(duals, np.float64)


def excess(masses: Sequence[int], prices: Floats) -> float:
    """Total slack, rounded up, of a partition with these masses."""
    total = sum(masses)
    shares = np.array([max(m / total, 1e-300) for m in masses])
    return float(-(shares * np.log2(shares)).sum() - prices.sum()) + REACH_ERROR


class LimitReached(Exception):
    """The search ran out of nodes or time."""


class CoverSearch:
    """Search for partitions better than `best`, by total slack over safe prices.

    `searched` is a total slack (in bits) below which there is no partition better than `best`: the entropy of every
    partition is at least y(V) + searched, or it is that of `best`. `complete` says that `best` is proved optimal.
    """

    def __init__(self, family: Family, prices: Floats, best: tuple[int, ...], deadline: float) -> None:
        self.family, self.prices, self.best, self.deadline = family, prices, best, deadline
        self.searched, self.complete, self.reach, self.nodes = 0.0, False, _FIRST_REACH, 0
        slack = family.slack(prices)
        self.masses = masses_of(family.weights, best)
        order = np.flatnonzero(slack <= excess(self.masses, prices))
        order = order[np.argsort(slack[order], kind="stable")]
        self.masks, self.slack, self.share = family.masks[order], slack[order], family.share[order]
        self.ceiling = self._ceiling()

    def run(self, nodes: int) -> None:
        """Deepen the reach until nothing better than the best partition can be left, or a limit is met."""
        self.nodes = nodes
        try:
            while not self.complete:
                count = int(np.searchsorted(self.slack, min(self.reach, self.ceiling), side="right"))
                self.incidence = _incidence(self.masks[:count], len(self.family.weights))
                self._descend((1 << len(self.family.weights)) - 1, np.arange(count), 0.0, [])
                self.searched = max(0.0, math.floor((self.reach - REACH_ERROR) * PRICE_GRID) / PRICE_GRID)
                self.complete = self.reach >= self.ceiling
                self.reach *= _REACH_GROWTH
        except LimitReached:
            return

    def offer(self, cover: tuple[int, ...]) -> None:
        """Keep a cover that is strictly better, decided exactly."""
        masses = masses_of(self.family.weights, cover)
        if purer(masses, self.masses):
            self.best, self.masses = cover, masses
            self.ceiling = self._ceiling()

    def _descend(self, uncovered: int, usable: NDArray[np.int64], spent: float, chosen: list[int]) -> None:
        """Cover the uncovered vertex that has the fewest usable sets; these are disjoint from `chosen`."""
        if not uncovered:
            self.offer(tuple(chosen))
            return
        self.nodes -= 1
        if self.nodes < 0 or (self.nodes % 64 == 0 and time.monotonic() > self.deadline):
            raise LimitReached
        incidence = self.incidence[usable]
        counts = np.count_nonzero(incidence, axis=0)
        vertex = min(members(uncovered), key=counts.__getitem__)
        for choice in usable[incidence[:, vertex]]:
            left = min(self.reach, self.ceiling) - spent - self.slack[choice]
            if left < 0:
                return
            fitting = usable[: np.searchsorted(self.slack[usable], left, side="right")]
            fitting = fitting[(self.masks[fitting] & self.masks[choice]) == 0]
            mask = int(self.masks[choice])
            self._descend(uncovered & ~mask, fitting, spent + float(self.slack[choice]), [*chosen, mask])

    def _ceiling(self) -> float:
        """A total slack that every partition strictly better than the best one stays within."""
        reach = excess(self.masses, self.prices)
        effort = min(_FILLING_EFFORT, 4 * len(self.masks))  # no more than what the search itself may cost
        fillings = _fillings(self._mass_options(reach), self.masses, reach, len(self.prices), effort)
        if fillings is None:
            return reach
        return max((excess(f, self.prices) for f in fillings if purer(f, self.masses)), default=-1.0)

    def _mass_options(self, reach: float) -> list[tuple[int, float]]:
        """The distinct masses of sets within `reach`, each with its least slack; empty where they are too many."""
        total = sum(self.masses)
        masses = np.rint(self.share[self.slack <= reach] * total)
        if total >= 2**46 or len(np.unique(masses[:4096])) > _MASS_OPTIONS:  # a look at some spares sorting millions
            return []
        distinct, cheapest = np.unique(masses, return_index=True)
        if len(distinct) > _MASS_OPTIONS:
            return []
        return [(int(m), float(s)) for m, s in zip(distinct, self.slack[cheapest], strict=True)][::-1]


def _fillings(
    options: Sequence[tuple[int, float]], masses: Sequence[int], reach: float, parts: int, effort: int
) -> list[list[int]] | None:
    """Multisets of masses that a partition purer than `masses` and within `reach` may have; None if they take too long.

    With few distinct masses (equal weights, say) few entropies are possible at all: many ties, but wide steps.
    """
    if not options:
        return None
    total = sum(masses)
    fillings: list[list[int]] = []

    def bits(mass: int, each: int) -> float:
        return mass / total * math.log2(total / each)

    def fill(first: int, chosen: list[int], left: float, room: float) -> None:
        nonlocal effort
        effort -= 1
        rest = total - sum(chosen)
        if not rest:
            fillings.append(chosen)
        for k in range(first, len(options) if effort > 0 and len(chosen) < parts else 0):
            mass, cheapest = options[k]
            if bits(rest, mass) > room:  # all that follows is in parts no heavier than this one
                return
            if mass <= rest and cheapest <= left:
                fill(k, [*chosen, mass], left - cheapest, room - bits(mass, mass))

    fill(0, [], reach, sum(bits(mass, mass) for mass in masses) + REACH_ERROR)
    return fillings if effort > 0 else None
