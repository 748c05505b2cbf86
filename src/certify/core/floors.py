"""The per-step floor R_t^mem(0): the minimum-entropy colouring of the incompatibility graphs of step t.

It is always attained by some realization of the whole horizon (docs/theory.md), so it is the exact minimum of the step.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from certify.core.colouring import Budget, fewest_colours, minimum_entropy
from certify.core.exact import Ints, Masses, fold, group_sums, pair, rank
from certify.core.graph import Graph, Level
from certify.core.logs import LogSum
from certify.core.rates import cell_masses, conditional_rate, most_in_a_fiber
from certify.core.relations import Matrix, Relation, blocks


@dataclass(frozen=True)
class Floor:
    """The least H(C_t | O_t) of one step: a proved bracket, and cells that attain its upper end."""

    lower: float
    upper: float
    proved: bool  # lower and upper are one number, by proof
    cells: Ints  # compatible cells, one label a node
    states: int | None  # largest chromatic number of a fiber
    method: str


def floors(graph: Graph, relations: list[Relation], strong: list[Ints], seconds: float = 60.0) -> list[Floor]:
    """The floor of every step."""
    budget = Budget(seconds)
    return [floor(*step, budget) for step in zip(graph.levels, relations, strong, strict=True)]


def floor(level: Level, relation: Relation, strong: Ints, budget: Budget | None = None) -> Floor:
    """The floor of one step."""
    if relation.transitive:
        rate = conditional_rate(level, relation.kind)
        return Floor(rate, rate, True, relation.kind, most_in_a_fiber(level, relation.kind), "classes")
    groups = len(relation.start)
    coarse = relation.kind.copy()
    inside = np.isin(relation.group[relation.kind], relation.loose)
    coarse[inside] = relation.start[relation.group[relation.kind[inside]]]
    base = conditional_rate(level, coarse)
    share = group_sums(relation.group[relation.kind], level.mass, groups)[relation.loose] / level.total
    colouring = _colour(level, relation, budget or Budget(60.0))
    lower = base + float(np.sum(share.astype(float) * colouring.lower))
    if not relation.decided:
        upper = conditional_rate(level, strong)
        return Floor(min(lower, upper), upper, False, strong, None, "bracket: more pairs than the limit")
    cells = colouring.label[relation.kind]
    upper = conditional_rate(level, cells)
    method = "colouring" if colouring.proved else "bracket: colouring stopped at its limit"
    states = _states(level, relation, colouring.colours)
    return Floor(upper if colouring.proved else min(lower, upper), upper, colouring.proved, cells, states, method)


@dataclass(frozen=True)
class _Coloured:
    """The best colourings of the loose groups."""

    label: Ints  # of each kind
    lower: NDArray[np.float64]  # proved bits within each loose group
    proved: bool
    colours: Ints | None  # fewest colours of each loose group, None if one is not known


def _colour(level: Level, relation: Relation, budget: Budget) -> _Coloured:
    """Colour one group of each pattern of masses and conflicts; groups of one pattern have the same answer."""
    masses = group_sums(relation.kind, level.mass, relation.kinds)
    pattern, patterns = _patterns(relation, masses)
    label = np.arange(relation.kinds)
    lower, colours = np.zeros(patterns), np.zeros(patterns, np.int64)
    proved = all_counted = True
    sizes = np.diff(np.r_[relation.start, relation.kinds])
    for k, groups in enumerate(blocks(pattern)):
        alike = relation.loose[groups]
        first, size = int(relation.start[alike[0]]), int(sizes[alike[0]])
        if budget.spent:  # every kind by itself is a valid cell, and nothing is proved
            proved = all_counted = False
            continue
        conflicts = bitmasks(relation.conflict_matrix(np.arange(first, first + size)))
        best = minimum_entropy([int(m) for m in masses[first : first + size]], conflicts, budget.limits())
        fewest = fewest_colours(conflicts, int(200_000 * budget.limits().seconds))
        lower[k], proved = best.lower.bits, proved and best.optimal
        colours[k], all_counted = len(fewest or ()), all_counted and fewest is not None
        for mask in best.classes:
            members = np.flatnonzero([mask >> v & 1 for v in range(size)])
            label[relation.start[alike][:, None] + members] = (relation.start[alike] + members[0])[:, None]
    return _Coloured(label, lower[pattern], proved, colours[pattern] if all_counted else None)


def _patterns(relation: Relation, masses: Masses) -> tuple[Ints, int]:
    """Loose groups by the masses and the conflicts of their kinds, in order."""
    position = np.full(len(relation.start), -1)
    position[relation.loose] = np.arange(len(relation.loose))
    kinds = np.flatnonzero(position[relation.group] >= 0)
    _, ranks = np.unique(masses[kinds], return_inverse=True)
    pattern, _ = fold(np.zeros(len(relation.loose), np.int64), position[relation.group[kinds]], ranks.astype(np.int64))
    first, second = relation.clash // relation.kinds, relation.clash % relation.kinds
    begin = relation.start[relation.group[first]]
    return fold(pattern, position[relation.group[first]], pair(first - begin, second - begin))


def bitmasks(matrix: Matrix) -> list[int]:
    """Rows of a Boolean matrix as integers, bit j of row i."""
    packed = np.packbits(matrix, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def exact_rate(level: Level, cells: Ints) -> LogSum:
    """H(cell | O_t) as an exact number."""
    masses, _ = cell_masses(level, cells)
    fiber, fibers = rank(level.observation)
    wholes = group_sums(fiber, level.mass, fibers)
    terms = [(Fraction(int(m), level.total), int(m)) for m in wholes]
    return LogSum.of([*terms, *((Fraction(-int(m), level.total), int(m)) for m in masses)])


def _states(level: Level, relation: Relation, colours: Ints | None) -> int | None:
    """Chromatic numbers add over the laws of one observation, since different laws always conflict."""
    if colours is None:
        return None
    count = np.diff(np.r_[relation.start, relation.kinds])
    count[relation.loose] = colours
    observation = np.empty(len(count), np.int64)
    observation[relation.group[relation.kind]] = level.observation
    return int(np.bincount(rank(observation)[0], weights=count).max())
