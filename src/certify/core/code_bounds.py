"""Bounds on the number of labels that hold for models of every size, and colourings of conflicts."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from certify.core.assignments import bits
from certify.core.colouring import fewest_colours, heaviest_compatible_set
from certify.core.exact import Ints, pair, rank
from certify.core.floors import bitmasks
from certify.core.graph import Graph
from certify.core.partition import insert
from certify.core.rates import cell_masses
from certify.core.relations import Matrix, Relation, future_classes

_EXACT_COLOURING = 300  # vertices; beyond, a greedy colouring and a greedy clique
_BRANCHINGS = 2_000


class Coloured(NamedTuple):
    """A proper colouring of a conflict graph, a clique in it, and a number of colours that it surely needs."""

    classes: list[list[int]]
    clique: list[int]
    least: int


def colour(matrix: Matrix) -> Coloured:
    """Colour a conflict matrix; vertices with equal rows are coloured alike."""
    _, first, twin = np.unique(np.packbits(matrix, axis=1), axis=0, return_index=True, return_inverse=True)
    members = [np.flatnonzero(twin.ravel() == k).tolist() for k in range(len(first))]
    small = colour_masks(tuple(bitmasks(matrix[np.ix_(first, first)])))
    classes = [[v for k in kinds for v in members[k]] for kinds in small.classes]
    return Coloured(classes, first[small.clique].tolist(), small.least)


@lru_cache(maxsize=256)
def colour_masks(conflicts: tuple[int, ...]) -> Coloured:
    """Exact on small graphs, greedy on large ones."""
    count, everything = len(conflicts), (1 << len(conflicts)) - 1
    order = sorted(range(count), key=lambda v: -conflicts[v].bit_count())
    clique, classes, exact = _greedy_clique(conflicts, order[:8]), insert((), order, [1] * count, conflicts), None
    if len(clique) < len(classes) and count <= _EXACT_COLOURING:
        others = [everything ^ enemies ^ 1 << v for v, enemies in enumerate(conflicts)]
        largest = heaviest_compatible_set([1] * count, others, _BRANCHINGS)
        clique = bits(largest[1]) if largest else clique
        exact = fewest_colours(conflicts, _BRANCHINGS) if len(clique) < len(classes) else None
    return Coloured([bits(mask) for mask in exact or classes], clique, len(exact) if exact else len(clique))


def _greedy_clique(conflicts: tuple[int, ...], starts: list[int]) -> list[int]:
    """From each start, add the vertex that leaves the most to choose from."""
    best: list[int] = []
    for v in starts:
        clique, open_set = [v], conflicts[v]
        while open_set:
            v = max(bits(open_set), key=lambda w: (open_set & conflicts[w]).bit_count())
            clique.append(v)
            open_set &= conflicts[v]
        best = max(best, clique, key=len)
    return best


def fiber_clique(graph: Graph, relations: Sequence[Relation]) -> list[tuple[int, int]]:
    """Histories (level, node) of one step and one observation, pairwise in conflict: one of each kind of the fiber.

    Kinds of one group conflict with each other unless the group is loose, and then it gives one history.
    """
    largest: list[tuple[int, int]] = []
    for t, (level, relation) in enumerate(zip(graph.levels, relations, strict=True)):
        kind = relation.kind.copy()
        loose = np.isin(relation.group[kind], relation.loose)
        kind[loose] = relation.start[relation.group[kind[loose]]]
        nodes = cell_masses(level, kind)[1]
        fiber, _ = rank(level.observation[nodes])
        sizes = np.bincount(fiber)
        if sizes.max() > len(largest):
            largest = [(t, node) for node in nodes[fiber == sizes.argmax()].tolist()]
    return largest


def futures(graph: Graph) -> list[Ints]:
    """Histories by law and what follows, whatever is seen: a time-indexed machine, found in linear time."""
    return future_classes(graph, lambda level: rank(level.law)[0])


def inherited(graph: Graph, cells: list[Ints]) -> list[Ints]:
    """The same cells, each named like a cell before it wherever that name is free: often a stationary machine."""
    names = [np.arange(int(cells[0].max()) + 1)]
    for t, level in enumerate(graph.levels[:-1]):
        following = cells[t + 1]
        arrows = np.unique(pair(names[-1][cells[t][level.source]], following[level.child]), return_index=True)[1]
        count = int(following.max()) + 1
        name, taken = [-1] * count, set[int]()
        for edge in arrows.tolist():  # by the older name
            old, cell = int(names[-1][cells[t][level.source[edge]]]), int(following[level.child[edge]])
            if name[cell] < 0 and old not in taken:
                name[cell] = old
                taken.add(old)
        free = iter(sorted(set(range(count)) - taken))
        names.append(np.array([next(free) if old < 0 else old for old in name]))
    return [name[cell] for name, cell in zip(names, cells, strict=True)]
