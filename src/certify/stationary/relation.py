"""Compatibility for ever: the greatest relation closed under common continuations, its classes, and its witnesses."""

from collections import deque
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from certify.core.exact import Ints, rank
from certify.stationary.observer import Observer
from certify.stationary.refine import strong_classes, sure_splits

Matrix = NDArray[np.bool_]
MOST_PAIRS = 36_000_000  # of strong classes whose conflicts are followed


@dataclass(frozen=True)
class Relation:
    """~ on the strong classes of an observer.

    `transitive` is None where there are too many pairs to decide; `classes` is then, and where ~ is not transitive, a
    partition into surely conflicting sets, which bounds every memory from below.
    """

    observer: Observer  # the quotient by strong classes
    state: Ints  # of each node of the original observer: its strong class
    transitive: bool | None
    classes: Ints
    count: int
    lookahead: int | None  # the longest shortest word that separates two conflicting histories
    triple: tuple[int, int, int] | None = None  # a ~ b ~ c, yet a and c conflict
    matrix: Matrix | None = field(default=None, repr=False, compare=False)  # conflicts, where they were needed

    @cached_property
    def conflicts(self) -> Matrix:
        """Which strong classes conflict; those of different observations as far as common continuations show it."""
        return conflicts(self.observer)[0] if self.matrix is None else self.matrix

    @property
    def small(self) -> bool:
        """Whether all pairs of strong classes can be looked at."""
        return self.observer.size**2 <= MOST_PAIRS


def compatibility(observer: Observer) -> Relation:
    """~ for ever, by surely needed splits where they suffice, else on all pairs of strong classes."""
    state, count = strong_classes(observer)
    strong = observer.quotient(state, count)
    splits = sure_splits(strong)
    if splits.closed:
        return Relation(strong, state, True, splits.labels, splits.count, splits.rounds)
    if count**2 > MOST_PAIRS:
        return Relation(strong, state, None, splits.labels, splits.count, None)
    matrix, rounds = conflicts(strong)
    classes, transitive, triple = _classes(strong, matrix)
    if not transitive:
        return Relation(strong, state, False, splits.labels, splits.count, rounds, triple, matrix)
    return Relation(strong, state, True, classes, int(classes.max()) + 1, rounds, None, matrix)


def conflicts(observer: Observer) -> tuple[Matrix, int]:
    """One observation and two laws, or a common label into a conflict: the least such relation, and its rounds.

    Nodes of different observations are compared as well, by what follows: a code shared by both would be updated alike.
    The rounds count for nodes of one observation: the look-ahead after which nothing new is found.
    """
    same = observer.observation[:, None] == observer.observation
    matrix = same & (observer.law[:, None] != observer.law)
    steps = [(source, target) for source, target in observer.by_label.values() if len(source) > 1]
    rounds = lookahead = 0
    seen = int((matrix & same).sum())
    grown = True
    while grown:
        before = int(matrix.sum())
        fresh = matrix.copy()
        for source, target in steps:
            block = matrix[np.ix_(target, target)]
            if block.any():
                fresh[np.ix_(source, source)] |= block
        matrix, rounds = fresh, rounds + 1
        grown = int(matrix.sum()) > before
        if grown and (now := int((matrix & same).sum())) > seen:
            seen, lookahead = now, rounds
    return matrix, lookahead


def _classes(observer: Observer, matrix: Matrix) -> tuple[Ints, bool, tuple[int, int, int] | None]:
    """Nodes of one observation with the same conflicts; whether these are the classes of ~; else a triple."""
    labels, count = np.zeros(observer.size, np.int64), 0
    transitive, triple = True, None
    for o in np.unique(observer.observation):
        fiber = np.flatnonzero(observer.observation == o)
        near = ~matrix[np.ix_(fiber, fiber)]
        _, row = np.unique(np.packbits(near, axis=1), axis=0, return_inverse=True)
        row = row.ravel()
        if transitive and not (near == (row[:, None] == row)).all():
            transitive = False
            i, j = np.argwhere(near & (row[:, None] != row))[0]
            k = int(np.flatnonzero(near[i] != near[j])[0])
            ends = (i, j) if near[i, k] else (j, i)  # the first of them is compatible with k, the second is not
            triple = (int(fiber[k]), int(fiber[ends[0]]), int(fiber[ends[1]]))
        labels[fiber] = count + row
        count += int(row.max()) + 1
    return rank(labels)[0], transitive, triple


def separating_word(observer: Observer, first: int, second: int) -> list[int] | None:
    """A shortest word of labels that both nodes can follow and after which their laws differ; None if none exists."""
    came: dict[tuple[int, int], tuple[tuple[int, int], int] | None] = {(first, second): None}
    waiting = deque([(first, second)])
    while waiting:
        here = waiting.popleft()
        a, b = here
        if observer.observation[a] == observer.observation[b] and observer.law[a] != observer.law[b]:
            return _path(came, here)
        for label, target in observer.moves[a].items():
            other = observer.moves[b].get(label)
            if other is not None and target != other and (target, other) not in came:
                came[target, other] = (here, label)
                waiting.append((target, other))
    return None


def _path(came: dict[tuple[int, int], tuple[tuple[int, int], int] | None], end: tuple[int, int]) -> list[int]:
    word: list[int] = []
    step = came[end]
    while step is not None:
        before, label = step
        word.append(label)
        step = came[before]
    return word[::-1]
