"""Merge the states of a layered machine: first what one step need not distinguish, then one code for many steps.

A state is (t, o, cell): a set of histories of step t under one observation, with one behaviour now and one successor
after every word u = (previous action, observation). Merging two states merges their successors under every word that
both can read, and is undone where two behaviours would meet under one observation. What one state never reads the
other may decide: the machine is incompletely specified, as histories always are.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from certify.core import merger as core
from certify.core.exact import Ints, pair, rank, representatives
from certify.core.graph import Graph

NONE = -1  # no such row; as a behaviour: any will do


@dataclass(frozen=True)
class States:
    """States of all steps, numbered through; words are `previous · observations + observation`."""

    step: list[int]
    observation: list[int]
    behaviour: list[int]
    mass: list[float]
    moves: list[dict[int, int]]  # word → state of the next step
    first: dict[int, int]  # word of the first step → state
    words: int  # how many words there are
    nodes: list[Ints]  # of each step: the state of every node (or episode) that it was made from

    @staticmethod
    def of_graph(graph: Graph, cells: Sequence[Ints]) -> "States":
        """Cells of a closed compatible assignment; previous action 0 means that there is none yet."""
        seen = len(graph.observations)
        states = States([], [], [], [], [], {}, (len(graph.actions) + 1) * seen, [])
        for t, (level, cell) in enumerate(zip(graph.levels, cells, strict=True)):
            mass = level.mass.astype(np.float64) / level.total
            states.add(t, level.observation, cell, level.law, mass)
        states.first.update(zip(graph.levels[0].observation.tolist(), states.nodes[0].tolist(), strict=True))
        for t, level in enumerate(graph.levels[:-1]):
            word = (level.action + 1) * seen + graph.levels[t + 1].observation[level.child]
            ends = states.nodes[t][level.source], word, states.nodes[t + 1][level.child]
            for source, read, target in np.unique(np.stack(ends, 1), axis=0).tolist():
                states.moves[source][read] = target
        return states

    def add(self, step: int, observation: Ints, cell: Ints, behaviour: Ints, mass: NDArray[np.float64]) -> None:
        """The states of one step, one for each (observation, cell) among nodes that have these; without moves."""
        label, count = rank(pair(observation, cell))
        one = representatives(label, count)
        self.nodes.append(label + len(self.step))
        self.step.extend([step] * count)
        self.observation.extend(observation[one].tolist())
        self.behaviour.extend(behaviour[one].tolist())
        self.mass.extend(np.bincount(label, mass, minlength=count).tolist())
        self.moves.extend({} for _ in range(count))


class Merger(core.Merger):
    """Joins of states, as long as no two behaviours meet under one observation."""

    def __init__(self, states: States) -> None:
        self.states = states
        alike: dict[int, dict[int, int]] = {}  # by observation and behaviour: its states as bits
        for state, (seen, behaviour) in enumerate(zip(states.observation, states.behaviour, strict=True)):
            masks = alike.setdefault(seen, {})
            masks[behaviour] = masks.get(behaviour, 0) | 1 << state
        others = {(seen, b): sum(masks.values()) - mask for seen, masks in alike.items() for b, mask in masks.items()}
        super().__init__(states.moves, [others[key] for key in zip(states.observation, states.behaviour, strict=True)])

    def first_fit(self, states: Iterable[int]) -> None:
        """Each state joins the first earlier one that takes it."""
        labelled: list[int] = []
        for state in states:
            self.fit(state, labelled)


def minimise(merger: Merger) -> None:
    """Merge what a step need not distinguish, from the last step back, the heaviest first.

    Where compatibility is transitive the result is Γ_t, whatever the order; elsewhere it is a closed compatible
    assignment that nothing promises to be the smallest.
    """
    fibers: dict[tuple[int, int], list[int]] = {}
    for state, key in enumerate(zip(merger.states.step, merger.states.observation, strict=True)):
        fibers.setdefault(key, []).append(state)
    for key in sorted(fibers, reverse=True):
        merger.first_fit(sorted(fibers[key], key=lambda state: -merger.states.mass[state]))


def persist(merger: Merger) -> None:
    """One code for many steps: a state keeps the code that it came with wherever it can, then codes are shared."""
    states = merger.states
    edges = [(source, target) for source, moves in enumerate(states.moves) for target in moves.values()]
    for source, target in sorted(edges, key=lambda edge: (-states.mass[edge[1]], -states.mass[edge[0]])):
        merger.merge(source, target)
    merger.first_fit(sorted(range(len(states.step)), key=lambda state: -states.mass[state]))


@dataclass(frozen=True)
class Coded:
    """A stationary machine: the code of every state, and C_t = table[C_{t−1}, word]; row `codes`: no code yet."""

    codes: int
    of_state: Ints
    table: NDArray[np.int64]  # [codes + 1, words]; NONE where nothing is known

    def walk(self, words: Ints) -> Ints:
        """The codes of episodes [T, N] by their words; NONE from where a word is not known."""
        before, codes = np.full(words.shape[1], self.codes), []
        for now in words:
            before = np.where(before == NONE, NONE, self.table[before, now])
            codes.append(before)
        return np.stack(codes)


def coded(merger: Merger) -> Coded:
    """Number what has been merged; heavy codes come first."""
    roots = [merger.find(state) for state in range(len(merger.home))]
    mass: dict[int, float] = {}
    for root, share in zip(roots, merger.states.mass, strict=True):
        mass[root] = mass.get(root, 0.0) + share
    number = {root: k for k, root in enumerate(sorted(mass, key=lambda root: -mass[root]))}
    table = np.full((len(number) + 1, merger.states.words), NONE)
    for root, k in number.items():
        for word, target in merger.moves[root].items():
            table[k, word] = number[merger.find(target)]
    for word, state in merger.states.first.items():
        table[-1, word] = number[roots[state]]
    return Coded(len(number), np.array([number[root] for root in roots]), table)
