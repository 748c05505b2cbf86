"""The rate–distortion side of one step: what a memory of given rate can reproduce, in total variation.

Distortion is E[δ(π_E(·|S), q(·|O,C))] with δ total variation; rate is I(C;H|O), and H(C|O) for a deterministic code.
Encoder and decoder both see the observation O. Exact distortions are rational; rates are floats in bits.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import fsum, lcm, log2

import numpy as np

from certify.core.exact import Ints, Masses, as_masses, conditional_entropy, group_sums, representatives
from certify.core.graph import Graph
from reproduction.distortion.blahut import Array, CurvePoint, Law, distortion_matrix, minimise, total_variation

FIBER_LIMIT = 10
POINT_LIMIT = 20_000
_RATE_TIE = 1e-12
_RATE_GAP = 1e-12
_CHORDS = 200

Letter = tuple[int, Law]
_Cost = tuple[int | Fraction, float]  # distortion and bits


@dataclass(frozen=True)
class Source:
    """Letters with mass and expert law, grouped by observation fiber.

    Masses are positive integers on one scale for all fibers: P(o) is the fiber's share of the total.
    """

    fibers: tuple[tuple[Letter, ...], ...]

    def __post_init__(self) -> None:
        if not self.fibers:
            raise ValueError("fibers: a source needs at least one")
        for f, fiber in enumerate(self.fibers):
            if not fiber:
                raise ValueError(f"fibers[{f}]: a fiber needs at least one letter")
            for g, (mass, law) in enumerate(fiber):
                if not isinstance(mass, int) or mass <= 0:
                    raise ValueError(f"fibers[{f}][{g}]: mass {mass!r} is not a positive integer")
                if sum(law.values()) != 1 or min(law.values()) <= 0:
                    raise ValueError(f"fibers[{f}][{g}]: law is not a distribution with positive entries")

    @staticmethod
    def of_histories(graph: Graph, t: int) -> "Source":
        """The nodes of step t, counted from 0, with their laws P(A_t | H_t)."""
        return _source(graph, t, np.arange(graph.levels[t].size), graph.levels[t].mass)

    @staticmethod
    def of_classes(graph: Graph, t: int) -> "Source":
        """The behavioural classes G_t of step t, counted from 0: histories of one observation grouped by law."""
        level = graph.levels[t]
        group, groups = level.group
        return _source(graph, t, representatives(group, groups), group_sums(group, level.mass, groups))

    @property
    def total(self) -> int:
        return sum(mass for fiber in self.fibers for mass, _ in fiber)

    def reduced(self) -> "Source":
        """The source of behavioural classes G: letters of one fiber with equal law become one letter."""
        return Source(tuple(_merge(fiber) for fiber in self.fibers))

    def entropy(self) -> float:
        """H(letter|O) in bits; on the reduced source, H(G|O)."""
        parts = [mass for fiber in self.fibers for mass, _ in fiber]
        wholes = [whole for fiber in self.fibers for whole in [sum(mass for mass, _ in fiber)] * len(fiber)]
        return conditional_entropy(as_masses(parts), as_masses(wholes), sum(parts))


@dataclass(frozen=True)
class Point:
    """A deterministic code's rate H(C|O) in bits and exact distortion."""

    rate: float
    distortion: Fraction


@dataclass(frozen=True)
class _Fiber:
    probability: float
    masses: Array
    distortions: Array


def _source(graph: Graph, t: int, nodes: Ints, masses: Masses) -> Source:
    """One letter for each of these nodes of step t, in fibers by observation."""
    level, fibers = graph.levels[t], {}
    for node, mass in zip(nodes.tolist(), masses, strict=True):
        law = {graph.actions[action]: p for action, p in graph.laws[level.law[node]]}
        fibers.setdefault(int(level.observation[node]), []).append((int(mass), law))
    return Source(tuple(map(tuple, fibers.values())))


def _merge(fiber: Iterable[Letter]) -> tuple[Letter, ...]:
    merged: dict[frozenset[tuple[str, Fraction]], int] = {}
    for mass, law in fiber:
        key = frozenset(law.items())
        merged[key] = merged.get(key, 0) + mass
    return tuple((mass, dict(sorted(key))) for key, mass in merged.items())


