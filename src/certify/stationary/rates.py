"""The bits of a memory in the long run: without a clock, with one, discounted, and step by step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from certify.core.colouring import Colouring, Limits, minimum_entropy
from certify.core.exact import Ints, common_denominator
from certify.core.floors import bitmasks
from certify.core.logs import LogSum
from certify.stationary.chain import MOST_WORK, Chain, lump, pairs_chain, period, recurrent_classes
from certify.stationary.enclosure import WIDEST, enclosed_masses
from certify.stationary.longrun import LongRun, conditional_bits, discounted, long_run, masses
from certify.stationary.merging import merged
from certify.stationary.observer import Observer
from certify.stationary.process import Process
from certify.stationary.relation import Relation

_MOST_CLOCKED = 4_000  # states of the chain beside its clock
_MOST_PAIRS_TRIED = 40_000  # pairs of strong classes that are offered to the merger


@dataclass(frozen=True)
class Bits:
    """A number of bits, or the bracket in which it lies."""

    lower: LogSum
    upper: LogSum

    @property
    def exact(self) -> bool:
        return self.lower == self.upper

    @property
    def proved(self) -> bool:
        """Exact, or in a proved interval that is narrower than anybody prints."""
        return self.exact or self.upper.bits - self.lower.bits <= WIDEST

    @property
    def bits(self) -> float | None:
        return self.upper.bits if self.proved else None


@dataclass(frozen=True)
class RecurrentBits:
    """One recurrent class: how likely it is entered, its period, and the bits within it."""

    weight: Fraction
    period: int
    states: int
    bits: Bits


@dataclass(frozen=True)
class Rates:
    """Bits required in the long run (`mean`), with a clock given for nothing, discounted, and at each step."""

    mean: Bits
    clock: Bits | None  # None where the chain beside its clock is too large
    discounted: Bits | None
    profile: tuple[Bits, ...]  # t = 1, 2, …
    period: int
    recurrent: tuple[RecurrentBits, ...]
    chain: int  # states of the lumped chain
    cells: Ints  # of each strong class: its code in the machine of the upper end


class _Pricing:
    """Bits of any law over strong classes: of the best memory for one step, and of one machine for all of them."""

    def __init__(self, relation: Relation, seconds: float) -> None:
        self.relation, self.seconds = relation, seconds
        self.observer = relation.observer

    def floor(self, mass: dict[int, Fraction]) -> Bits:
        """Σ_o P(o)·H_χ(o): the least entropy of a partition into compatible sets."""
        if self.relation.transitive or not self.relation.small:
            low = self._entropy(mass, self.relation.classes)
            return Bits(low, low if self.relation.transitive else self._entropy(mass, np.arange(self.observer.size)))
        low = high = LogSum()
        for members in _fibers(mass, self.observer.observation):
            share = sum((mass[s] for s in members), Fraction(0))
            best = _colouring(self.relation, mass, members, self.seconds)
            low, high = low + best.lower * share, high + best.upper * share
        return Bits(low, high)

    def machine(self, mass: dict[int, Fraction], cells: Ints) -> Bits:
        """Between the floor and the closed partition `cells`, which one machine can keep for ever."""
        return Bits(self.floor(mass).lower, self._entropy(mass, cells))

    def _entropy(self, mass: dict[int, Fraction], cells: Ints) -> LogSum:
        return conditional_bits(*_regrouped(mass, cells, self.observer.observation))


def _colouring(relation: Relation, mass: dict[int, Fraction], members: list[int], seconds: float) -> Colouring:
    conflicts = bitmasks(relation.conflicts[np.ix_(members, members)])
    weights, _ = common_denominator([mass[s] for s in members])
    return minimum_entropy(weights, conflicts, Limits(seconds=seconds))


def rates_chain(process: Process, relation: Relation) -> Chain:
    """The chain whose long run has the bits: of the classes of ~, or of the strong classes where it has none."""
    return class_chain(process, relation.observer, _memory(relation))


def stationary_rates(
    process: Process,
    relation: Relation,
    chain: Chain,
    steps: int = 12,
    gamma: Fraction | None = None,
    seconds: float = 2.0,
    most: int = MOST_WORK,
) -> Rates:
    """All four kinds of bits of a process, its compatibility and its chain; raises `TooMuchWork` if too costly."""
    memory = _memory(relation)
    run = long_run(chain, most)
    pricing = _Pricing(relation, seconds)
    inside = _representatives(relation, memory)
    mass = _named(masses(run.mean, chain.label), inside)
    cells = relation.classes if relation.transitive else _best_cells(relation, mass)
    clock = _with_clock(chain, run, pricing, inside)
    soon = None if gamma is None else _named(masses(discounted(chain, gamma), chain.label), inside)
    return Rates(
        pricing.machine(mass, cells),
        clock,
        None if soon is None else pricing.machine(soon, cells),
        tuple(_profile(class_chain(process, relation.observer, memory, restart=False), pricing, inside, steps)),
        run.period,
        tuple(_recurrent(run, pricing, inside, cells)),
        chain.size,
        cells,
    )


def enclosed_rates(relation: Relation, chain: Chain, seconds: float = 2.0) -> Rates | None:
    """The bits of the long run with narrow intervals for its law; None where these are not found."""
    inside = _representatives(relation, _memory(relation))
    enclosed = enclosed_masses(chain, [int(relation.observer.observation[s]) for s in inside])
    if enclosed is None:
        return None
    mass, slack = _named(enclosed[0], inside), LogSum.rational(enclosed[1])
    cells = relation.classes if relation.transitive else _best_cells(relation, mass)
    value = _Pricing(relation, seconds).machine(mass, cells)
    beat = math.lcm(*(period(chain.rows, members) for members in recurrent_classes(chain.rows)))
    lower = max(LogSum(), value.lower - slack)
    return Rates(Bits(lower, value.upper + slack), None, None, (), beat, (), chain.size, cells)


def class_chain(process: Process, observer: Observer, memory: Ints, restart: bool = True) -> Chain:
    """The lumped chain of (hidden state, memory), for a memory that is a function of the observer's node."""
    label = memory.tolist()
    first = {o: label[node] for o, node in observer.first.items()}
    edges = zip(observer.source.tolist(), observer.label.tolist(), observer.target.tolist(), strict=True)
    moves = {(label[source], word): label[target] for source, word, target in edges}
    return lump(pairs_chain(process, first, moves, restart).chain)


