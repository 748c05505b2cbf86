"""The per-step floor R_t^mem(0): the minimum-entropy colouring of the incompatibility graphs of step t.

It is always attained by some realization of the whole horizon (docs/theory.md), so it is the exact minimum of the step.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from certify.colouring import Budget, Colouring, chromatic_number, minimum_entropy
from certify.exact import Ints, group_sums, rank
from certify.graph import Graph, Level
from certify.logs import LogSum
from certify.rates import cell_masses, conditional_rate, most_in_a_fiber
from certify.relations import Matrix, Relation


@dataclass(frozen=True)
class Floor:
    """The least H(C_t | O_t) of one step: a proved bracket, and cells that attain its upper end."""

    lower: float
    upper: float
    proved: bool  # lower and upper are one number, by proof
    cells: Ints  # compatible cells, one label a node
    states: int | None  # largest chromatic number of a fiber
    method: str
    colourings: dict[int, Colouring]  # of each (observation, law) group that has no classes


def floors(graph: Graph, relations: list[Relation], strong: list[Ints], seconds: float = 60.0) -> list[Floor]:
    """The floor of every step."""
    budget = Budget(seconds)
    return [floor(*step, budget) for step in zip(graph.levels, relations, strong, strict=True)]


def floor(level: Level, relation: Relation, strong: Ints, budget: Budget | None = None) -> Floor:
    """The floor of one step."""
    if relation.transitive:
        rate = conditional_rate(level, relation.kind)
        return Floor(rate, rate, True, relation.kind, most_in_a_fiber(level, relation.kind), "classes", {})
    budget = budget or Budget(60.0)
    colourings, cells = _colour(level, relation, budget)
    masses = _group_masses(level, relation)
    coarse = relation.kind.copy()
    inside = np.isin(relation.group[relation.kind], list(colourings))
    coarse[inside] = relation.start[relation.group[relation.kind[inside]]]
    base = conditional_rate(level, coarse)
    lower = base + sum(masses[g] / level.total * c.lower.bits for g, c in colourings.items())
    if not relation.decided:
        upper = conditional_rate(level, strong)
        return Floor(min(lower, upper), upper, False, strong, None, "bracket: more pairs than the limit", colourings)
    upper = conditional_rate(level, cells)
    proved = all(c.optimal for c in colourings.values())
    method = "colouring" if proved else "bracket: colouring stopped at its limit"
    states = _states(level, relation, budget)
    return Floor(upper if proved else min(lower, upper), upper, proved, cells, states, method, colourings)


def bitmasks(matrix: Matrix) -> list[int]:
    """Rows of a Boolean matrix as integers, bit j of row i."""
    packed = np.packbits(matrix, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def kind_masses(level: Level, relation: Relation) -> list[int]:
    """Mass of each kind, as Python integers."""
    return [int(mass) for mass in group_sums(relation.kind, level.mass, relation.kinds)]


def exact_rate(level: Level, cells: Ints) -> LogSum:
    """H(cell | O_t) as an exact number."""
    masses, _ = cell_masses(level, cells)
    fiber, fibers = rank(level.observation)
    wholes = group_sums(fiber, level.mass, fibers)
    terms = [(Fraction(int(m), level.total), int(m)) for m in wholes]
    return LogSum.of([*terms, *((Fraction(-int(m), level.total), int(m)) for m in masses)])


def _group_masses(level: Level, relation: Relation) -> list[int]:
    groups = int(relation.group.max()) + 1
    return [int(mass) for mass in group_sums(relation.group[relation.kind], level.mass, groups)]


def _colour(level: Level, relation: Relation, budget: Budget) -> tuple[dict[int, Colouring], Ints]:
    masses = kind_masses(level, relation)
    label = np.arange(relation.kinds)
    colourings: dict[int, Colouring] = {}
    for g, matrix in relation.conflicts.items():
        first = int(relation.start[g])
        found = minimum_entropy(masses[first : first + len(matrix)], bitmasks(matrix), budget.limits())
        for mask in found.classes:
            inside = [first + k for k in range(len(matrix)) if mask >> k & 1]
            label[inside] = inside[0]
        colourings[g] = found
    return colourings, label[relation.kind]


def _states(level: Level, relation: Relation, budget: Budget) -> int | None:
    """Chromatic numbers add over the laws of one observation, since different laws always conflict."""
    groups = int(relation.group.max()) + 1
    count = np.bincount(relation.group, minlength=groups)
    for g, matrix in relation.conflicts.items():
        colours = chromatic_number(bitmasks(matrix), int(200_000 * budget.limits().seconds))
        if colours is None:
            return None
        count[g] = colours
    observation = np.empty(groups, np.int64)
    observation[relation.group[relation.kind]] = level.observation
    return int(np.bincount(rank(observation)[0], weights=count).max())