def best_decoder(letters: Iterable[Letter]) -> tuple[dict[str, Fraction], Fraction]:
    """The law q of least mean total variation from weighted laws, and that mean; both exact.

    Start every action at its least probability and pour the missing mass into the cheapest slopes between breakpoints:
    the cost is separable and convex, so the greedy choice is optimal. Ties go to the first action in order.
    """
    letters = list(letters)
    decoder: dict[str, Fraction] = {}
    segments: list[tuple[int, str, Fraction]] = []
    for action in sorted({action for _, law in letters for action in law}):
        weighted = sorted((law.get(action, Fraction(0)), mass) for mass, law in letters)
        decoder[action] = weighted[0][0]
        below = 0  # the slope beyond a breakpoint grows with the mass at or below it
        for (value, mass), (following, _) in pairwise(weighted):
            below += mass
            segments.append((below, action, following - value))
    missing = 1 - sum(decoder.values())
    for _, action, length in sorted(segments, key=lambda segment: segment[:2]):
        poured = min(length, missing)
        decoder[action] += poured
        missing -= poured
    decoder = {action: p for action, p in decoder.items() if p}
    cost = sum((mass * total_variation(law, decoder) for mass, law in letters), Fraction(0))
    return decoder, cost / sum(mass for mass, _ in letters)


def closed_form(classes: int, distortion: float | Fraction) -> float:
    """R(D) of uniform classes with distinct certain actions: log₂R − h₂(D) − D·log₂(R−1) up to 1 − 1/R, then 0."""
    if classes < 1 or not distortion >= 0:
        raise ValueError(f"closed_form needs classes ≥ 1 and distortion ≥ 0, got {classes} and {distortion}")
    if distortion >= 1 - Fraction(1, classes):
        return 0.0
    d = float(distortion)
    binary_entropy = -d * log2(d) - (1 - d) * log2(1 - d) if d > 0 else 0.0
    return max(0.0, log2(classes) - binary_entropy - d * log2(classes - 1))


def largest_distortion(source: Source) -> Fraction:
    """D_max: the least distortion of a code that stores nothing."""
    costs = ((sum(mass for mass, _ in fiber), best_decoder(fiber)[1]) for fiber in source.fibers)
    return sum((mass * cost for mass, cost in costs), Fraction(0)) / source.total


def blahut_arimoto(source: Source, slope: float) -> CurvePoint:
    """A point of R_{G|O} that minimises rate + slope·distortion (bits); fibers share the slope, as is optimal.

    Where the curve has a straight piece of this slope, any point of the piece may be returned.
    """
    if not 0 <= slope < float("inf"):
        raise ValueError(f"slope {slope} is not a finite number ≥ 0")
    return _tangent(_prepare(source), slope)


def rate(source: Source, distortion: float | Fraction) -> float:
    """R_{G|O}(D) in bits; an ArithmeticError when the two-sided bound does not close to 1e-12."""
    lower, upper = rate_bounds(source, distortion)
    if upper - lower > _RATE_GAP:
        raise ArithmeticError(f"rate at distortion {distortion} is only known within [{lower!r}, {upper!r}]")
    return upper


def rate_bounds(source: Source, distortion: float | Fraction) -> tuple[float, float]:
    """Lower and upper bounds on R_{G|O}(D) in floating point: the best tangent, and the chord of two attained points.

    R is convex, so the chord's own slope gives the next tangent; its point of contact replaces one end of the chord. A
    straight piece of the curve ends the search at once, since there chord and tangent are the same line.
    """
    if not distortion >= 0:
        raise ValueError(f"distortion {distortion} is not a number ≥ 0")
    ceiling, lossless = largest_distortion(source), source.reduced().entropy()
    if distortion >= ceiling:
        return 0.0, 0.0
    if distortion == 0:
        return lossless, lossless
    fibers, goal = _prepare(source), float(distortion)
    left, right = CurvePoint(lossless, 0.0, 0.0), CurvePoint(0.0, float(ceiling), 0.0)
    lower, upper = 0.0, lossless
    for _ in range(_CHORDS):
        slope = max(left.rate - right.rate, 0.0) / (right.distortion - left.distortion)
        upper = min(upper, left.rate - slope * (goal - left.distortion))
        contact = _tangent(fibers, slope)
        lower = max(lower, contact.rate + slope * (contact.distortion - goal) - contact.gap)
        if upper - lower <= _RATE_GAP / 100 or not left.distortion < contact.distortion < right.distortion:
            break
        left, right = (contact, right) if contact.distortion <= goal else (left, contact)
    return min(lower, upper), upper


