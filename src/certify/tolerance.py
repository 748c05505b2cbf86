"""Soft experts: the memory that a policy needs which may differ a little from the expert, as a proved bracket.

A policy is within ε if after every history its law is at most ε from the expert's (total variation, or relative
entropy KL(expert‖policy) in bits). Two histories whose laws are further apart than any law is near to both, somewhere
in their common future, cannot share a memory state. Laws linked by chains of nearer ones are merged: the model that is
left has no conflict that is not real, so its requirement is a lower bound. Where chains are long, another is better:
histories that share a state give each action probabilities of a narrow range, so no state is likely. The upper bound is
a machine: laws are gathered in balls, each with one law that is within ε of all of them, and the machine of the model
with those laws is within ε of the expert. At ε = 0 both ends are the exact requirement.
"""

import json
import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from certify.answer import Answer, certify
from certify.core.exact import Ints, Masses, pair, rank
from certify.core.graph import Graph, Law, Laws
from certify.core.model import Model
from certify.core.reading import Rational, rational
from certify.core.relations import blocks
from certify.errors import UserError, inert
from certify.machines.machine import Machine, total_variation

Divergence = Literal["tv", "kl"]
_MARGIN = 1e-9  # floats nearer to a threshold than this count against us


@dataclass(frozen=True)
class SoftStep:
    """One step: the least bits of a policy within the tolerance lie in [lower, upper]."""

    t: int
    lower: float
    upper: float
    error: float  # worst distance of the machine's law from the expert's


@dataclass(frozen=True)
class SoftAnswer:
    """The bracket at every step, and the machine that attains its upper end."""

    tolerance: Fraction
    divergence: Divergence
    lower: Answer  # of the model whose near laws are merged
    upper: Answer  # of the model whose laws are those of the machine
    steps: tuple[SoftStep, ...]

    @cached_property
    def machine(self) -> Machine:
        return self.upper.machine

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": "certify-tolerance/1",
            "tolerance": str(self.tolerance),
            "divergence": self.divergence,
            "worst_error": max(step.error for step in self.steps),
            "steps": [vars(step) for step in self.steps],
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=1) + "\n"

    def text(self) -> str:
        """The bracket for people."""
        name = inert(self.upper.name) or "model"
        lines = [f"{name}: bits that a policy needs which is within {self.tolerance} ({self.divergence}) of the expert"]
        lines += ["   t      at least     enough  worst error"]
        lines += [f"{s.t:4}{s.lower:14.4f}{s.upper:11.4f}{s.error:13.6f}" for s in self.steps]
        return "\n".join(lines)


def within(model: Model, tolerance: Rational, divergence: Divergence = "tv", seconds: float = 10.0) -> SoftAnswer:
    """The memory that a policy needs which may be off by `tolerance` after every history."""
    epsilon = rational(tolerance, "tolerance")
    if epsilon < 0 or divergence not in ("tv", "kl"):
        raise UserError("tolerance", f"expected a number that is not negative, as tv or kl, not {epsilon} {divergence}")
    graph, metric = model.graph, _Metric(model.graph, divergence, epsilon)
    loose = [_relabelled(level.observation, level.law, metric.chains) for level in graph.levels]
    tight = [_relabelled(level.observation, level.law, metric.balls) for level in graph.levels]
    lower, upper = (certify(_with_laws(model, laws, metric.laws), seconds=seconds) for laws in (loose, tight))
    errors = [metric.worst(level.law, laws) for level, laws in zip(graph.levels, tight, strict=True)]
    ranges = metric.ranges(graph)
    steps = tuple(
        SoftStep(low.t, min(max(low.lower, spread), high), high, error)
        for low, spread, high, error in zip(lower.steps, ranges, upper.joint.rates, errors, strict=True)
    )
    return SoftAnswer(epsilon, divergence, lower, upper, steps)


def _relabelled(observation: Ints, law: Ints, merge: Callable[[Ints], Ints]) -> Ints:
    """The laws of each observation merged; `merge` gives a law for each of its laws."""
    result = law.copy()
    for nodes in blocks(observation):
        laws, where = np.unique(law[nodes], return_inverse=True)
        if len(laws) > 1:
            result[nodes] = merge(laws)[where.ravel()]
    return result


