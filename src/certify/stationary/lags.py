"""The smallest set of lags: which single past observations and actions fix the expert's law together."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from certify.core.merged import Rational
from certify.core.reading import rational
from certify.errors import UserError
from certify.stationary.observer import Observer
from certify.stationary.refine import strong_classes
from certify.stationary.relation import Matrix
from certify.stationary.windows import distance

MOST_NODES = 400
Lag = tuple[str, int]  # ("O", 2): the observation two steps ago; ("A", 1): the last action


@dataclass(frozen=True)
class Lags:
    """The fewest lags of at most `longest` steps that fix the law; None where no such set, or none of `most`, does."""

    lags: tuple[Lag, ...] | None
    longest: int
    at_least: int  # no smaller set suffices

    @property
    def text(self) -> str:
        if self.lags is None:
            return f"no set of fewer than {self.at_least} lags of at most {self.longest} steps fixes the law"
        named = (f"{'observation' if kind == 'O' else 'action'} of lag {lag}" for kind, lag in self.lags)
        return ", ".join(named) if self.lags else "the law is always the same"


def smallest_lags(observer: Observer, longest: int, actions: bool = False, most: int = 6, within: Rational = 0) -> Lags:
    """Implicit hitting sets: propose a smallest set that hits every difference seen so far, and test it exactly.

    A lag that reaches back before the first step shows a mark of its own. With `within`, laws that differ by at most
    that much in total variation count as one.
    """
    if longest < 0:
        raise UserError("longest", f"expected a number of steps of at least 0, not {longest}")
    product = _Product(observer, longest, rational(within, "within"))
    universe: list[Lag] = [("O", lag) for lag in range(longest + 1)]
    universe += [("A", lag) for lag in range(1, longest + 1)] if actions else []
    differences: list[frozenset[Lag]] = []
    for size in range(most + 1):
        for chosen in combinations(universe, size):
            if any(difference.isdisjoint(chosen) for difference in differences):
                continue
            difference = product.confused(frozenset(chosen))
            if difference is None:
                return Lags(chosen, longest, size)
            differences.append(difference & frozenset(universe))
            if not differences[-1]:  # two histories that look the same at every lag
                return Lags(None, longest, len(universe) + 1)
    return Lags(None, longest, most + 1)


class _Product:
    """Pairs of histories over the last steps; node `size` is the time before the first step."""

    def __init__(self, observer: Observer, depth: int, within: Fraction) -> None:
        state, count = strong_classes(observer)
        observer = observer.quotient(state, count)
        if observer.size > MOST_NODES:
            raise UserError("lags", f"{observer.size:,} classes are too many; at most {MOST_NODES:,} are compared")
        self.depth, self.size = depth, observer.size
        self.observation = np.r_[observer.observation, -1]
        far = ~np.eye(len(observer.laws), dtype=bool)
        if within:
            far = np.array([[distance(one, other) > within for other in observer.laws] for one in observer.laws])
        self.differ = np.zeros((self.size + 1, self.size + 1), bool)
        self.differ[: self.size, : self.size] = far[observer.law[:, None], observer.law]
        width = len(observer.observations)
        edges = [
            (source, label // width, target)
            for source, label, target in zip(
                observer.source.tolist(), observer.label.tolist(), observer.target.tolist(), strict=True
            )
        ]
        edges += [(self.size, -1, self.size), *((self.size, -1, node) for node in observer.first.values())]
        self.edges = edges
        self.steps = {  # by whether actions and observations must agree: boolean adjacency matrices
            (by_action, by_observation): self._matrices(by_action, by_observation)
            for by_action in (False, True)
            for by_observation in (False, True)
        }

    def _matrices(self, by_action: bool, by_observation: bool) -> list[np.ndarray]:
        result: dict[tuple[int, int], np.ndarray] = {}
        for source, action, target in self.edges:
            key = (action if by_action else 0, int(self.observation[target]) if by_observation else 0)
            matrix = result.setdefault(key, np.zeros((self.size + 1, self.size + 1), np.float32))
            matrix[source, target] = 1
        return list(result.values())

    def confused(self, chosen: frozenset[Lag]) -> frozenset[Lag] | None:
        """The lags at which two histories of different laws differ that agree on `chosen`; None if there are none."""
        pairs = np.ones((self.size + 1, self.size + 1), bool)
        if ("O", self.depth) in chosen:
            pairs = self.observation[:, None] == self.observation
        trail: list[Matrix] = [pairs]
        for lag in range(self.depth, 0, -1):
            after = np.zeros_like(pairs)
            for step in self.steps[("A", lag) in chosen, ("O", lag - 1) in chosen]:
                after |= (step.T @ trail[-1].astype(np.float32) @ step) > 0
            trail.append(after)
        bad = trail[-1] & self.differ
        if not bad.any():
            return None
        first, second = np.argwhere(bad)[0].tolist()
        return self._differences(trail, chosen, (first, second))

    def _differences(self, trail: list[Matrix], chosen: frozenset[Lag], pair: tuple[int, int]) -> frozenset[Lag]:
        """Where the two histories of a bad pair differ, walking back."""
        result: set[Lag] = set()
        for lag in range(self.depth + 1):
            if self.observation[pair[0]] != self.observation[pair[1]]:
                result.add(("O", lag))
            if lag == self.depth:
                break
            before = trail[self.depth - lag - 1]
            together = ("A", lag + 1) in chosen
            pair, same = next(
                ((a[0], b[0]), a[1] == b[1])
                for a in self.edges
                if a[2] == pair[0]
                for b in self.edges
                if b[2] == pair[1] and before[a[0], b[0]] and (a[1] == b[1] or not together)
            )
            if not same:
                result.add(("A", lag + 1))
        return frozenset(result)
