"""What codes stand for: the required classes of a task, numbered once, and each run's codes matched to them by overlap.

A class is known by the decisions it keeps open: which action follows at each later step where the observation alone is
not enough. The same decisions have the same number, hence the same colour and name, in every seed, machine and film.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from certify import Answer
from diacritic.measure.recorded import Classes
from diacritic.report.labels import differing, grouped

NOTHING, MIXED = -1, -2  # nothing need be kept; one code for several classes
PURE = 0.9  # share of a code's episodes that must be of one class
MOST_NODES, MOST_EPISODES = 20_000, 4096
SMALL = 1e-9  # bits
Ints = NDArray[np.integer[Any]]
Decisions = frozenset[tuple[int, str]]  # (step from 0, action)


class Look(NamedTuple):
    """How a code is drawn at a step: the number of its class, and whether that class has another, main code."""

    number: int
    second: bool = False


class Meanings:
    """The required classes of one task, in the order in which they were met."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Decisions, int], int] = {}

    def number(self, decisions: Decisions, rank: int) -> int:
        """The number of a class; `rank` separates classes of one observation that keep the same decisions open."""
        return self._numbers.setdefault((decisions, rank), len(self._numbers))

    @property
    def names(self) -> list[str]:
        """Each class by the actions that it decides."""
        by_step: dict[int, set[str]] = {}
        for decisions, _ in self._numbers:
            for t, action in decisions:
                by_step.setdefault(t, set()).add(action)
        short = {}
        for t, actions in by_step.items():
            ordered = sorted(actions)
            short |= {(t, action): text for action, text in zip(ordered, differing(ordered), strict=True)}
        return [self._name(decisions, rank, k, short) for (decisions, rank), k in self._numbers.items()]

    @staticmethod
    def _name(decisions: Decisions, rank: int, number: int, short: Mapping[tuple[int, str], str]) -> str:
        count = Counter(t for t, _ in decisions)
        words = dict.fromkeys(short[t, action] for t, action in sorted(decisions) if count[t] == 1)
        name = ", ".join(list(words)[:4]) or f"class {number + 1}"
        return f"{name} ({rank + 1})" if rank else name

    def of_episodes(self, seen: Ints, acted: Ints, actions: Sequence[str]) -> Ints:
        """The class of every step and episode [T, N], from observations and actions by number."""
        classes = Classes.of(seen, acted)
        deciding = [t for t, bits in enumerate(classes.decision) if bits > SMALL]
        meanings = np.full(seen.shape, NOTHING)
        for t in range(len(seen)):
            later = [s for s in deciding if s >= t]
            for fiber in np.unique(seen[t]):
                inside = np.flatnonzero(seen[t] == fiber)
                kinds = np.unique(classes.memory[t, inside])
                if len(kinds) < 2:
                    continue
                members = [inside[classes.memory[t, inside] == kind] for kind in kinds]
                keys: list[Decisions] = []
                for mine in members:
                    taken = ((s, a) for s in later for a in np.unique(acted[s, mine]).tolist())
                    keys.append(frozenset((s, str(actions[a])) for s, a in taken))
                for mine, number in zip(members, self._ranked(keys), strict=True):
                    meanings[t, mine] = number
        return meanings

    def of_machine(self, answer: Answer, labels: Sequence[Ints]) -> list[list[int]]:
        """The class of every state, step by step; `labels` has the state of each history."""
        graph = answer.joint.graph
        if sum(level.size for level in graph.levels) > MOST_NODES:
            return [[NOTHING] * len(states) for states in answer.machine.states]
        deciding = {step.t - 1 for step in answer.steps if step.instantaneous > SMALL}
        levels: list[list[int]] = []
        later: list[Decisions] = []
        for t in range(graph.horizon - 1, -1, -1):
            level = graph.levels[t]
            open_now: list[set[tuple[int, str]]] = [set() for _ in range(level.size)]
            for source, child in zip(level.source.tolist(), level.child.tolist(), strict=True):
                open_now[source] |= later[child]
            if t in deciding:
                for node, law in enumerate(level.law.tolist()):
                    open_now[node] |= {(t, graph.actions[action]) for action, _ in graph.laws[law]}
            later = [frozenset(each) for each in open_now]
            levels.append(self._of_states(answer.machine.states[t], later, labels[t]))
        return self._renumbered(levels[::-1])

    def _of_states(self, states: Sequence[Any], kept: Sequence[Decisions], label: Ints) -> list[int]:
        keys: list[Decisions] = [frozenset()] * len(states)
        for node, state in enumerate(label.tolist()):
            keys[state] |= kept[node]
        numbers = [NOTHING] * len(states)
        for group in grouped(range(len(states)), lambda k: states[k].observation).values():
            if len(group) > 1:
                for k, number in zip(group, self._ranked([keys[k] for k in group]), strict=True):
                    numbers[k] = number
        return numbers

    def _ranked(self, keys: Sequence[Decisions]) -> list[int]:
        met: Counter[Decisions] = Counter()
        numbers = []
        for key in keys:
            numbers.append(self.number(key, met[key]))
            met[key] += 1
        return numbers

    def _renumbered(self, levels: list[list[int]]) -> list[list[int]]:
        """Numbers in the order of time, then of names, whatever machine they came from."""
        first: dict[int, int] = {}
        for t, level in enumerate(levels):
            for number in level:
                first.setdefault(number, t)
        names = self.names
        order = {k: rank for rank, k in enumerate(sorted(range(len(names)), key=lambda k: (first[k], names[k])))}
        self._numbers = dict(sorted(((key, order[k]) for key, k in self._numbers.items()), key=lambda item: item[1]))
        return [[order.get(number, number) for number in level] for level in levels]


def looks(codes: Ints, classes: Ints, seen: Ints) -> list[dict[int, Look]]:
    """At every step, how each code is drawn: the class that it overlaps most, all arrays [T, N].

    A code is second where in no observation it is the most frequent code of its class; one that serves several classes
    is mixed.
    """
    return [_looks(*arrays) for arrays in zip(codes, classes, seen, strict=True)]


def _looks(codes: Ints, classes: Ints, seen: Ints) -> dict[int, Look]:
    cells = Counter(zip(seen.tolist(), classes.tolist(), codes.tolist(), strict=True))
    by_code: dict[int, Counter[int]] = {code: Counter() for code in set(codes.tolist())}
    best: dict[tuple[int, int], tuple[int, int]] = {}
    for (fiber, number, code), count in cells.items():
        if number >= 0:
            by_code[code][number] += count
            best[fiber, number] = max(best.get((fiber, number), (0, 0)), (count, -code))
    main = {(number, -code) for (_, number), (_, code) in best.items()}
    looks = {}
    for code, counts in by_code.items():
        number, count = max(counts.items(), key=lambda item: (item[1], -item[0]), default=(NOTHING, 0))
        if counts and count < PURE * counts.total():
            looks[code] = Look(MIXED)
        else:
            looks[code] = Look(number, number >= 0 and (number, code) not in main)
    return looks
