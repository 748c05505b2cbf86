"""An exhaustive search over closed compatible assignments, for models with a handful of histories a level.

Entropies are compared exactly: with all masses integers that sum to D, 2^(D·H(P_t|O_t)) is a rational number, and a sum
of entropies becomes a product.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from math import lcm, log2, prod
from typing import Any

from certify_twin import History, Pairs, Twin

Pair = tuple[History, History]
Partition = tuple[tuple[History, ...], ...]


class Exhaustive:
    """Every partition of every level into compatible cells, and which may follow which."""

    def __init__(self, twin: Twin) -> None:
        self.twin = twin
        self.scale = lcm(*(facts.mass.denominator for level in twin.levels for facts in level.values()))
        self.partitions = [list(_compatible_partitions(list(twin.levels[t]), p)) for t, p in enumerate(twin.compatible)]
        self.costs = [[self._cost(t, p) for p in level] for t, level in enumerate(self.partitions)]
        together = [[self._together(p) for p in level] for level in self.partitions]
        forced = [[self._forced(t, p) for p in level] for t, level in enumerate(self.partitions)]
        self.following = [
            [[j for j, cells in enumerate(together[t + 1]) if forced_here <= cells] for forced_here in forced[t]]
            for t in range(twin.horizon - 1)
        ]

    def bits(self, cost: Fraction) -> float:
        return (log2(cost.numerator) - log2(cost.denominator)) / self.scale

    def _cost(self, t: int, partition: Partition) -> Fraction:
        fibers: dict[str, int] = {}
        below = 1
        for cell in partition:
            mass = int(sum(self.twin.levels[t][h].mass for h in cell) * self.scale)
            fibers[cell[0][-1]] = fibers.get(cell[0][-1], 0) + mass
            below *= mass**mass
        return Fraction(prod(mass**mass for mass in fibers.values()), below)

    @staticmethod
    def _together(partition: Partition) -> frozenset[Pair]:
        return frozenset(_pair(h, k) for cell in partition for h, k in combinations(cell, 2))

    def _forced(self, t: int, partition: Partition) -> frozenset[Pair]:
        """Pairs of successors that closure keeps in one cell."""
        facts = self.twin.levels[t]
        return frozenset(
            _pair((*h, *u), (*k, *u))
            for cell in partition
            for h, k in combinations(cell, 2)
            for u in facts[h].support & facts[k].support
        )

    def colouring_minima(self) -> list[Fraction]:
        """Per step: the least cost of compatible cells, closure ignored."""
        return [min(level) for level in self.costs]

    def closed_minima(self) -> list[Fraction]:
        """Per step: the least cost over whole closed assignments, the objective on that step alone."""
        last = self.twin.horizon - 1
        alive = [set(range(len(level))) for level in self.partitions]
        for t in reversed(range(last)):
            alive[t] = {i for i in alive[t] if any(j in alive[t + 1] for j in self.following[t][i])}
        for t in range(last):
            alive[t + 1] &= {j for i in alive[t] for j in self.following[t][i]}
        return [min(self.costs[t][i] for i in alive[t]) for t in range(last + 1)]

    def simultaneous(self) -> bool:
        """Whether one closed assignment is least at every step."""
        minima = self.colouring_minima()
        reached = {i for i, cost in enumerate(self.costs[0]) if cost == minima[0]}
        for t in range(self.twin.horizon - 1):
            reached = {j for i in reached for j in self.following[t][i] if self.costs[t + 1][j] == minima[t + 1]}
        return bool(reached)

    def best(self, join: Callable[[int, Fraction, Any], Any]) -> Any:
        """The least value of a closed assignment; `join` puts one step's cost in front of the best of the rest."""
        last = self.twin.horizon - 1
        best = [join(last, cost, None) for cost in self.costs[last]]
        for t in reversed(range(last)):
            best = [join(t, c, min(best[j] for j in self.following[t][i])) for i, c in enumerate(self.costs[t])]
        return min(best)

    def least_sum(self, weights: Sequence[int] | None = None) -> float:
        """The least Σ_t w_t·H(P_t|O_t), in bits."""
        powers = weights or [1] * self.twin.horizon
        return self.bits(self.best(lambda t, cost, rest: cost ** powers[t] * (1 if rest is None else rest)))

    def least_peak(self) -> float:
        """The least max_t H(P_t|O_t), in bits."""
        return self.bits(self.best(lambda t, cost, rest: cost if rest is None else max(cost, rest)))

    def least_in_order(self) -> list[float]:
        """The lexicographically least vector of rates, from the first step."""
        return [self.bits(cost) for cost in self.best(lambda t, cost, rest: (cost, *(rest or ())))]

    def fewest_states(self, t: int) -> int:
        """The largest number over observations of the fewest cells that an observation needs."""
        counts = [Counter(cell[0][-1] for cell in partition) for partition in self.partitions[t]]
        return max(min(count[observation] for count in counts) for observation in counts[0])


def _pair(h: History, k: History) -> Pair:
    return (h, k) if h < k else (k, h)


def _compatible_partitions(histories: list[History], relation: Pairs) -> Iterator[Partition]:
    if not histories:
        yield ()
        return
    first, rest = histories[0], histories[1:]
    for partition in _compatible_partitions(rest, relation):
        yield ((first,), *partition)
        for k, cell in enumerate(partition):
            if all((first, other) in relation for other in cell):
                yield (*partition[:k], (first, *cell), *partition[k + 1 :])
