"""The other half of the closed loop: how a finite task answers an action, by its dynamics or by what was recorded.

An episode is in a *state*. With dynamics (`LivingWorld`) that is a latent and the actions so far, and any action is
answered. Without (`RecordedWorld`) it is a node of the history graph, and only what the expert does is answered: by
P(O_{t+1} | H_t, A_t), which is the world's own where (A2) holds.
"""

from bisect import bisect_right
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from certify import Model
from certify.core.exact import common_denominator
from certify.core.reading import rational

WorldState = tuple[int, Any]  # hashable
Weighted = list[tuple[WorldState, int]]  # states with integer weights: probability is weight / sum


class View(NamedTuple):
    """The observation in a state, and the support of the expert's law there; None: no demonstration shows it."""

    observation: int | None
    correct: frozenset[int]


class LivingWorld:
    """A state is (latent, names of the actions so far); an action without an answer leads nowhere."""

    def __init__(self, model: Model) -> None:
        if model.dynamics is None:
            raise ValueError("model: it has no dynamics; build it with Model.from_latents")
        graph = model.graph
        self._latents, self._step = model.dynamics.latents, model.dynamics.step
        self._observation = {graph.observations[k]: k for k in range(len(graph.observations))}
        self._names = [graph.actions[k] for k in range(len(graph.actions))]
        self._action = {name: k for k, name in enumerate(self._names)}

    def starts(self) -> Weighted:
        weights, _ = common_denominator([weight for _, weight in self._latents])
        return [((k, ()), weight) for k, weight in enumerate(weights) if weight]

    def look(self, state: WorldState) -> View:
        latent, actions = state
        shown, law = self._step(self._latents[latent][0], actions)
        names = [law] if isinstance(law, str) else [name for name, p in law.items() if rational(p, "step")]
        allowed = frozenset(self._action[name] for name in names if name in self._action)
        return View(self._observation.get(shown), allowed)

    def answer(self, state: WorldState, action: int) -> Weighted:
        latent, actions = state
        return [((latent, (*actions, self._names[action])), 1)]


class RecordedWorld:
    """A state is (step from 0, node)."""

    def __init__(self, model: Model) -> None:
        self._graph = model.graph
        self._correct = [frozenset(action for action, _ in law) for law in model.graph.laws]

    def starts(self) -> Weighted:
        return [((0, node), int(mass)) for node, mass in enumerate(self._graph.levels[0].mass)]

    def look(self, state: WorldState) -> View:
        t, node = state
        level = self._graph.levels[t]
        return View(int(level.observation[node]), self._correct[level.law[node]])

    def answer(self, state: WorldState, action: int) -> Weighted:
        t, node = state
        level = self._graph.levels[t]
        begin, end = np.searchsorted(level.source, [node, node + 1])
        return [
            ((t + 1, int(level.child[edge])), int(level.flow[edge]))
            for edge in range(begin, end)
            if level.action[edge] == action
        ]


World = LivingWorld | RecordedWorld


def world_of(model: Model) -> World:
    """The world of a model: living if it knows its dynamics, recorded otherwise."""
    return RecordedWorld(model) if model.dynamics is None else LivingWorld(model)


class Urn:
    """States to draw by their exact weights."""

    def __init__(self, states: Weighted) -> None:
        self._states = [state for state, _ in states]
        self._ends = list(accumulate(weight for _, weight in states))

    def draw(self, random: np.random.Generator) -> WorldState:
        if len(self._states) == 1:
            return self._states[0]
        return self._states[bisect_right(self._ends, _below(random, self._ends[-1]))]


def _below(random: np.random.Generator, bound: int) -> int:
    """A uniform integer in [0, bound) of any size; what falls outside is drawn again."""
    if bound < 2**62:
        return int(random.integers(bound))
    bits = bound.bit_length()
    while True:
        value = int.from_bytes(random.bytes((bits + 7) // 8), "big") >> (-bits % 8)
        if value < bound:
            return value
