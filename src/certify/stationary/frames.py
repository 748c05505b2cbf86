"""The frames that suffice: the shortest stack of past observations (and actions) that fixes the expert's law."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from certify.core.graph import Graph
from certify.core.merged import Rational
from certify.core.reading import rational
from certify.errors import UserError
from certify.stationary.observer import Observer, model_observer
from certify.stationary.refine import strong_classes
from certify.stationary.relation import Matrix
from certify.stationary.windows import distance

Padding = Literal["mark", "repeat"]
MOST_NODES = 2_000
Word = tuple[tuple[str, str], ...]  # (action, observation), …


@dataclass(frozen=True)
class Loop:
    """Two histories x·yⁱ·z whose last steps look alike, as many as you like, and after which the laws differ.

    Of each: how it begins (an observation, then actions and observations), the loop, and the tail. Loops and tails are
    the same in both; where actions are not part of the stack, they may differ in actions.
    """

    start: tuple[tuple[str, ...], tuple[str, ...]]
    loop: tuple[Word, Word]
    tail: tuple[Word, Word]

    def history(self, which: int, times: int) -> tuple[str, ...]:
        """One of the two histories, with the loop repeated."""
        words = self.loop[which] * times + self.tail[which]
        return (*self.start[which], *(part for word in words for part in word))


@dataclass(frozen=True)
class Frames:
    """The law is a function of the last k steps and the present observation; or of no finite number of steps."""

    k: int | None
    actions: bool
    padding: Padding
    pairs: tuple[int, ...]  # confusable pairs of different laws with 0, 1, 2, … past steps
    loop: Loop | None = None  # why no stack suffices; None where the padding alone confuses
    within: Fraction = Fraction(0)  # laws this close, in total variation, count as one

    @property
    def text(self) -> str:
        """The result as a sentence."""
        kind = "observations and actions" if self.actions else "observations"
        if self.k is not None:
            close = f" within {self.within} in total variation" if self.within else ""
            return f"the last {self.k} {kind} and the present observation fix the law{close}"
        if self.loop is None:
            return f"no finite stack of {kind} fixes the law, because of what it shows before the first step"
        one, other = (" ".join(self.loop.history(k, 2)) for k in (0, 1))
        return f"no finite stack of {kind} fixes the law: [{one}] and [{other}], and longer loops"


def frames_of_model(graph: Graph, actions: bool = True, padding: Padding = "mark") -> Frames:
    """The same question for a finite model; the policy is not told the step."""
    return frames(model_observer(graph), actions, padding)


def frames(observer: Observer, actions: bool = True, padding: Padding = "mark", within: Rational = 0) -> Frames:
    """The least k for which (O_{t−k}, A_{t−k}, …, A_{t−1}, O_t) fixes the law after every history.

    With `within`, the laws of two histories that look alike may differ by that much in total variation.

    Pairs of nodes that two histories with the same last j steps can reach shrink with j until nothing changes. What a
    stack shows before the first step is `padding`: a symbol of its own, or the first observation again.
    """
    close = rational(within, "within")
    stack = _Stack.of(observer, actions, padding, close)
    reached = stack.observation[:, None] == stack.observation
    counts: list[int] = []
    while True:
        bad = reached & stack.differ
        counts.append(int(bad.sum()) // 2)
        if not counts[-1]:
            return Frames(len(counts) - 1, actions, padding, tuple(counts), within=close)
        after = stack.step(reached)
        if (after == reached).all():
            return Frames(None, actions, padding, tuple(counts), _loop(stack, reached, bad), close)
        reached = after


@dataclass(frozen=True)
class _Stack:
    """An observer whose labels are what a stack shows of a step; with nodes for the time before the first step."""

    observer: Observer
    observation: np.ndarray
    differ: Matrix  # pairs of histories with different laws
    edges: list[tuple[int, int, int, int]]  # source, what is shown, target, label
    groups: list[tuple[np.ndarray, np.ndarray]]  # sources and targets by what is shown

    @staticmethod
    def of(observer: Observer, actions: bool, padding: Padding, within: Fraction) -> _Stack:
        state, count = strong_classes(observer)
        observer = observer.quotient(state, count)
        if observer.size > MOST_NODES:
            raise UserError("frames", f"{observer.size:,} classes are too many; at most {MOST_NODES:,} are compared")
        width = len(observer.observations)
        labels = observer.label.tolist()
        edges = [
            (source, label if actions else label % width, target, label)
            for source, label, target in zip(observer.source.tolist(), labels, observer.target.tolist(), strict=True)
        ]
        observation, real = observer.observation.tolist(), observer.size
        if padding == "repeat":  # before the first step its observation is shown again and again, without an action
            for o, node in observer.first.items():
                shown = -1 - o if actions else o
                before = len(observation)
                observation.append(o)
                edges += [(before, shown, before, -1), (before, shown, node, -1)]
        groups: dict[int, list[tuple[int, int]]] = {}
        for source, shown, target, _ in edges:
            groups.setdefault(shown, []).append((source, target))
        law = np.full(len(observation), -1)
        law[:real] = observer.law
        differ = (law[:, None] != law) & (law[:, None] >= 0) & (law >= 0)
        if within:
            far = np.array([[distance(one, other) > within for other in observer.laws] for one in observer.laws])
            differ &= far[law[:, None], law]
        columns = [np.array(pairs).T for pairs in groups.values()]
        return _Stack(observer, np.array(observation), differ, edges, [(c[0], c[1]) for c in columns])

    def step(self, reached: Matrix) -> Matrix:
        """The pairs one step later."""
        after = np.zeros_like(reached)
        for source, target in self.groups:
            i, j = np.nonzero(reached[np.ix_(source, source)])
            after[target[i], target[j]] = True
        return after

    def before(self, reached: Matrix, pair: tuple[int, int]) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        """Pairs that lead to a pair in one step that looks alike, with the two labels."""
        first, second = ([edge for edge in self.edges if edge[2] == node] for node in pair)
        for a in first:
            for b in second:
                if a[1] == b[1] and reached[a[0], b[0]]:
                    yield (a[0], b[0]), (a[3], b[3])


def _loop(stack: _Stack, reached: Matrix, bad: Matrix) -> Loop | None:
    """Walk back from a bad pair among the pairs that stay for ever, until one repeats."""
    end = (int(np.argwhere(bad)[0][0]), int(np.argwhere(bad)[0][1]))
    trail, labels = [end], list[tuple[int, int]]()
    place = {end: 0}
    while True:
        pair, label = next(stack.before(reached, trail[-1]))
        labels.append(label)
        if pair in place:
            begin = place[pair]
            break
        place[pair] = len(trail)
        trail.append(pair)
    observer = stack.observer
    if any(node >= observer.size for node in pair) or any(part < 0 for label in labels for part in label):
        return None
    loop, tail = labels[begin:][::-1], labels[:begin][::-1]
    words = [tuple(tuple(observer.words(label[k]) for label in part) for k in (0, 1)) for part in (loop, tail)]
    start = tuple(tuple(observer.history(node)) for node in pair)
    return Loop((start[0], start[1]), (words[0][0], words[0][1]), (words[1][0], words[1][1]))
