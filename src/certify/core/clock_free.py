"""Memory without a clock: the least bits of one update and one policy that are the same at every step.

A machine that does not know the step meets the histories of all steps alike. Its rate is H(C|O) at a step drawn evenly
from the horizon: waiting five steps before going costs nothing with a clock and log₂ 6 bits without. Two histories of
whatever steps conflict if a common continuation leads to two laws; colourings of these conflicts bound the rate from
below, and a partition closed under continuations is a machine. Where the best colouring is closed, it is exact.
"""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from certify.core.code_states import Quotient
from certify.core.colouring import Limits, minimum_entropy
from certify.core.exact import Ints, Masses, as_masses, group_sums, label_entropy, pair, rank, representatives
from certify.core.floors import bitmasks
from certify.core.graph import Graph
from certify.core.merger import Merger
from certify.core.relations import blocks

_STATES = 2_000  # strong classes of all steps together; beyond, only what needs no search


@dataclass(frozen=True)
class ClockFree:
    """The least H(C|O) of a stationary machine at a random step lies in [lower, upper]."""

    lower: float
    upper: float
    exact: bool
    labels: list[Ints]  # of each node of each level: a stationary machine of rate `upper`, labels within observations


def clock_free(
    graph: Graph, strong: list[Ints], cells: list[Ints], floors: Sequence[float], seconds: float = 5.0
) -> ClockFree:
    """The bracket; `floors` bound the rate of each step with a clock, and `cells` are a machine with one."""
    pool = _Pool(graph)
    lower = math.fsum(floors) / graph.horizon  # a clock does not add bits
    best = [cell * graph.horizon + t for t, cell in enumerate(cells)]  # the step itself as a part of the state
    upper = pool.rate(best)
    quotient = Quotient.of(graph, strong, _STATES)
    if quotient is None:
        return ClockFree(min(lower, upper), upper, lower == upper, best)
    deadline = time.monotonic() + seconds
    masses = group_sums(np.concatenate(quotient.state), pool.mass, quotient.size)
    (conflicts,) = quotient.conflicts(stationary=True)
    colour, bits, optimal = _colour(quotient.observation, masses, conflicts, seconds)
    lower = max(lower, bits)
    for labels in _machines(quotient, masses, bitmasks(conflicts), colour):
        rate = pool.rate([labels[states] for states in quotient.state])
        if rate < upper:
            best, upper = [labels[states] for states in quotient.state], rate
        if optimal and _same_masses(quotient.observation, masses, labels, colour):
            return ClockFree(rate, rate, True, [labels[states] for states in quotient.state])
        if time.monotonic() > deadline:
            break
    return ClockFree(min(lower, upper), upper, lower == upper, best)


class _Pool:
    """All histories of all steps, each step with the same weight."""

    def __init__(self, graph: Graph) -> None:
        scale = math.lcm(*(level.total for level in graph.levels))
        weights = [int(m) * (scale // level.total) for level in graph.levels for m in level.mass]
        self.mass: Masses = as_masses(weights)
        self.observation = np.concatenate([level.observation for level in graph.levels])

    def rate(self, labels: list[Ints]) -> float:
        """H(label | O) in bits."""
        return label_entropy(self.observation, np.concatenate(labels), self.mass)


def _colour(observation: Ints, masses: Masses, conflicts: np.ndarray, seconds: float) -> tuple[Ints, float, bool]:
    """The best colouring of the states of each observation, its proved bits, and whether it is the best there is."""
    colour = np.arange(len(observation))
    total, bits, optimal = float(masses.sum()), 0.0, True
    fibers = blocks(observation)
    for states in fibers:
        weights = [int(m) for m in masses[states]]
        limits = Limits(seconds=max(0.05, seconds / 2 / len(fibers)))
        colouring = minimum_entropy(weights, bitmasks(conflicts[np.ix_(states, states)]), limits)
        bits += sum(weights) / total * colouring.lower.bits
        optimal &= colouring.optimal
        for mask in colouring.classes:
            members = states[[mask >> k & 1 == 1 for k in range(len(states))]]
            colour[members] = members[0]
    return colour, bits, optimal


def _machines(quotient: Quotient, masses: Masses, enemies: list[int], colour: Ints) -> Iterator[Ints]:
    """Closed partitions: the colours as far as they go, and greedy ones from the likeliest and from the first state."""
    states = range(quotient.size)
    likely = sorted(states, key=lambda s: -int(masses[s]))
    for order, guided in ((likely, True), (likely, False), (states, False), (states[::-1], False)):
        merger = Merger(quotient.moves, enemies)
        for s in order if guided else ():
            merger.merge(int(colour[s]), s)
        leaders: dict[int, list[int]] = {}
        for s in order:
            merger.fit(s, leaders.setdefault(int(quotient.observation[s]), []))
        yield merger.labels()


def _same_masses(observation: Ints, masses: Masses, first: Ints, second: Ints) -> bool:
    """Whether two partitions have cells of the same masses under every observation, hence the same rate exactly."""
    profiles: list[list[tuple[int, int]]] = []
    for labels in (first, second):
        cell, count = rank(pair(observation, rank(labels)[0]))
        seen = observation[representatives(cell, count)].tolist()
        profiles.append(sorted(zip(seen, map(int, group_sums(cell, masses, count)), strict=True)))
    return profiles[0] == profiles[1]
