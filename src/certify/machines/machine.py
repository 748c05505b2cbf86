"""The minimal machine: memory states Γ_t, update Φ_t, policy π; it runs as a policy and refuses what no expert does."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np

from certify.core.exact import Ints, pair, rank, representatives
from certify.core.graph import Graph
from certify.errors import OffSupportError
from certify.machines.naming import name_cells

K = TypeVar("K")


@dataclass(frozen=True)
class State:
    """One memory state at step `t` (from 1): the histories of one observation that it need not distinguish."""

    t: int
    index: int  # its place among the states of step t
    name: str
    observation: str
    law: dict[str, Fraction]
    probability: Fraction


@dataclass(frozen=True)
class Machine:
    """States per step and deterministic moves: C_t = Φ(C_{t−1}, O_t, A_{t−1})."""

    states: tuple[tuple[State, ...], ...]
    start: dict[str, int]  # O_1 → state
    moves: tuple[dict[tuple[int, str, str], int], ...]  # (state, A_t, O_{t+1}) → state, for t = 1…T−1

    @staticmethod
    def from_cells(graph: Graph, cells: list[Ints]) -> "Machine":
        """From one closed compatible assignment: `cells[t]` labels the nodes of level t."""
        labelled = [rank(pair(level.observation, label)) for level, label in zip(graph.levels, cells, strict=True)]
        states: list[tuple[State, ...]] = []
        moves: list[dict[tuple[int, str, str], int]] = []
        names = name_cells(graph, [label for label, _ in labelled])
        for t, (level, (label, count)) in enumerate(zip(graph.levels, labelled, strict=True)):
            masses = [0] * count
            for cell, mass in zip(label.tolist(), level.mass.tolist(), strict=True):
                masses[cell] += int(mass)
            states.append(
                tuple(
                    State(
                        t + 1,
                        cell,
                        names[t][cell],
                        graph.observations[level.observation[node]],
                        {graph.actions[a]: p for a, p in graph.laws[level.law[node]]},
                        Fraction(masses[cell], level.total),
                    )
                    for cell, node in enumerate(representatives(label, count).tolist())
                )
            )
            if t + 1 < graph.horizon:
                moves.append(_moves(graph, t, label, labelled[t + 1][0]))
        start = {state.observation: k for k, state in enumerate(states[0])}
        return Machine(tuple(states), start, tuple(moves))

    @property
    def horizon(self) -> int:
        return len(self.states)

    def begin(self, observation: str) -> State:
        """The state after the first observation."""
        if observation not in self.start:
            raise OffSupportError(f"step 1: the observation {observation!r} never comes first")
        return self.states[0][self.start[observation]]

    def advance(self, state: State, action: str, observation: str) -> State:
        """The state after acting and observing once more."""
        if state.t == self.horizon:
            raise OffSupportError(f"step {state.t} is the last; there is no move after {state.name!r}")
        target = self.moves[state.t - 1].get((state.index, action, observation))
        if target is None:
            raise OffSupportError(
                f"step {state.t}: from {state.name!r} the expert never meets {observation!r} after {action!r}"
            )
        return self.states[state.t][target]

    def distortion(self, graph: Graph) -> Fraction:
        """Largest total variation between the machine's law and P(A_t | H_t) over all reachable histories."""
        worst = Fraction(0)
        reached = {(k, self.begin(graph.observations[o]).index) for k, o in enumerate(graph.levels[0].observation)}
        for t, level in enumerate(graph.levels):
            following: set[tuple[int, int]] = set()
            begin = np.searchsorted(level.source, np.arange(level.size + 1))
            for node, index in reached:
                state = self.states[t][index]
                law = {graph.actions[a]: p for a, p in graph.laws[level.law[node]]}
                worst = max(worst, total_variation(law, state.law))
                for edge in range(begin[node], begin[node + 1]):
                    child = int(level.child[edge])
                    observation = graph.observations[graph.levels[t + 1].observation[child]]
                    following.add((child, self.advance(state, graph.actions[level.action[edge]], observation).index))
            reached = following
        return worst


def total_variation(first: Mapping[K, Fraction], second: Mapping[K, Fraction]) -> Fraction:
    """Half the sum of absolute differences."""
    names = first.keys() | second.keys()
    return sum((abs(first.get(a, Fraction(0)) - second.get(a, Fraction(0))) for a in names), Fraction(0)) / 2


def _moves(graph: Graph, t: int, label: Ints, following: Ints) -> dict[tuple[int, str, str], int]:
    level, after = graph.levels[t], graph.levels[t + 1]
    moves: dict[tuple[int, str, str], int] = {}
    for source, action, child in zip(level.source.tolist(), level.action.tolist(), level.child.tolist(), strict=True):
        key = (int(label[source]), graph.actions[action], graph.observations[after.observation[child]])
        target = int(following[child])
        if moves.setdefault(key, target) != target:
            raise ValueError(f"the cells are not closed: step {t + 1}, {key} leads to two cells")
    return moves
