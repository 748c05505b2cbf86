"""Closed compatible assignments: one machine for all steps. Verify one, construct one, search for the best.

An assignment partitions the histories of every level into cells of pairwise compatible histories, such that the
histories of a cell that share a continuation are followed into one cell. A cell at one level therefore forces *units*
at the next: sets of histories that stay together. Any coarser partition into compatible cells may follow.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from certify.core.colouring import Budget, minimum_entropy
from certify.core.exact import Ints, pair, rank
from certify.core.graph import Graph
from certify.core.partition import members
from certify.core.relations import Relation

Cells = list[int]  # bitmasks over the nodes of one level
_MOST_VERTICES = 1_500  # of one conflict graph; a larger one is not worth its quadratic cost


@dataclass(frozen=True)
class Tree:
    """A history tree as bitmasks: who may share a cell with whom, and where each continuation leads."""

    mass: list[list[int]]
    total: list[int]
    observation: list[list[int]]
    friends: list[list[int]]  # per level and node: the nodes compatible with it, itself included
    children: list[list[dict[int, int]]]  # per level and node: continuation → node

    @staticmethod
    def of(graph: Graph, relations: list[Relation]) -> "Tree":
        mass = [[int(m) for m in level.mass] for level in graph.levels]
        observation = [level.observation.tolist() for level in graph.levels]
        children = [graph.children(t) for t in range(graph.horizon)]
        return Tree(
            mass, [level.total for level in graph.levels], observation, list(map(_friends, relations)), children
        )

    @property
    def horizon(self) -> int:
        return len(self.mass)

    def weight(self, t: int, mask: int) -> int:
        return sum(self.mass[t][node] for node in bits(mask))

    def forced(self, t: int, cells: Cells) -> Cells:
        """The units at level t + 1 that the cells of level t force to stay together."""
        units: Cells = []
        for cell in cells:
            together: dict[int, int] = {}
            for node in bits(cell):
                for word, child in self.children[t][node].items():
                    together[word] = together.get(word, 0) | 1 << child
            units += together.values()
        return units

    def singletons(self, t: int) -> Cells:
        return [1 << node for node in range(len(self.mass[t]))]

    def unit_friends(self, t: int, unit: int) -> int:
        """The nodes that are compatible with every member of a unit."""
        common = -1
        for node in bits(unit):
            common &= self.friends[t][node]
        return common


def bits(mask: int) -> list[int]:
    """The positions of the ones of a bitmask."""
    return list(members(mask))


def _friends(relation: Relation) -> list[int]:
    """Compatible nodes of each node: its kind, and the kinds of its group that do not conflict."""
    of_kind = [0] * relation.kinds
    for node, kind in enumerate(relation.kind.tolist()):
        of_kind[kind] |= 1 << node
    friends = list(of_kind)
    for g, matrix in relation.conflicts.items():
        first = int(relation.start[g])
        for k, row in enumerate(matrix):
            friends[first + k] = sum(of_kind[first + j] for j in np.flatnonzero(~row))
    return [friends[kind] for kind in relation.kind.tolist()]


def verify(graph: Graph, cells: list[Ints]) -> str | None:
    """None if the labels are a closed compatible assignment, otherwise what is wrong; uses no relation.

    One observation and one law per cell, and closure, at every level: compatibility then follows by induction.
    """
    for t, (level, label) in enumerate(zip(graph.levels, cells, strict=True)):
        cell, count = rank(label)
        for name, value in (("observation", level.observation), ("law", level.law)):
            if rank(pair(cell, value))[1] != count:
                return f"step {t + 1}: a cell holds histories of different {name}"
        if t + 1 < graph.horizon:
            moves = pair(cell[level.source], graph.continuation(t))
            if rank(moves)[1] != rank(pair(moves, rank(cells[t + 1])[0][level.child]))[1]:
                return f"step {t + 1}: a continuation leads from one cell into two"
    return None


def improve(tree: Tree, t: int, above: Cells | None, below: Cells | None, budget: Budget) -> Cells:
    """The least-entropy cells of level t given the cells of the level before and after (None: not yet chosen).

    A TimeoutError says that the budget is spent, or that a conflict graph is too large to be worth its cost.
    """
    units = tree.singletons(t) if above is None else tree.forced(t - 1, above)
    home = {node: k for k, cell in enumerate(below) for node in bits(cell)} if below is not None else {}
    cells: Cells = []
    for group in _friend_components(tree, t, units):
        twins: dict[tuple[int, frozenset[tuple[int, int]]], int] = {}  # equal friends and equal homes: one vertex
        for unit in group:
            key = tree.unit_friends(t, unit), frozenset(_homes(tree, t, unit, home).items() if home else ())
            twins[key] = twins.get(key, 0) | unit
        if len(twins) > _MOST_VERTICES or budget.spent:
            raise TimeoutError
        vertices = list(twins.values())
        homes = [dict(where) for _, where in twins]
        conflicts = [
            sum(
                1 << j
                for j, other in enumerate(vertices)
                if j != k and (other & ~friends or (home and _apart(homes[k], homes[j])))
            )
            for k, (friends, _) in enumerate(twins)
        ]
        coloured = minimum_entropy([tree.weight(t, vertex) for vertex in vertices], conflicts, budget.limits())
        cells += [sum(vertices[k] for k in bits(mask)) for mask in coloured.classes]
    return cells


def _friend_components(tree: Tree, t: int, units: Cells) -> list[Cells]:
    """Units that could ever share a cell, by connected components of friendship."""
    unit_of = {node: unit for unit in units for node in bits(unit)}
    left = sum(units)
    groups: list[Cells] = []
    for first in units:
        if not first & left:
            continue
        group = [first]
        left ^= first
        for unit in group:
            for node in bits(unit):
                while near := tree.friends[t][node] & left:
                    friend = unit_of[(near & -near).bit_length() - 1]
                    group.append(friend)
                    left ^= friend
        groups.append(group)
    return groups


def _homes(tree: Tree, t: int, unit: int, home: dict[int, int]) -> dict[int, int]:
    return {word: home[child] for node in bits(unit) for word, child in tree.children[t][node].items()}


def _apart(first: dict[int, int], second: dict[int, int]) -> bool:
    """Whether a common continuation leads into two different cells of the next level."""
    if len(second) < len(first):
        first, second = second, first
    return any(word in second and second[word] != cell for word, cell in first.items())


def construct(tree: Tree, budget: Budget, rounds: int = 4) -> Iterator[list[Cells]]:
    """A few good assignments: built forwards, then backwards, each also improved level by level until nothing moves."""
    forward: list[Cells] = []
    for t in range(tree.horizon):
        forward.append(improve(tree, t, forward[-1] if t else None, None, budget))
    yield forward
    backward: list[Cells] = []
    for t in range(tree.horizon - 1, -1, -1):
        backward.insert(0, improve(tree, t, None, backward[0] if backward else None, budget))
    for cells in (backward, forward):
        cells = list(cells)
        for _ in range(rounds):
            before = [sorted(level) for level in cells]
            for t in range(tree.horizon):
                following = cells[t + 1] if t + 1 < tree.horizon else None
                cells[t] = improve(tree, t, cells[t - 1] if t else None, following, budget)
            if [sorted(level) for level in cells] == before:
                break
        yield cells


def labels(tree: Tree, cells: list[Cells]) -> list[Ints]:
    """Cells as one label a node."""
    result: list[Ints] = []
    for t, level in enumerate(cells):
        label = np.zeros(len(tree.mass[t]), np.int64)
        for k, cell in enumerate(sorted(level, key=lambda mask: mask & -mask)):
            label[bits(cell)] = k
        result.append(label)
    return result
