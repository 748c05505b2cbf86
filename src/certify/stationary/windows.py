"""Infinitely many posteriors: finite observers that remember the last k labels, with every posterior they allow.

k labels ago some set of hidden states was possible; the posterior now lies in the hull of what each of them alone would
lead to (its *rays*). Laws are linear in the posterior up to scale, so the hull of the rays' laws holds the expert's.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from certify.core.graph import Law
from certify.stationary.observer import Observer, Search, Support
from certify.stationary.posteriors import Steps, Vector, lump, mixture
from certify.stationary.process import Process
from certify.stationary.relation import Matrix

MOST_WINDOWS = 4_000
Anchor = tuple[int] | tuple[Support, None]  # (first observation,) while nothing is forgotten, else what was possible
Window = tuple[Anchor, tuple[int, ...]]  # and the labels since


@dataclass(frozen=True)
class Windows:
    """A finite observer of the last k labels; each node plays the average law of its rays.

    `error` is the largest total variation between that law and the expert's after any history; 0 where every node has
    one law, and then the observer is exact.
    """

    k: int
    observer: Observer
    error: Fraction
    low: list[dict[int, Fraction]]  # of each node: the least probability of each action
    high: list[dict[int, Fraction]]
    sure: NDArray[np.bool_]  # of each edge: whether its label can follow every history of the node


def window_observer(process: Process, k: int, most: int = MOST_WINDOWS) -> Windows:
    """The observer of the last k labels; raises `TooMany` beyond `most` nodes."""
    process = lump(process)
    steps = Steps(process)
    begin = steps.starts()
    cache: dict[Window, tuple[Vector, ...]] = {}

    def rays(window: Window) -> tuple[Vector, ...]:
        if window not in cache:
            anchor, labels = window
            if labels:
                moved = (steps.after(ray).get(labels[-1]) for ray in rays((anchor, labels[:-1])))
                cache[window] = tuple(sorted({ray for ray in moved if ray is not None}))
            else:
                cache[window] = (begin[anchor[0]],) if len(anchor) == 1 else tuple(((x, 1),) for x in anchor[0])
        return cache[window]

    def after(window: Window) -> dict[int, Window]:
        anchor, labels = window
        result: dict[int, Window] = {}
        for label in sorted({u for ray in rays(window) for u in steps.after(ray)}):
            longer = (*labels, label)
            if len(longer) <= k:
                result[label] = (anchor, longer)
            else:
                possible = {x for ray in rays((anchor, longer[:1])) for x, _ in ray}
                result[label] = ((tuple(sorted(possible)), None), longer[1:])
        return result

    search = Search(
        process, "window", lambda window: window, lambda window: _average(process, rays(window)), after, most
    )
    observer = search.run({o: ((o,), ()) for o in begin})
    nodes = [rays(window) for window in search.values]
    ranges = [_ranges([mixture(process, ray) for ray in own]) for own in nodes]
    errors = [
        max(distance(observer.laws[law], mixture(process, ray)) for ray in own)
        for law, own in zip(observer.law.tolist(), nodes, strict=True)
    ]
    shared = [set.intersection(*(set(steps.after(ray)) for ray in own)) for own in nodes]
    edges = zip(observer.source.tolist(), observer.label.tolist(), strict=True)
    sure = np.array([label in shared[source] for source, label in edges], bool)
    return Windows(k, observer, max(errors), [low for low, _ in ranges], [high for _, high in ranges], sure)


def _average(process: Process, rays: tuple[Vector, ...]) -> Law:
    """The plain average of the rays' laws: a law in their hull."""
    total: dict[int, Fraction] = {}
    for ray in rays:
        for action, p in mixture(process, ray):
            total[action] = total.get(action, Fraction(0)) + p / len(rays)
    return tuple(sorted(total.items()))


def _ranges(laws: list[Law]) -> tuple[dict[int, Fraction], dict[int, Fraction]]:
    """The least and the largest probability of each action over some laws."""
    each = [dict(law) for law in laws]
    actions = {action for law in each for action in law}
    values = {action: [law.get(action, Fraction(0)) for law in each] for action in actions}
    return {a: min(v) for a, v in values.items()}, {a: max(v) for a, v in values.items()}


def distance(first: Law, second: Law) -> Fraction:
    """Total variation."""
    one, other = dict(first), dict(second)
    actions = one.keys() | other.keys()
    return sum((abs(one.get(a, Fraction(0)) - other.get(a, Fraction(0))) for a in actions), Fraction(0)) / 2


def sure_conflicts(windows: Windows) -> Matrix:
    """Nodes of which no two histories can share a memory state: laws that never agree, now or after a sure word."""
    observer = windows.observer
    matrix = np.zeros((observer.size, observer.size), bool)
    zero = Fraction(0)
    for action in range(len(observer.actions)):
        low = [part.get(action, zero) for part in windows.low]
        high = [part.get(action, zero) for part in windows.high]
        ends = {value: k for k, value in enumerate(sorted({*low, *high}))}
        bottom, top = np.array([ends[v] for v in low]), np.array([ends[v] for v in high])
        matrix |= bottom[:, None] > top
    matrix = (matrix | matrix.T) & (observer.observation[:, None] == observer.observation)
    steps = []
    for label in np.unique(observer.label[windows.sure]):
        edges = np.flatnonzero((observer.label == label) & windows.sure)
        steps.append((observer.source[edges], observer.target[edges]))
    same = observer.observation[:, None] == observer.observation
    while True:
        fresh = matrix.copy()
        for source, target in steps:
            block = matrix[np.ix_(target, target)]
            if block.any():
                fresh[np.ix_(source, source)] |= block
        fresh &= same
        if (fresh == matrix).all():
            return matrix
        matrix = fresh
