"""The layered history graph: one level per step, one node per history (or per set of histories with equal futures)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Protocol, SupportsIndex

import numpy as np

from certify.core.exact import (
    Ints,
    Masses,
    brief,
    conditional_entropy,
    group_sums,
    pair,
    rank,
    representatives,
    total_of,
)
from certify.errors import UserError

LONG = 60  # letters of a name that is shown as it is
_LISTED = 100_000  # observations that a legend is made of
Law = tuple[tuple[int, Fraction], ...]  # sorted (action, probability), no zeros


class Names(Protocol):
    """Names by number: a tuple, or something that makes them when asked."""

    def __getitem__(self, k: SupportsIndex, /) -> str: ...

    def __len__(self) -> int: ...


def law_text(law: Mapping[str, Fraction]) -> str:
    """A law as people write it: ``left`` or ``left 7/10, right 3/10``."""
    return next(iter(law)) if len(law) == 1 else ", ".join(f"{action} {p}" for action, p in law.items())


class Laws:
    """Interned action laws: equal laws have equal ids."""

    def __init__(self, table: Iterable[Law] = ()) -> None:
        self.table = list(table)
        self._ids = {law: k for k, law in enumerate(self.table)}

    def intern(self, law: Mapping[int, Fraction]) -> int:
        key = tuple(sorted((action, p) for action, p in law.items() if p))
        if key not in self._ids:
            self._ids[key] = len(self.table)
            self.table.append(key)
        return self._ids[key]


@dataclass(frozen=True)
class Level:
    """Step t. Edges lead to the next level, sorted by (source, action, next observation)."""

    observation: Ints
    law: Ints  # id of P(A_t | H_t)
    mass: Masses  # P(H_t) times `total`
    total: int
    parent: Ints  # one predecessor, for printing a history
    arrival: Ints  # the action that led here from it
    paths: Masses  # histories that the node stands for
    history_entropy: float  # H(H_t | O_t)
    mixed: dict[int, dict[int, int]]  # (A2) fails: node → laws of the states consistent with it, with their shares
    source: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    action: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    child: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    flow: Masses = field(default_factory=lambda: np.zeros(0, np.int64))  # P(source, edge) in the next level's total

    @property
    def size(self) -> int:
        return len(self.observation)

    @cached_property
    def fiber_mass(self) -> Masses:
        """P(O_t) of each node's observation, times `total`."""
        return fiber_masses(self.observation, self.mass)

    @cached_property
    def group(self) -> tuple[Ints, int]:
        """Nodes by (observation, law): the behavioural classes G_t as a history knows them."""
        return rank(pair(self.observation, self.law))


@dataclass(frozen=True)
class Graph:
    """Levels t = 1…T with the names of observations and actions and the table of laws."""

    levels: Sequence[Level]
    observations: Names
    actions: Names
    laws: tuple[Law, ...]

    @property
    def horizon(self) -> int:
        return len(self.levels)

    def continuation(self, t: int) -> Ints:
        """u = (A_t, O_{t+1}) of each edge that leaves level t, as one integer."""
        level = self.levels[t]
        return level.action * len(self.observations) + self.levels[t + 1].observation[level.child]

    def edges(self, t: int) -> Iterator[tuple[int, int, int]]:
        """(source, continuation, child) of each edge that leaves level t; the last level has none."""
        level, words = self.levels[t], self.continuation(t).tolist() if t + 1 < self.horizon else []
        return zip(level.source.tolist(), words, level.child.tolist(), strict=True)

    def children(self, t: int) -> list[dict[int, int]]:
        """Of each node of level t: continuation → node."""
        result: list[dict[int, int]] = [{} for _ in range(self.levels[t].size)]
        for source, word, child in self.edges(t):
            result[source][word] = child
        return result

    def label(self, observation: SupportsIndex) -> str:
        """An observation in a few letters: its name, or ``obs#12`` by its number where the name is long."""
        name = self.observations[observation]
        return name if len(name) <= LONG else f"obs#{int(observation)}"

    @cached_property
    def legend(self) -> dict[str, str]:
        """Which observations have labels instead of names."""
        pairs = ((self.label(k), self.observations[k]) for k in range(min(len(self.observations), _LISTED)))
        return {label: name for label, name in pairs if label != name}

    def history(self, t: int, node: int, short: bool = False) -> list[str]:
        """O_1, A_1, O_2, …, O_t of one history that leads to a node, by names or in a few letters."""
        words: list[str] = []
        for step in range(t, -1, -1):
            level = self.levels[step]
            words.append((self.label if short else self.observations.__getitem__)(level.observation[node]))
            if step:
                words.append(self.actions[level.arrival[node]])
            node = int(level.parent[node])
        return words[::-1]

    def law_text(self, law: int) -> str:
        """A law of the table as people write it."""
        return law_text({self.actions[a]: p for a, p in self.laws[law]})


@dataclass(frozen=True)
class Episodes:
    """Whole trajectories as integer arrays: one row an episode, one column a step."""

    observation: Ints
    action: Ints
    law: Ints
    weight: Masses
    observations: Names
    actions: Names
    laws: Laws
    origin: Ints  # each row's place in the input, for error messages
    empirical: bool = False