def _with_laws(model: Model, laws: list[Ints], table: Laws) -> Model:
    levels = tuple(replace(level, law=law, mixed={}) for level, law in zip(model.graph.levels, laws, strict=True))
    return Model(replace(model.graph, levels=levels, laws=tuple(table.table)), name=model.name)


class _Metric:
    """Distances between laws, in floats where those decide and exactly where they do not."""

    def __init__(self, graph: Graph, divergence: Divergence, epsilon: Fraction) -> None:
        self.laws, self.divergence, self.epsilon = Laws(graph.laws), divergence, epsilon
        self.width, self._limit = len(graph.actions), float(epsilon)
        self.rows = np.array([_row(law, self.width) for law in self.laws.table])
        radius = self._limit if divergence == "tv" else math.sqrt(self._limit * math.log(2) / 2)  # by Pinsker
        self._reach = 2 * radius + _MARGIN  # the most by which the probabilities of near laws differ

    def chains(self, laws: Ints) -> Ints:
        """The first law of each set of laws that are linked by pairs which one law may stand for."""
        rows = self.rows[laws]
        values = rows[:, np.argmax(rows.max(axis=0) - rows.min(axis=0))]  # of the action that differs most
        order = np.argsort(values, kind="stable")
        line = values[order]
        home = np.full(len(laws), -1)
        for first in range(len(laws)):
            waiting = [first] if home[first] < 0 else []
            home[waiting] = first
            while waiting:
                law = waiting.pop()
                low, high = np.searchsorted(line, [values[law] - self._reach, values[law] + self._reach])
                left = order[low:high]
                left = left[home[left] < 0]
                if len(left):
                    near = left[self._near(int(laws[law]), laws[left])]
                    home[near] = first
                    waiting += near.tolist()
        return laws[home]

    def balls(self, laws: Ints) -> Ints:
        """For each law, one that is within the tolerance of it; as few as a greedy choice makes them."""
        result = laws.copy()
        for left in blocks(self.chains(laws)):
            while len(left):
                row = self.rows[laws[left]]
                outermost = row[np.lexsort(row.T[::-1])[0]]
                left = left[np.argsort(_total_variation(outermost, row), kind="stable")]
                size = len(left)
                if self._centre(laws[left]) is None:  # the longest beginning that has one, by halving
                    size = bisect_left(
                        range(1, size), True, key=lambda k, kept=left: self._centre(laws[kept[:k]]) is None
                    )
                centre = self._centre(laws[left[:size]])
                assert centre is not None, "one law is its own centre"
                result[left[:size]] = centre
                left = left[size:]
        return result

    def worst(self, laws: Ints, centres: Ints) -> float:
        """The largest distance of a law from the one that stands for it."""
        pairs = np.unique(np.stack([laws, centres], axis=1), axis=0)
        return max(float(self._distance(int(c), np.array([p]))[0]) for p, c in pairs)

    def ranges(self, graph: Graph) -> list[float]:
        """A lower bound of each step: H(C_t | O_t) is at least that of a later state given what came in between."""
        tree = all((level.paths == 1).all() for level in graph.levels)
        bounds: list[float] = []
        for t, level in enumerate(graph.levels):
            key, best = rank(level.observation)[0], 0.0
            for later in graph.levels[t:]:
                if later is not level:
                    key = rank(pair(pair(key[later.parent], later.arrival), later.observation))[0]
                best = max(best, _range_bound(key, self.rows[later.law], later.mass, self._reach))
                if not tree:
                    break
            bounds.append(best)
        return bounds

    def _near(self, law: int, others: Ints) -> NDArray[np.bool_]:
        """Whether some law may be within the tolerance of both; where in doubt, yes."""
        if not self.epsilon:
            return others == law
        if self.divergence == "kl":  # of two relative entropies from one law, the larger is at least Jensen–Shannon's
            mean = (self.rows[others] + self.rows[law]) / 2
            return (_relative(self.rows[others], mean) + _relative(self.rows[law], mean)) / 2 <= self._limit + _MARGIN
        distance = _total_variation(self.rows[law], self.rows[others])
        near = distance <= 2 * self._limit
        for k in np.flatnonzero(np.abs(distance - 2 * self._limit) <= _MARGIN):
            near[k] = total_variation(dict(self.laws.table[law]), dict(self.laws.table[others[k]])) <= 2 * self.epsilon
        return near

    def _centre(self, laws: Ints) -> int | None:
        """A law within the tolerance of all of these: halfway between the least and the largest of each action."""
        if len(laws) == 1:
            return int(laws[0])
        rows = self.rows[laws]
        least, most = rows.argmin(axis=0), rows.argmax(axis=0)
        ends = [
            (dict(self.laws.table[laws[low]]), dict(self.laws.table[laws[high]]))
            for low, high in zip(least, most, strict=True)
        ]
        middle = {a: low.get(a, Fraction(0)) + high.get(a, Fraction(0)) for a, (low, high) in enumerate(ends)}
        whole = sum(middle.values(), Fraction(0))
        centre = self.laws.intern({a: p / whole for a, p in middle.items()})
        if centre == len(self.rows):
            self.rows = np.vstack([self.rows, _row(self.laws.table[centre], self.width)])
        distance = self._distance(centre, laws)
        doubtful = np.abs(distance - self._limit) <= _MARGIN
        if (distance[~doubtful] > self._limit).any():
            return None
        table = self.laws.table
        if self.divergence == "kl":
            return None if (laws[doubtful] != centre).any() else centre
        return (
            centre
            if all(total_variation(dict(table[centre]), dict(table[k])) <= self.epsilon for k in laws[doubtful])
            else None
        )

    def _distance(self, centre: int, laws: Ints) -> NDArray[np.float64]:
        if self.divergence == "kl":
            return _relative(self.rows[laws], self.rows[centre])
        return _total_variation(self.rows[centre], self.rows[laws])