def _memory(relation: Relation) -> Ints:
    return relation.classes if relation.transitive else np.arange(relation.observer.size)


def _representatives(relation: Relation, memory: Ints) -> list[int]:
    """One strong class for each memory state: masses are charged to it."""
    node = np.zeros(int(memory.max()) + 1, np.int64)
    node[memory[::-1]] = np.arange(relation.observer.size - 1, -1, -1)
    return node.tolist()


def _named(mass: dict[int, Fraction], inside: list[int]) -> dict[int, Fraction]:
    return {inside[label]: p for label, p in mass.items()}


def _regrouped(mass: dict[int, Fraction], cells: Ints, observation: Ints) -> tuple[dict[int, Fraction], dict[int, int]]:
    """Masses by cell, and the observation of each cell; a cell is a code under one observation."""
    result: dict[int, Fraction] = {}
    fiber: dict[int, int] = {}
    width = int(observation.max()) + 1
    for s, p in mass.items():
        cell = int(cells[s]) * width + int(observation[s])
        result[cell] = result.get(cell, Fraction(0)) + p
        fiber[cell] = int(observation[s])
    return result, fiber


def _fibers(mass: dict[int, Fraction], observation: Ints) -> list[list[int]]:
    fibers: dict[int, list[int]] = {}
    for s in sorted(mass):
        fibers.setdefault(int(observation[s]), []).append(s)
    return [members for members in fibers.values() if len(members) > 1]


def _best_cells(relation: Relation, mass: dict[int, Fraction]) -> Ints:
    """The best closed partition found of strong classes into cells of one observation."""
    observer = relation.observer
    alone = np.arange(observer.size)
    if not relation.small:
        return alone
    matrix = relation.conflicts | (observer.observation[:, None] != observer.observation)
    pairs = np.argwhere(np.triu(~matrix, 1))
    weight = np.array([float(mass.get(s, 0)) for s in range(observer.size)])
    order = np.argsort(-(weight[pairs[:, 0]] * weight[pairs[:, 1]]), kind="stable")[:_MOST_PAIRS_TRIED]
    hints = _coloured_pairs(relation, mass)
    ranked = [(int(a), int(b)) for a, b in pairs[order]]
    candidates = [merged(observer, bitmasks(relation.conflicts), [*hint, *ranked]) for hint in ([], hints)]
    candidates.append(alone)
    return min(candidates, key=lambda cells: conditional_bits(*_regrouped(mass, cells, observer.observation)).bits)


def _coloured_pairs(relation: Relation, mass: dict[int, Fraction]) -> list[tuple[int, int]]:
    """Pairs that the least entropy of each observation would put together."""
    result: list[tuple[int, int]] = []
    for members in _fibers(mass, relation.observer.observation):
        for mask in _colouring(relation, mass, members, 1.0).classes:
            inside = [members[k] for k in range(len(members)) if mask >> k & 1]
            result += [(inside[0], other) for other in inside[1:]]
    return result


def _with_clock(chain: Chain, run: LongRun, pricing: _Pricing, inside: list[int]) -> Bits | None:
    """The mean over the phases of the floor; each floor is attained at its step, so this is exact."""
    d = run.period
    if d * chain.size > _MOST_CLOCKED:
        return None
    wide = run.mean if d == 1 else long_run(chain.clocked(d)).mean
    low = high = LogSum()
    for phase in range(d):
        law = [p * d for p in wide[phase * chain.size : (phase + 1) * chain.size]]
        floor = pricing.floor(_named(masses(law, chain.label), inside))
        low, high = low + floor.lower * Fraction(1, d), high + floor.upper * Fraction(1, d)
    return Bits(low, high)


def _profile(chain: Chain, pricing: _Pricing, inside: list[int], steps: int) -> list[Bits]:
    """What each of the first steps requires: the floor of its own law; episodes that ended hold nothing."""
    law, result = chain.start, []
    for _ in range(steps):
        result.append(pricing.floor(_named(masses(law, chain.label), inside)))
        law = chain.step(law)
    return result


def _recurrent(run: LongRun, pricing: _Pricing, inside: list[int], cells: Ints) -> list[RecurrentBits]:
    result: list[RecurrentBits] = []
    for part in run.recurrent:
        mass = _named(masses([part.law[i] for i in part.members], [run.chain.label[i] for i in part.members]), inside)
        result.append(RecurrentBits(part.weight, part.period, len(part.members), pricing.machine(mass, cells)))
    return result
