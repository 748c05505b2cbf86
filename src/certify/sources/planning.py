"""Experts for worlds that come without one: planned in floating point, then frozen as exact tables."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from certify.sources._problem import Row
from certify.sources.pomdp import Pomdp
from certify.stationary.beliefs import AlphaVectors
from certify.stationary.world import Controller, Privileged

Floats = NDArray[np.float64]
_DISCOUNT = 0.95  # where a file has none
_SWEEPS = 400
_TIE = 1e-9  # relative; actions this close are equally good, and the first is taken


@dataclass(frozen=True)
class Planner:
    """A problem as arrays."""

    pomdp: Pomdp

    @cached_property
    def move(self) -> Floats:
        """P(s′ | s, a) as [a, s, s′]."""
        return _dense(self.pomdp.transitions, len(self.pomdp.states))

    @cached_property
    def show(self) -> Floats:
        """P(o | a, s′) as [a, s′, o]."""
        return _dense(self.pomdp.emissions, len(self.pomdp.observations))

    @cached_property
    def reward(self) -> Floats:
        """E[R | s, a] as [a, s]."""
        return np.array([[float(r) for r in row] for row in self.pomdp.expected_rewards])

    @property
    def discount(self) -> float:
        return min(float(self.pomdp.discount), _DISCOUNT) if self.pomdp.discount else _DISCOUNT

    @cached_property
    def action_values(self) -> Floats:
        """Q(a, s) of the problem whose state is seen."""
        values = self.reward
        for _ in range(_SWEEPS):
            values = self.reward + self.discount * self.move @ values.max(axis=0)
        return values

    def qmdp(self) -> AlphaVectors:
        """Act as if everything were seen from the next step on."""
        rows = [{s: Fraction(f"{v:.6e}") for s, v in enumerate(row.tolist())} for row in self.action_values]
        return AlphaVectors(tuple(zip(self.pomdp.actions, rows, strict=True)))

    def privileged(self) -> Privileged:
        """The best policy of an expert that sees the state."""
        values = self.action_values
        best = (values >= values.max(axis=0) - _TIE * np.abs(values).max()).argmax(axis=0).tolist()
        return Privileged({s: self.pomdp.actions[a] for s, a in zip(self.pomdp.states, best, strict=True)})

    def policy_graph(self, nodes: int = 30, seed: int = 0) -> Controller:
        """Point-based value iteration at sampled beliefs; each vector that is left is a node."""
        points = self._beliefs(nodes, seed)
        alpha = np.full((1, len(self.pomdp.states)), self.reward.min() / (1 - self.discount))
        for _ in range(_SWEEPS // 2):
            alpha, _, _ = self._backup(points, alpha)
            alpha = np.unique(alpha.round(9), axis=0)
        _, acts, following = self._backup(points, alpha)
        best = (points @ alpha.T).argmax(axis=1)  # of each point: its vector
        owner = {int(vector): k for k, vector in reversed(list(enumerate(best.tolist())))}
        names = self.pomdp.observations
        law = {j: self.pomdp.actions[int(acts[k])] for j, k in owner.items()}
        nearest = (alpha @ alpha[sorted(owner)].T).argmax(axis=1)  # vectors of no point stand for the most alike
        stand = {j: j if j in owner else sorted(owner)[int(nearest[j])] for j in range(len(alpha))}
        moves = {(j, o): stand[int(following[k, z])] for j, k in owner.items() for z, o in enumerate(names)}
        return Controller(int(best[0]), law, moves)

    def _beliefs(self, count: int, seed: int) -> Floats:
        """The start, and beliefs on walks from it; every other step is the one that QMDP would take."""
        chance = np.random.default_rng(seed)
        start = np.zeros(len(self.pomdp.states))
        for s, p in self.pomdp.start.items():
            start[s] = float(p)
        points = [start]
        belief = start
        for step in range(20 * count):
            if len(points) >= count:
                break
            greedy = int((self.action_values @ belief).argmax())
            a = greedy if step % 2 else int(chance.integers(len(self.pomdp.actions)))
            joint = (belief @ self.move[a])[:, None] * self.show[a]
            weight = joint.sum(axis=0)
            z = int(chance.choice(len(weight), p=weight / weight.sum()))
            belief = start if step % 40 == 39 else joint[:, z] / weight[z]
            if min(np.abs(belief - other).sum() for other in points) > 1e-3:
                points.append(belief)
        return np.array(points)

    def _backup(self, points: Floats, alpha: Floats) -> tuple[Floats, Floats, Floats]:
        """Of each point: its new vector, the action, and the vector to go on with after each observation."""
        best: list[tuple[float, Floats, int, Floats]] = [(-np.inf, points[0], 0, points[0])] * len(points)
        for a in range(len(self.pomdp.actions)):
            ahead = np.einsum("tz,jt->zjt", self.show[a], alpha) @ self.move[a].T  # [z, j, s]
            scores = np.einsum("zjs,ps->pzj", ahead, points)
            chosen = scores.argmax(axis=2)  # [p, z]
            for k, point in enumerate(points):
                rows = ahead[np.arange(len(ahead)), chosen[k]]
                vector = self.reward[a] + self.discount * rows.sum(axis=0)
                value = float(vector @ point)
                if value > best[k][0] + _TIE * abs(value):
                    best[k] = (value, vector, a, chosen[k])
        return np.array([b[1] for b in best]), np.array([b[2] for b in best]), np.array([b[3] for b in best])


def _dense(rows: tuple[tuple[Row, ...], ...], width: int) -> Floats:
    result = np.zeros((len(rows), len(rows[0]), width))
    for a, by_state in enumerate(rows):
        for s, row in enumerate(by_state):
            for k, p in row.items():
                result[a, s, k] = float(p)
    return result