def _range_bound(key: Ints, rows: NDArray[np.float64], masses: Masses, width: float) -> float:
    """Σ p·log₂(P(key)/m), where m bounds what can share a state: ranges of every action's probability up to `width`."""
    mass = masses.astype(float) / float(masses.sum())
    whole = np.bincount(key, mass)[key]
    most = whole
    for column in rows.T:
        if column.min() < column.max():
            most = np.minimum(most, _likeliest(key, column, mass, width))
    return float(np.sum(mass * np.log2(np.maximum(whole / most, 1))))


def _likeliest(key: Ints, values: NDArray[np.float64], mass: NDArray[np.float64], width: float) -> NDArray[np.float64]:
    """Of each entry, the largest mass of an interval of that width, of its own key, which holds it."""
    shifted = values + key * (2 + 2 * width)  # keys far apart: one line for all
    order = np.argsort(shifted, kind="stable")
    line, total = shifted[order], np.concatenate([[0.0], np.cumsum(mass[order])])
    best = total[np.searchsorted(line, line + width, side="right")] - total[:-1]  # of intervals that begin at an entry
    first = np.searchsorted(line, line - width, side="left")
    span = np.arange(len(line)) - first + 1
    result = np.empty(len(line))
    doubled, size = best, 1  # doubled[i] is the largest of best[i : i + size]
    while True:
        here = np.flatnonzero((span >= size) & (span < 2 * size))
        result[order[here]] = np.maximum(doubled[first[here]], doubled[here - size + 1])
        if 2 * size > span.max():
            return result
        doubled, size = np.maximum(doubled, np.append(doubled[size:], doubled[-1:].repeat(size))), 2 * size


def _row(law: Law, width: int) -> NDArray[np.float64]:
    row = np.zeros(width)
    for action, p in law:
        row[action] = float(p)
    return row


def _total_variation(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.abs(first - second).sum(axis=-1) / 2


def _relative(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """KL(p‖q) in bits of each row; infinite where q lacks what p has."""
    p, q = np.broadcast_arrays(p, q)
    terms = np.zeros(p.shape)
    here = p > 0
    with np.errstate(divide="ignore"):
        terms[here] = p[here] * np.log2(p[here] / q[here])
    return terms.sum(axis=-1)
