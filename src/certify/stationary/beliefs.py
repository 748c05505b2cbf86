"""Rules on beliefs (QMDP, alpha vectors) as finite controllers: by beliefs that repeat, or by windows that fix them.

A vector is best on a convex set of beliefs. After the last k labels the belief lies in the hull of what each state that
was possible k steps ago would have become; where one vector is best at all of these, the window fixes the action. Only
windows that leave it open are made longer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeVar

from certify.errors import UserError
from certify.stationary.observer import TooMany
from certify.stationary.posteriors import MOST_POSTERIORS, Vector, coprime
from certify.stationary.world import START, Controller, World

MOST_WINDOWS = 20_000
MOST_WORK = 20_000_000  # products of integers in one search
N = TypeVar("N", bound=Hashable)
Anchor = str | tuple[int, ...]  # the first observation while nothing is forgotten, else the states possible then
Word = tuple[tuple[str, int], ...]  # labels (action, observation)
Window = tuple[Anchor, Word]  # and the labels since
_OPEN = ""  # the action of a window that is too short


@dataclass(frozen=True)
class AlphaVectors:
    """The action of the vector with the largest value on average over the belief; ties go to the first vector."""

    vectors: tuple[tuple[str, Mapping[int, Fraction]], ...]  # action, and the value of each state

    def best(self, belief: Mapping[int, Fraction]) -> int:
        """The number of the best vector."""
        worth = [sum(p * values[s] for s, p in belief.items()) for _, values in self.vectors]
        return worth.index(max(worth))


@dataclass(frozen=True)
class BeliefRule:
    """A rule as a finite controller that plays it exactly, and how it was found."""

    controller: Controller
    method: Literal["beliefs", "windows"]
    nodes: int
    window: int = 0  # labels remembered


def belief_controller(
    world: World, rule: AlphaVectors, window: int = 30, beliefs: int = MOST_POSTERIORS, most: int = MOST_WINDOWS
) -> BeliefRule:
    """The controller of a rule; refuses where neither beliefs repeat nor up to `window` labels fix it."""
    steps = _Steps(world, rule)
    try:
        controller = _explore(steps.starts(), steps.act, steps.after_by_name, beliefs, "beliefs")
        return BeliefRule(controller, "beliefs", len(controller.law))
    except TooMany:
        windows = _Windows(_Steps(world, rule))
    reason = f"{window} labels leave the best vector open"
    while all(len(word) < window for word in windows.open):
        windows.lengthen()
        try:
            controller = _explore(windows.starts(), windows.act, windows.after, most, "windows")
        except TooMany as limit:
            reason = f"with windows of up to {windows.longest} labels, {limit}"
            break
        if not windows.open:
            return BeliefRule(controller, "windows", len(controller.law), windows.longest)
    raise UserError("controller", f"the rule on beliefs is not a finite controller that was found: {reason}")


def _explore(
    starts: Mapping[str, N],
    act: Callable[[N], str],
    after: Callable[[N, str], Mapping[str, N]],
    most: int,
    kind: str,
) -> Controller:
    """Breadth-first search over the nodes that the rule's own actions reach."""
    numbers: dict[N, int] = {}
    waiting: list[N] = []

    def number(node: N) -> int:
        if node not in numbers:
            if len(numbers) >= most:
                raise TooMany(f"more than {most:,} {kind} are reached")
            numbers[node] = len(numbers)
            waiting.append(node)
        return numbers[node]

    first = {shown: number(node) for shown, node in sorted(starts.items())}
    laws: dict[int, str] = {}
    moves: dict[tuple[int, str], int] = {}
    for node in waiting:
        here = numbers[node]
        laws[here] = act(node)
        moves |= {(here, shown): number(target) for shown, target in after(node, laws[here]).items()}
    return Controller(first, laws, moves)