def build(episodes: Episodes) -> Graph:
    """The prefix tree of the episodes."""
    levels = tuple(tree_levels(episodes))  # averages of laws are added to the table on the way
    return Graph(levels, episodes.observations, episodes.actions, tuple(episodes.laws.table))


def tree_levels(episodes: Episodes) -> Iterator[Level]:
    """The prefix tree of the episodes, level by level."""
    horizon = episodes.observation.shape[1]
    weight, total = episodes.weight, total_of(episodes.weight)
    label, size = rank(episodes.observation[:, 0].astype(np.int64))
    mass = group_sums(label, weight, size)
    parent, arrival = np.zeros(size, np.int64), np.zeros(size, np.int64)
    for t in range(horizon):
        first = representatives(label, size)
        law, mixed = _average_laws(episodes, t, label, first)
        observation, ones = episodes.observation[first, t], np.ones(size, np.int64)
        entropy = conditional_entropy(mass, fiber_masses(observation, mass), total)
        level = Level(observation, law, mass, total, parent, arrival, ones, entropy, mixed)
        if t + 1 < horizon:
            if not episodes.empirical:
                _check_draws(episodes, t, label, mass, law, first)
            if size < len(label):  # one history an episode stays one
                step = pair(pair(label, episodes.action[:, t]), episodes.observation[:, t + 1])
                child, size = rank(step)
            else:
                child = label
            first = representatives(child, size)
            parent, arrival = label[first], episodes.action[first, t]
            label, mass = child, group_sums(child, weight, size)
            level = replace(level, source=parent, action=arrival, child=np.arange(size), flow=mass)
        yield level


def fiber_masses(observation: Ints, mass: Masses) -> Masses:
    """P(O_t) of each node's observation, times the level's total."""
    fiber, fibers = rank(observation)
    return group_sums(fiber, mass, fibers)[fiber]


def _average_laws(episodes: Episodes, t: int, label: Ints, first: Ints) -> tuple[Ints, dict[int, dict[int, int]]]:
    """P(A_t | H_t) per node; nodes whose episodes disagree on the law violate (A2)."""
    column = episodes.law[:, t]
    law = column[first]
    odd = np.flatnonzero(column != law[label])
    if not len(odd):
        return law, {}
    law = law.copy()
    mixed: dict[int, dict[int, int]] = {int(node): {} for node in np.unique(label[odd])}
    for episode in np.flatnonzero(np.isin(label, list(mixed))):
        shares = mixed[int(label[episode])]
        shares[int(column[episode])] = shares.get(int(column[episode]), 0) + int(episodes.weight[episode])
    for node, shares in mixed.items():
        law[node] = episodes.laws.intern(average(shares, episodes.laws.table))
    return law, mixed


def average(shares: Mapping[int, int] | Mapping[int, Fraction], table: list[Law]) -> dict[int, Fraction]:
    """The mixture of laws with the given weights."""
    whole = sum(shares.values())
    mixture: dict[int, Fraction] = {}
    for law, share in shares.items():
        for action, p in table[law]:
            mixture[action] = mixture.get(action, Fraction(0)) + p * share / whole
    return mixture


def _check_draws(episodes: Episodes, t: int, label: Ints, mass: Masses, law: Ints, first: Ints) -> None:
    """The weight that draws an action after a history must be the history's mass times the law of that action."""
    table = episodes.laws.table
    degree = np.array([len(entries) for entries in table], np.int64)
    if np.all(degree[law] == 1):  # the support check of each step already says it all
        return
    nodes = np.flatnonzero(degree[law] > 1)
    start = np.r_[0, np.cumsum(degree)[:-1]]
    owner = np.repeat(nodes, degree[law[nodes]])
    offset = np.arange(len(owner)) - np.repeat(np.cumsum(degree[law[nodes]]) - degree[law[nodes]], degree[law[nodes]])
    entry = start[law[owner]] + offset
    flat = [(action, p) for entries in table for action, p in entries]
    small = max(p.denominator for _, p in flat) * total_of(mass) < 2**62
    kind = np.int64 if small else object
    numerator = np.array([p.numerator for _, p in flat], dtype=kind)[entry]
    denominator = np.array([p.denominator for _, p in flat], dtype=kind)[entry]
    action = np.array([a for a, _ in flat], np.int64)[entry]
    width = len(episodes.actions)
    drawn_key, wanted_key = label * width + episodes.action[:, t], owner * width + action
    inverse, size = rank(np.r_[drawn_key, wanted_key])
    drawn = group_sums(inverse[: len(drawn_key)], episodes.weight, size)[inverse[len(drawn_key) :]]
    expected = mass[owner].astype(kind) * numerator
    wrong = np.flatnonzero(drawn.astype(kind) * denominator != expected)
    if len(wrong):
        k = int(wrong[0])
        share = brief(Fraction(int(drawn[k]), int(mass[owner[k]])))
        law_share = brief(Fraction(int(numerator[k]), int(denominator[k])))
        raise UserError(
            f"episodes[{episodes.origin[first[owner[k]]]}].steps[{t}]",
            f"after this history the episodes draw {episodes.actions[action[k]]!r} with weight {share} of the whole, "
            f"but the laws there give it {law_share}; "
            'correct the weights, or set "empirical": true',
        )