def _prepare(source: Source) -> list[_Fiber]:
    """Fibers as arrays; a fiber with one law costs nothing and is left out."""
    fibers = []
    for fiber in source.fibers:
        mass = sum(m for m, _ in fiber)
        if len(_merge(fiber)) > 1:
            distortions = distortion_matrix([law for _, law in fiber])
            fibers.append(_Fiber(mass / source.total, np.array([m / mass for m, _ in fiber]), distortions))
    return fibers


def _tangent(fibers: Sequence[_Fiber], slope: float) -> CurvePoint:
    points = [(fiber.probability, minimise(fiber.masses, fiber.distortions, slope)) for fiber in fibers]
    return CurvePoint(
        fsum(p * point.rate for p, point in points),
        fsum(p * point.distortion for p, point in points),
        fsum(p * point.gap for p, point in points),
    )


def deterministic_frontier(source: Source) -> tuple[Point, ...]:
    """Pareto points of deterministic codes C = f(letter, O), by falling rate; rates closer than 1e-12 count as equal.

    On the reduced source this is R^det_{G|O}; on the history source, R^det_E. All codes are covered; the limits are
    `FIBER_LIMIT` letters in a fiber and `POINT_LIMIT` Pareto points.
    """
    frontier: list[_Cost] = [(Fraction(0), 0.0)]
    for index, fiber in enumerate(source.fibers):
        if len(fiber) > FIBER_LIMIT:
            raise ValueError(f"fibers[{index}]: {len(fiber)} letters, more than {FIBER_LIMIT}, have too many codes")
        frontier = _pareto(_sums(frontier, _fiber_frontier(fiber, source.total)))
        if len(frontier) > POINT_LIMIT:
            raise ValueError(f"fibers[{index}]: more than {POINT_LIMIT} Pareto points")
    return tuple(Point(bits, Fraction(loss)) for loss, bits in frontier)


def _fiber_frontier(fiber: Sequence[Letter], total: int) -> list[_Cost]:
    """Pareto points of all partitions of one fiber; both costs add over blocks, so a program over subsets suffices."""
    whole = sum(mass for mass, _ in fiber)
    subsets = range(1, 1 << len(fiber))
    chosen = {subset: [letter for bit, letter in enumerate(fiber) if subset >> bit & 1] for subset in subsets}
    masses = {subset: sum(mass for mass, _ in letters) for subset, letters in chosen.items()}
    exact = {subset: masses[subset] * best_decoder(letters)[1] for subset, letters in chosen.items()}
    unit = lcm(*(loss.denominator for loss in exact.values()))
    losses = {subset: int(loss * unit) for subset, loss in exact.items()}  # integers add and compare faster
    bits = {subset: mass / total * log2(whole / mass) for subset, mass in masses.items()}
    frontiers: dict[int, list[_Cost]] = {0: [(0, 0.0)]}
    for subset in subsets:
        candidates: list[_Cost] = []
        block = subset
        while block:
            if block & subset & -subset:  # the block of the lowest letter, so that each partition is met once
                candidates += _sums(frontiers[subset ^ block], [(losses[block], bits[block])])
            block = (block - 1) & subset
        frontiers[subset] = _pareto(candidates)
    return [(Fraction(loss) / (unit * total), cost) for loss, cost in frontiers[subsets[-1]]]


def _sums(left: Sequence[_Cost], right: Sequence[_Cost]) -> list[_Cost]:
    return [(loss + more, bits + extra) for loss, bits in left for more, extra in right]


def _pareto(costs: Iterable[_Cost]) -> list[_Cost]:
    """By rising distortion, the costs that are cheaper in bits than everything before them."""
    kept: list[_Cost] = []
    for cost in sorted(costs):
        if not kept or cost[1] < kept[-1][1] - _RATE_TIE:
            kept.append(cost)
    return kept
