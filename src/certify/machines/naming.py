"""Readable names of memory states: the observation, and the past observations that set a state apart."""

import numpy as np

from certify.core.exact import Ints, representatives
from certify.core.graph import Graph

_MOST_WORK = 2_000_000  # nodes × steps looked back over before names fall back to numbers
_MOST_CELLS = 64  # of one observation that are distinguished by words
_MOST_VALUES = 3  # past observations that one name may list


def name_cells(graph: Graph, cells: list[Ints]) -> list[list[str]]:
    """A name for every cell of every level, unique within its level."""
    sizes = [level.size for level in graph.levels]
    work = sum(size * (t + 1) for t, size in enumerate(sizes))
    tree = all(np.all(level.paths == 1) for level in graph.levels)
    past: Ints | None = np.zeros((sizes[0], 0), np.int64) if tree and work <= _MOST_WORK else None
    names: list[list[str]] = []
    for t, level in enumerate(graph.levels):
        count = int(cells[t].max()) + 1
        if past is not None and t:
            past = np.column_stack([past[level.parent], graph.levels[t - 1].observation[level.parent]])
        fiber_of = level.observation[representatives(cells[t], count)]
        named = [""] * count
        for o in np.unique(fiber_of):
            inside = np.flatnonzero(fiber_of == o)
            suffixes = _suffixes(graph, past, cells[t], inside) if len(inside) > 1 else [""]
            for cell, suffix in zip(inside, suffixes, strict=True):
                named[cell] = graph.label(o) + suffix
        names.append(named)
    return names


def _suffixes(graph: Graph, past: Ints | None, label: Ints, inside: Ints) -> list[str]:
    """What each of these cells remembers, as ` [cue=0, …]`; numbers where no past observation says it."""
    told: list[tuple[str, ...]] = [()] * len(inside)
    columns = past.T if past is not None and len(inside) <= _MOST_CELLS else np.zeros((0, 0), np.int64)
    for column in columns:
        seen = [frozenset(column[label == cell].tolist()) for cell in inside]
        apart = all(a == b or not a & b for a in seen for b in seen)
        if not apart or len(set(seen)) == 1 or max(map(len, seen)) > _MOST_VALUES:
            continue
        words = ["|".join(sorted(graph.label(o) for o in values)) for values in seen]
        longer = [(*old, word) for old, word in zip(told, words, strict=True)]
        if len(set(longer)) > len(set(told)):
            told = longer
        if len(set(told)) == len(inside):
            break
    numbers = [()] * len(inside) if len(set(told)) == len(inside) else [(f"#{k + 1}",) for k in range(len(inside))]
    return [f" [{', '.join(words + number)}]" for words, number in zip(told, numbers, strict=True)]
