"""The frames that suffice: the shortest stack of past observations (and actions) that fixes the expert's law."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from certify.core.exact import Ints, pair, rank
from certify.core.graph import Graph
from certify.core.merged import Rational
from certify.core.reading import rational
from certify.stationary.observer import Observer, TooMany, model_observer
from certify.stationary.refine import strong_classes
from certify.stationary.relation import Matrix
from certify.stationary.windows import distance

Padding = Literal["mark", "repeat"]
MOST_PAIRS = 5_000_000
MOST_HISTORIES = 50_000  # of a finite model whose frames are counted beside everything else
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
    loop: Loop | None = None  # why no stack suffices; None where even whole histories look alike
    within: Fraction = Fraction(0)  # laws this close, in total variation, count as one

    @property
    def text(self) -> str:
        """The result as a sentence."""
        kind = "observations and actions" if self.actions else "observations"
        if self.k is not None:
            close = f" within {self.within} in total variation" if self.within else ""
            if not self.k:
                return f"the present observation alone fixes the law{close}"
            one = "observation and action" if self.actions else "observation"
            past = f"last {self.k} {kind}" if self.k > 1 else f"previous {one}"
            return f"the {past} and the present observation fix the law{close}"
        if self.loop is None:
            return f"no finite stack of {kind} fixes the law, however far it reaches back before the first step"
        one, other = (" ".join(self.loop.history(k, 2)) for k in (0, 1))
        return f"no finite stack of {kind} fixes the law: [{one}] and [{other}], and longer loops"


def frames_of_model(graph: Graph, actions: bool = True, padding: Padding = "mark") -> Frames:
    """The same question for a finite model; the policy is not told the step."""
    return frames(model_observer(graph), actions, padding)


def stacks_of_model(graph: Graph) -> tuple[Frames, ...]:
    """Both stacks of a finite model, with actions and by observations alone; none where it is too large to ask."""
    if sum(level.size for level in graph.levels) > MOST_HISTORIES:
        return ()
    try:
        return frames_of_model(graph), frames_of_model(graph, actions=False)
    except TooMany:
        return ()


def frames(observer: Observer, actions: bool = True, padding: Padding = "mark", within: Rational = 0) -> Frames:
    """The least k for which (O_{t−k}, A_{t−k}, …, A_{t−1}, O_t) fixes the law after every history.

    With `within`, the laws of two histories that look alike may differ by that much in total variation.

    Pairs of nodes that two histories with the same last j steps can reach shrink with j until nothing changes. What a
    stack shows before the first step is `padding`: a symbol of its own, or the first observation again. Pairs are
    listed from one step on, by what that step shows; raises `TooMany` where they are too many.
    """
    close = rational(within, "within")
    stack = _Stack.of(observer, actions, padding, close)
    counts = [stack.different_at_once()]
    reached = stack.after_one_step() if counts[0] else np.zeros(0, np.int64)
    while counts[-1]:
        bad = reached[stack.differ(reached)]
        counts.append(len(bad))
        after = stack.step(reached)
        if counts[-1] and len(after) == len(reached):  # the pairs only ever become fewer
            return Frames(None, actions, padding, tuple(counts), _loop(stack, reached), close)
        reached = after
    return Frames(len(counts) - 1, actions, padding, tuple(counts), within=close)


@dataclass(frozen=True)
class _Stack:
    """An observer whose labels are what a stack shows of a step; with nodes for the time before the first step.

    A pair of nodes (a, b), a ≤ b, is the integer a·size + b. Edges are sorted by source and what is shown.
    """

    observer: Observer
    observation: Ints
    law: Ints  # −1 before the first step
    far: Matrix  # of two laws: whether they are more than `within` apart
    source: Ints
    shown: Ints  # what is shown of a step, as a number from 0
    target: Ints
    label: Ints  # of the observer; −1 before the first step

    @staticmethod
    def of(observer: Observer, actions: bool, padding: Padding, within: Fraction) -> _Stack:
        state, count = strong_classes(observer)
        observer = observer.quotient(state, count)
        width, real = len(observer.observations), observer.size
        shown = observer.label if actions else observer.label % width
        edges = [np.stack([observer.source, shown, observer.target, observer.label], axis=1)]
        observation = observer.observation.tolist()
        for o, node in observer.first.items():  # before the first step: a mark, or its observation again and again
            again = width + o if padding == "mark" else o
            before = real if padding == "mark" else len(observation)
            if before == len(observation):
                observation.append(again)
            alike = -1 - o if actions else o
            edges.append(
                np.array([[before, -1 if padding == "mark" else alike, before, -1], [before, alike, node, -1]])
            )
        table = np.unique(np.concatenate(edges), axis=0)
        table[:, 1] = rank(table[:, 1])[0]
        source, shown, target, label = table[np.lexsort((table[:, 1], table[:, 0]))].T.copy()
        law = np.full(len(observation), -1)
        law[:real] = observer.law
        far = ~np.eye(len(observer.laws), dtype=bool)
        if within:
            far = np.array([[distance(one, other) > within for other in observer.laws] for one in observer.laws])
        return _Stack(observer, np.array(observation), law, far, source, shown, target, label)

    @property
    def size(self) -> int:
        return len(self.observation)

    def different_at_once(self) -> int:
        """Pairs of one observation whose laws differ."""
        total = 0
        for o in np.unique(self.observation):
            held = np.bincount(self.law[(self.observation == o) & (self.law >= 0)], minlength=len(self.far))
            total += int(held @ self.far @ held) // 2
        return total

    def differ(self, pairs: Ints) -> NDArray[np.bool_]:
        """Of each pair, whether the laws differ."""
        first, second = self.law[pairs // self.size], self.law[pairs % self.size]
        return (first >= 0) & (second >= 0) & self.far[first, second]

    def coded(self, first: Ints, second: Ints) -> Ints:
        """Pairs as integers, without order, each once."""
        if len(first) > MOST_PAIRS:
            raise TooMany(f"more than {MOST_PAIRS:,} pairs of histories that look alike")
        return np.unique(np.minimum(first, second) * self.size + np.maximum(first, second))

    def after_one_step(self) -> Ints:
        """The pairs that one step which looks alike can reach."""
        alike = rank(pair(self.observation[self.source], self.shown))[0]
        edges = np.unique(np.stack([alike, self.target], axis=1), axis=0)
        begin = np.searchsorted(edges[:, 0], np.arange(int(edges[-1, 0]) + 2) if len(edges) else [0])
        inside = np.diff(begin)
        count = inside[edges[:, 0]]
        if int(count.sum()) > 2 * MOST_PAIRS:
            raise TooMany(f"more than {MOST_PAIRS:,} pairs of histories that look alike")
        first = np.repeat(edges[:, 1], count)
        second = edges[_ranges(begin[edges[:, 0]], count), 1]
        return self.coded(first[first <= second], second[first <= second])

    def step(self, pairs: Ints) -> Ints:
        """The pairs one step later."""
        ones, twos = pairs // self.size, pairs % self.size
        begin = np.searchsorted(self.source, np.arange(self.size + 1))
        edge, owner = _spread(begin[ones], begin[ones + 1] - begin[ones])
        width = int(self.shown.max()) + 1 if len(self.shown) else 1
        keys = self.source * width + self.shown
        wanted = twos[owner] * width + self.shown[edge]
        low, high = np.searchsorted(keys, wanted), np.searchsorted(keys, wanted, side="right")
        other, match = _spread(low, high - low)
        return self.coded(self.target[edge[match]], self.target[other])

    def before(self, reached: Ints, ends: tuple[int, int]) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        """Pairs that lead to a pair in one step that looks alike, with the two labels."""
        first, second = (np.flatnonzero(self.target == node).tolist() for node in ends)
        for a in first:
            for b in second:
                starts = int(self.source[a]), int(self.source[b])
                code = min(starts) * self.size + max(starts)
                index = int(np.searchsorted(reached, code))
                if self.shown[a] == self.shown[b] and index < len(reached) and reached[index] == code:
                    yield starts, (int(self.label[a]), int(self.label[b]))


def _spread(begin: Ints, count: Ints) -> tuple[Ints, Ints]:
    """The places begin[i] … begin[i]+count[i]−1 one after the other, and the i of each."""
    if int(count.sum()) > 4 * MOST_PAIRS:
        raise TooMany(f"more than {MOST_PAIRS:,} pairs of histories that look alike")
    return _ranges(begin, count), np.repeat(np.arange(len(count)), count)


def _ranges(begin: Ints, count: Ints) -> Ints:
    return np.repeat(begin - np.cumsum(count) + count, count) + np.arange(int(count.sum()))


def _loop(stack: _Stack, reached: Ints) -> Loop | None:
    """Walk back from a bad pair among the pairs that loops lead to, until one repeats; None where none is bad."""
    observer = stack.observer
    inside = reached[(reached // stack.size < observer.size) & (reached % stack.size < observer.size)]
    while len(after := np.intersect1d(inside, stack.step(inside))) < len(inside):  # without the time before the start
        inside = after
    bad = inside[stack.differ(inside)]
    if not len(bad):
        return None
    end = divmod(int(bad[0]), stack.size)
    trail, labels = [end], list[tuple[int, int]]()
    position = {end: 0}
    while True:
        pair, label = next(stack.before(inside, trail[-1]))
        labels.append(label)
        if pair in position:
            begin = position[pair]
            break
        position[pair] = len(trail)
        trail.append(pair)
    loop, tail = labels[begin:][::-1], labels[:begin][::-1]
    words = [tuple(tuple(observer.words(label[k]) for label in part) for k in (0, 1)) for part in (loop, tail)]
    start = tuple(tuple(observer.history(node)) for node in pair)
    return Loop((start[0], start[1]), (words[0][0], words[0][1]), (words[1][0], words[1][1]))
