"""Infinitely many posteriors: finite observers that remember the last k labels, with every posterior they allow.

k labels ago some set of hidden states was possible; the posterior now lies in the hull of what each of them alone would
lead to (its *rays*). Laws are linear in the posterior up to scale, so the hull of the rays' laws holds the expert's.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from certify.core.graph import Law
from certify.stationary.observer import Observer, Search, Support
from certify.stationary.posteriors import MOST_PRODUCTS, Steps, Vector, mixture
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
    supports: bool = True  # whether a node knows what was possible before its labels


def window_observer(
    process: Process, k: int, most: int = MOST_WINDOWS, work: float = MOST_PRODUCTS, supports: bool = True
) -> Windows:
    """The observer of the last k labels; raises `TooMany` beyond `most` nodes or `work` products.

    Without `supports`, every state that shows what was seen counts as possible before the window: far fewer nodes, and
    an error that may be larger than the true one. A lumped process is as good, and cheaper.
    """
    rays = _Rays(process, k, work, supports)
    search = Search(
        process, "window", lambda window: window, lambda window: _average(rays.laws(window)), rays.after, most
    )
    observer = search.run({o: ((o,), ()) for o in rays.begin})
    laws = [rays.laws(window) for window in search.values]
    ranges = [_ranges(own) for own in laws]
    errors = [
        max(distance(observer.laws[law], other) for other in set(own))
        for law, own in zip(observer.law.tolist(), laws, strict=True)
    ]
    shared = [set.intersection(*(set(rays.step(ray)) for ray in rays.of(window))) for window in search.values]
    edges = zip(observer.source.tolist(), observer.label.tolist(), strict=True)
    sure = np.array([label in shared[source] for source, label in edges], bool)
    lows, highs = [low for low, _ in ranges], [high for _, high in ranges]
    return Windows(k, observer, max(errors), lows, highs, sure, supports)


class _Rays:
    """What each hidden state that was possible before a window alone would have become by its labels."""

    def __init__(self, process: Process, k: int, work: float, supports: bool) -> None:
        self.process, self.k = process, k
        self.steps = Steps(process, work)
        self.begin = self.steps.starts()
        self.alike: dict[int, Support] | None = None if supports else _by_observation(process)
        self.rays: dict[Window, tuple[Vector, ...]] = {}
        self.moved: dict[Vector, dict[int, Vector]] = {}
        self.mixed: dict[Vector, Law] = {}
        self.forgotten: dict[tuple[Anchor, int], Anchor] = {}

    def of(self, window: Window) -> tuple[Vector, ...]:
        if window not in self.rays:
            anchor, labels = window
            if labels:
                moved = (self.step(ray).get(labels[-1]) for ray in self.of((anchor, labels[:-1])))
                self.rays[window] = tuple(sorted({ray for ray in moved if ray is not None}))
            else:
                start = (self.begin[anchor[0]],) if len(anchor) == 1 else tuple(((x, 1),) for x in anchor[0])
                self.rays[window] = start
        return self.rays[window]

    def step(self, ray: Vector) -> dict[int, Vector]:
        """Of each label that can follow a ray: what the ray becomes."""
        if ray not in self.moved:
            self.moved[ray] = self.steps.after(ray)
        return self.moved[ray]

    def laws(self, window: Window) -> list[Law]:
        """The law of each ray."""
        result: list[Law] = []
        for ray in self.of(window):
            if ray not in self.mixed:
                self.mixed[ray] = mixture(self.process, ray)
            result.append(self.mixed[ray])
        return result

    def after(self, window: Window) -> dict[int, Window]:
        anchor, labels = window
        result: dict[int, Window] = {}
        for label in sorted({u for ray in self.of(window) for u in self.step(ray)}):
            longer = (*labels, label)
            result[label] = (anchor, longer) if len(longer) <= self.k else (self.forget(anchor, longer[0]), longer[1:])
        return result

    def forget(self, anchor: Anchor, label: int) -> Anchor:
        """What was possible one label later."""
        if self.alike is not None:
            return self.alike[label % len(self.process.observations)], None
        if (anchor, label) not in self.forgotten:
            rays = (self.step(ray).get(label, ()) for ray in self.of((anchor, ())))
            self.forgotten[anchor, label] = tuple(sorted({x for ray in rays for x, _ in ray})), None
        return self.forgotten[anchor, label]


def _by_observation(process: Process) -> dict[int, Support]:
    """The states that show each observation."""
    result: dict[int, Support] = {}
    for x, o in enumerate(process.observation):
        result[o] = (*result.get(o, ()), x)
    return result


def _average(laws: list[Law]) -> Law:
    """The plain average of the rays' laws: a law in their hull."""
    total: dict[int, Fraction] = {}
    for law, count in Counter(laws).items():
        for action, p in law:
            total[action] = total.get(action, Fraction(0)) + p * Fraction(count, len(laws))
    return tuple(sorted(total.items()))


def _ranges(laws: list[Law]) -> tuple[dict[int, Fraction], dict[int, Fraction]]:
    """The least and the largest probability of each action over some laws."""
    each = [dict(law) for law in set(laws)]
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
