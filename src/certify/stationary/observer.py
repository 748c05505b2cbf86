"""Observer automata: what a history determines, as a finite deterministic automaton found by search.

Under (A2) the set of hidden states that are possible (the support) is enough, whatever the probabilities are; otherwise
exact posteriors are, where they repeat. docs/theory.md proves both.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, Literal, TypeVar

import numpy as np

from certify.core.exact import Ints, representatives
from certify.core.graph import Graph, Law
from certify.stationary.process import Process

Kind = Literal["support", "posterior", "window", "model", "group"]
MOST_NODES = 2_000_000
V = TypeVar("V")
_NO_PARENT = -1
_NO_EDGES = (np.zeros(0, np.int64),) * 3


class TooMany(Exception):
    """A limit was reached before the search was complete."""


class MixedLaws(Exception):
    """(A2) fails: the hidden states that one history allows act by different laws."""

    history: list[str]


@dataclass(frozen=True)
class Observer:
    """Nodes with an observation and a law; at most one edge for each node and label. Edges are sorted by source."""

    observations: tuple[str, ...]
    actions: tuple[str, ...]
    kind: Kind
    observation: Ints
    law: Ints
    laws: tuple[Law, ...]
    source: Ints
    label: Ints
    target: Ints
    first: dict[int, int]  # O_1 → node
    parent: Ints  # one predecessor on a shortest history; −1 at the first step
    arrival: Ints  # the label that led here from it

    @property
    def size(self) -> int:
        return len(self.observation)

    @cached_property
    def moves(self) -> list[dict[int, int]]:
        """Of each node: label → node."""
        result: list[dict[int, int]] = [{} for _ in range(self.size)]
        for source, label, target in zip(self.source.tolist(), self.label.tolist(), self.target.tolist(), strict=True):
            result[source][label] = target
        return result

    @cached_property
    def by_label(self) -> dict[int, tuple[Ints, Ints]]:
        """Of each label: its sources and targets."""
        order = np.argsort(self.label, kind="stable")
        values, begin = np.unique(self.label[order], return_index=True)
        parts = np.split(order, begin[1:]) if len(values) else []
        return {
            int(label): (self.source[edges], self.target[edges]) for label, edges in zip(values, parts, strict=True)
        }

    def history(self, node: int) -> list[str]:
        """O_1, A_1, O_2, …, of a shortest history that leads to a node."""
        words: list[str] = []
        while self.parent[node] != _NO_PARENT:
            words[:0] = self.words(int(self.arrival[node]))
            node = int(self.parent[node])
        return [self.observations[self.observation[node]], *words]

    def words(self, label: int) -> tuple[str, str]:
        """The action and the observation of a label."""
        action, observation = divmod(label, len(self.observations))
        return self.actions[action], self.observations[observation]

    def law_text(self, law: int) -> str:
        """A law as people write it."""
        entries = self.laws[law]
        if len(entries) == 1:
            return self.actions[entries[0][0]]
        return ", ".join(f"{self.actions[a]} {p}" for a, p in entries)

    def quotient(self, labels: Ints, count: int) -> Observer:
        """One node for each label 0…count−1; equal labels must agree in observation, law and labels of successors."""
        node = representatives(labels, count)
        edges = np.unique(np.stack([labels[self.source], self.label, labels[self.target]], axis=1), axis=0)
        same = (edges[1:, :2] == edges[:-1, :2]).all(axis=1) if len(edges) else np.zeros(0, bool)
        if same.any():
            raise ValueError("the labels are not closed: one label leads to two classes")
        return replace(
            self,
            observation=self.observation[node],
            law=self.law[node],
            source=edges[:, 0],
            label=edges[:, 1],
            target=edges[:, 2],
            first={o: int(labels[k]) for o, k in self.first.items()},
            **self._histories(labels, count),
        )

    def _histories(self, labels: Ints, count: int) -> dict[str, Ints]:
        """Of each class: how a shortest history reaches it."""
        parent, arrival = np.full(count, _NO_PARENT), np.zeros(count, np.int64)
        for k, node in enumerate(representatives(labels, count).tolist()):  # the first found has a shortest history
            if self.parent[node] != _NO_PARENT:
                parent[k], arrival[k] = labels[self.parent[node]], self.arrival[node]
        return {"parent": parent, "arrival": arrival}


@dataclass
class Search(Generic[V]):
    """Breadth-first search over values that labels update; values with equal keys are one node."""

    process: Process
    kind: Kind
    key: Callable[[V], Hashable]
    law: Callable[[V], Law]
    after: Callable[[V], Mapping[int, V]]  # label → value
    most: int = MOST_NODES

    def run(self, starts: Mapping[int, V]) -> Observer:
        """From the value after each first observation; raises `TooMany` beyond `most` nodes."""
        self.numbers: dict[Hashable, int] = {}
        self.laws: dict[Law, int] = {}
        self.node: list[tuple[int, int, int, int]] = []  # observation, law, parent, arrival
        self.values: list[V] = []  # of each node
        self.waiting: deque[tuple[int, V]] = deque()
        edges: list[tuple[int, int, int]] = []
        first = {o: self._add(value, o, _NO_PARENT, 0) for o, value in sorted(starts.items())}
        width = len(self.process.observations)
        while self.waiting:
            number, value = self.waiting.popleft()
            reached = self.after(value)
            edges += [(number, u, self._add(reached[u], u % width, number, u)) for u in sorted(reached)]
        source, label, target = np.array(edges, np.int64).reshape(-1, 3).T.copy()
        observation, law, parent, arrival = np.array(self.node, np.int64).reshape(-1, 4).T.copy()
        names = self.process.observations, self.process.actions
        laws = tuple(self.laws)
        return Observer(*names, self.kind, observation, law, laws, source, label, target, first, parent, arrival)

    def _add(self, value: V, observation: int, parent: int, arrival: int) -> int:
        key = self.key(value)
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.node)
            if number >= self.most:
                raise TooMany(f"more than {self.most:,} {self.kind} nodes")
            try:
                law = self.law(value)
            except MixedLaws as mixed:
                mixed.history = self._history(observation, parent, arrival)
                raise
            self.node.append((observation, self.laws.setdefault(law, len(self.laws)), parent, arrival))
            self.values.append(value)
            self.waiting.append((number, value))
        return number

    def _history(self, observation: int, parent: int, arrival: int) -> list[str]:
        words: list[str] = []
        while parent != _NO_PARENT:
            words[:0] = self.process.words(arrival)
            observation, _, parent, arrival = self.node[parent]
        return [self.process.observations[observation], *words]


Support = tuple[int, ...]  # hidden states that are possible, ascending


def support_observer(process: Process, most: int = MOST_NODES) -> Observer:
    """Nodes are supports; raises `MixedLaws` where (A2) fails."""

    def law(support: Support) -> Law:
        own = process.law[support[0]]
        if any(process.law[x] != own for x in support[1:]):
            raise MixedLaws
        return own

    def after(support: Support) -> dict[int, Support]:
        if len(support) == 1:
            return process.after[support[0]]
        reached: dict[int, set[int]] = {}
        for x in support:
            for label, targets in process.after[x].items():
                reached.setdefault(label, set()).update(targets)
        return {label: tuple(sorted(targets)) for label, targets in reached.items()}

    starts: dict[int, Support] = {}
    for x, _ in process.start:
        starts[process.observation[x]] = (*starts.get(process.observation[x], ()), x)
    return Search(process, "support", lambda support: support, law, after, most).run(starts)


def model_observer(graph: Graph) -> Observer:
    """The histories of a finite model, all steps together: no clock, no continuation after the last step."""
    begin = np.cumsum([0, *(level.size for level in graph.levels)])
    parents = [np.full(graph.levels[0].size, _NO_PARENT)]
    arrivals = [np.zeros(graph.levels[0].size, np.int64)]
    for t, level in enumerate(graph.levels[1:]):
        parents.append(level.parent + begin[t])
        arrivals.append(level.arrival * len(graph.observations) + level.observation)
    edges = [
        (level.source + begin[t], graph.continuation(t), level.child + begin[t + 1])
        for t, level in enumerate(graph.levels[:-1])
    ]
    source, label, target = (np.concatenate(parts) for parts in zip(*edges, strict=True)) if edges else _NO_EDGES
    return Observer(
        tuple(graph.observations[k] for k in range(len(graph.observations))),
        tuple(graph.actions[k] for k in range(len(graph.actions))),
        "model",
        np.concatenate([level.observation for level in graph.levels]),
        np.concatenate([level.law for level in graph.levels]),
        graph.laws,
        source,
        label,
        target,
        {int(o): k for k, o in enumerate(graph.levels[0].observation.tolist())},
        np.concatenate(parents),
        np.concatenate(arrivals),
    )
