"""Compatibility by pairs of hidden states, where the sets of possible states are too many to list.

Two histories conflict if and only if two hidden states that they allow do. Hidden states that some one history might
allow are put into one group; where every two groups of an observation conflict throughout or nowhere, the groups decide
everything, in polynomial time. docs/theory.md proves it.
"""

from __future__ import annotations

import numpy as np

from certify.core.exact import rank
from certify.stationary.observer import Observer
from certify.stationary.process import Process
from certify.stationary.relation import Matrix, Relation

MOST_ATOMS = 6_000


def atom_relation(process: Process) -> Relation | None:
    """~ for ever on groups of hidden states; None where pairs of hidden states do not decide it."""
    if process.size > MOST_ATOMS:
        return None
    group = _groups(process)
    if len({(g, law) for g, law in zip(group, process.law, strict=True)}) > len(set(group)):
        return None  # (A2) may fail
    observer = _observer(process, group)
    some, every = _between(atom_conflicts(process), np.array(group), observer.size)
    same = observer.observation[:, None] == observer.observation
    if (some & ~every & same).any():
        return None
    near = same & ~some
    labels = near.argmax(axis=1)  # the first group that each is compatible with
    if not (near == (labels[:, None] == labels)).all():
        return None
    classes, count = rank(labels)
    return Relation(observer, np.arange(observer.size), True, classes, count, None, None, every)


def _groups(process: Process) -> list[int]:
    """The finest partition that labels update and that keeps the states of one first observation together."""
    root = list(range(process.size))

    def find(x: int) -> int:
        while root[x] != x:
            root[x] = root[root[x]]
            x = root[x]
        return x

    target: dict[tuple[int, int], int] = {}
    waiting: list[tuple[int, int]] = []
    first: dict[int, int] = {}
    for x, _ in process.start:
        waiting.append((first.setdefault(process.observation[x], x), x))
    for x, labels in enumerate(process.after):
        for label, states in labels.items():
            target[x, label] = states[0]
            waiting += [(states[0], y) for y in states[1:]]
    outgoing = [set(labels) for labels in process.after]
    while waiting:
        a, b = map(find, waiting.pop())
        if a == b:
            continue
        if len(outgoing[a]) < len(outgoing[b]):
            a, b = b, a
        root[b] = a
        for label in outgoing[b]:
            if label in outgoing[a]:
                waiting.append((target[a, label], target[b, label]))
            else:
                target[a, label] = target[b, label]
        outgoing[a] |= outgoing[b]
    numbers: dict[int, int] = {}
    return [numbers.setdefault(find(x), len(numbers)) for x in range(process.size)]


def _observer(process: Process, group: list[int]) -> Observer:
    """The groups as an automaton; a label may follow a group that cannot follow each of its histories."""
    inside = [group.index(g) for g in range(max(group) + 1)]
    laws = {law: k for k, law in enumerate(dict.fromkeys(process.law[x] for x in inside))}
    edges = {(group[x], label, group[ys[0]]) for x, labels in enumerate(process.after) for label, ys in labels.items()}
    source, label, target = np.array(sorted(edges), np.int64).reshape(-1, 3).T.copy()
    return Observer(
        process.observations,
        process.actions,
        "group",
        np.array([process.observation[x] for x in inside]),
        np.array([laws[process.law[x]] for x in inside]),
        tuple(laws),
        source,
        label,
        target,
        {process.observation[x]: group[x] for x, _ in process.start},
        np.full(len(inside), -1),
        np.zeros(len(inside), np.int64),
    )


def atom_conflicts(process: Process) -> Matrix:
    """One observation and two laws, or a common label into a conflict: the least such relation on hidden states."""
    numbers = {law: k for k, law in enumerate(dict.fromkeys(process.law))}
    seen, law = np.array(process.observation), np.array([numbers[own] for own in process.law])
    same = seen[:, None] == seen
    matrix = same & (law[:, None] != law)
    by_label: dict[int, list[tuple[int, int]]] = {}
    for x, labels in enumerate(process.after):
        for label, targets in labels.items():
            by_label.setdefault(label, []).extend((x, y) for y in targets)
    steps = []
    for pairs in by_label.values():
        (sources, i), (targets, j) = (np.unique(column, return_inverse=True) for column in np.array(pairs).T)
        step = np.zeros((len(sources), len(targets)), np.float32)
        step[i, j] = 1
        steps.append((sources, targets, step))
    while True:
        fresh = matrix.copy()
        for sources, targets, step in steps:
            block = matrix[np.ix_(targets, targets)]
            if block.any():
                fresh[np.ix_(sources, sources)] |= (step @ block.astype(np.float32) @ step.T) > 0
        fresh &= same
        if (fresh == matrix).all():
            return matrix
        matrix = fresh


def _between(conflicts: Matrix, group: np.ndarray, count: int) -> tuple[Matrix, Matrix]:
    """Of every two groups: whether some pair of their states conflicts, and whether every pair does."""
    member = np.zeros((len(group), count))
    member[np.arange(len(group)), group] = 1
    pairs = member.T @ conflicts.astype(float) @ member
    sizes = member.sum(axis=0)
    return pairs > 0, pairs == sizes[:, None] * sizes