class _Steps:
    """How actions and observations move beliefs, with integer weights; and the rule on them."""

    def __init__(self, world: World, rule: AlphaVectors) -> None:
        self.world, self.left = world, MOST_WORK
        self.actions = {name: a for a, name in enumerate(world.actions)}
        scale = math.lcm(*(v.denominator for _, values in rule.vectors for v in values.values()))
        self.vectors = [(action, {s: int(v * scale) for s, v in values.items()}) for action, values in rule.vectors]
        self.rows: dict[int, list[dict[int, list[tuple[int, int]]] | None]] = {}

    def best(self, belief: Vector) -> int:
        self.spend(len(belief) * len(self.vectors))
        worth = [sum(w * values[s] for s, w in belief) for _, values in self.vectors]
        return worth.index(max(worth))

    def act(self, belief: Vector) -> str:
        return self.vectors[self.best(belief)][0]

    def starts(self) -> dict[str, Vector]:
        """The belief after each first observation."""
        weights: dict[str, dict[int, Fraction]] = {}
        for s, p in self.world.start.items():
            shown = self.world.first[s] if self.world.first else {-1: Fraction(1)}
            for o, q in shown.items():
                weights.setdefault(START if o < 0 else self.world.observations[o], {})[s] = p * q
        return {name: _whole(row) for name, row in weights.items()}

    def after(self, belief: Vector, action: str) -> dict[int, Vector]:
        """The belief after an action and each observation that can follow."""
        a = self.actions[action]
        weights: dict[int, dict[int, int]] = {}
        for s, w in belief:
            for o, entries in self.entries(a, s).items():
                self.spend(len(entries))
                row = weights.setdefault(o, {})
                for t, p in entries:
                    row[t] = row.get(t, 0) + w * p
        return {o: coprime(row) for o, row in weights.items()}

    def after_by_name(self, belief: Vector, action: str) -> dict[str, Vector]:
        return {self.world.observations[o]: following for o, following in self.after(belief, action).items()}

    def entries(self, action: int, state: int) -> dict[int, list[tuple[int, int]]]:
        """Observation → (next state, weight); the weights of an action are whole numbers of one scale."""
        if action not in self.rows:
            self.rows[action] = self.scaled(action)
        row = self.rows[action][state]
        if row is None:
            raise UserError("controller", f"takes {self.world.actions[action]!r} where it cannot be taken")
        return row

    def scaled(self, action: int) -> list[dict[int, list[tuple[int, int]]] | None]:
        rows, shown = self.world.transitions[action], self.world.emissions[action]
        given = [rows.get(s) if isinstance(rows, Mapping) else rows[s] for s in range(len(self.world.states))]
        scale = math.lcm(*(p.denominator for row in given if row for p in row.values()))
        scale *= math.lcm(*(q.denominator for row in given if row for t in row for q in shown[t].values()))
        result: list[dict[int, list[tuple[int, int]]] | None] = []
        for row in given:
            entries: dict[int, list[tuple[int, int]]] = {}
            for t, p in (row or {}).items():
                for o, q in shown[t].items():
                    entries.setdefault(o, []).append((t, int(p * q * scale)))
            result.append(None if row is None else entries)
        return result

    def spend(self, work: int) -> None:
        self.left -= work
        if self.left < 0:
            raise TooMany(f"more than {MOST_WORK:,} products are needed")


class _Windows:
    """Nodes are the last labels and what was possible before them; each allows the hull of its rays.

    A window is the shortest suffix that is not among the `inner` words. These are closed under parts, so that a window
    and a label determine the next window.
    """

    def __init__(self, steps: _Steps) -> None:
        self.steps = steps
        self.begin = steps.starts()
        self.inner: set[Word] = set()
        self.open: set[Word] = {()}  # windows that leave the action open
        self.cache: dict[Window, tuple[Vector, ...]] = {}

    def lengthen(self) -> None:
        """Make the windows that were found open longer by one label."""
        for word in self.open:
            self.inner |= {word[i:j] for j in range(len(word) + 1) for i in range(j + 1)}
        self.open = set()

    @property
    def longest(self) -> int:
        """How many labels a window has at most, once the start is forgotten."""
        return 1 + max(map(len, self.inner))

    def starts(self) -> dict[str, Window]:
        return {shown: (shown, ()) for shown in self.begin}

    def rays(self, window: Window) -> tuple[Vector, ...]:
        if window not in self.cache:
            anchor, labels = window
            if labels:
                action, shown = labels[-1]
                moved = (self.steps.after(ray, action).get(shown) for ray in self.rays((anchor, labels[:-1])))
                self.cache[window] = tuple(sorted({ray for ray in moved if ray is not None}))
            elif isinstance(anchor, str):
                self.cache[window] = (self.begin[anchor],)
            else:
                self.cache[window] = tuple(((s, 1),) for s in anchor)
        return self.cache[window]

    def act(self, window: Window) -> str:
        best = {self.steps.best(ray) for ray in self.rays(window)}
        if len(best) > 1:
            self.open.add(window[1])
            return _OPEN
        return self.steps.vectors[best.pop()][0]

    def after(self, window: Window, action: str) -> dict[str, Window]:
        if action == _OPEN:
            return {}
        anchor, labels = window
        result: dict[str, Window] = {}
        for shown in sorted({o for ray in self.rays(window) for o in self.steps.after(ray, action)}):
            longer = (*labels, (action, shown))
            forgotten = len(longer)
            while forgotten and longer[forgotten:] in self.inner:
                forgotten -= 1
            following: Window = (anchor, longer)
            if forgotten:
                possible = {s for ray in self.rays((anchor, longer[:forgotten])) for s, _ in ray}
                following = (tuple(sorted(possible)), longer[forgotten:])
            result[self.steps.world.observations[shown]] = following
        return result


def _whole(row: Mapping[int, Fraction]) -> Vector:
    scale = math.lcm(*(p.denominator for p in row.values()))
    return coprime({s: int(p * scale) for s, p in row.items()})
