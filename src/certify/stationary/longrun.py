"""Long runs: the Cesàro mean of a finite chain, its proof, and the bits that a memory holds under it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from certify.core.logs import LogSum
from certify.stationary.chain import MOST_WORK, Chain, period, recurrent_classes, visits


@dataclass(frozen=True)
class Recurrent:
    """A set of states that is entered with probability `weight` and never left, with its stationary law."""

    members: list[int]
    weight: Fraction
    period: int
    law: dict[int, Fraction]


@dataclass(frozen=True)
class LongRun:
    """The Cesàro limit of a chain's laws and what it is made of.

    `potential` proves it: mean = mean·P and start − mean = potential·(I − P) imply that the averages tend to `mean`.
    """

    chain: Chain
    mean: list[Fraction]
    potential: list[Fraction]
    recurrent: list[Recurrent]

    @property
    def period(self) -> int:
        return math.lcm(*(part.period for part in self.recurrent))


def long_run(chain: Chain, most: int = MOST_WORK) -> LongRun:
    """The limit of (1/T)·Σ_t law_t; raises `TooMuchWork` where the exact solution would be too costly."""
    classes = recurrent_classes(chain.rows)
    settled = {i for members in classes for i in members}
    passing = [i for i in range(chain.size) if i not in settled]
    potential = visits(chain.rows, dict(enumerate(chain.start)), passing, most)
    arrive = {i: chain.start[i] for i in settled}
    for i in passing:
        for j, p in chain.rows[i].items():
            if j in settled:
                arrive[j] += potential[i] * p
    mean = [Fraction(0)] * chain.size
    recurrent: list[Recurrent] = []
    for members in classes:
        weight = sum((arrive[i] for i in members), Fraction(0))
        law = stationary_law(chain, members, most)
        recurrent.append(Recurrent(members, weight, period(chain.rows, members), law))
        for i in members:
            mean[i] = weight * law[i]
        right = {i: arrive[i] - mean[i] for i in members}
        potential |= visits(chain.rows, right, members[1:], most) | {members[0]: Fraction(0)}
    return LongRun(chain, mean, [potential[i] for i in range(chain.size)], recurrent)


def stationary_law(chain: Chain, members: list[int], most: int = MOST_WORK) -> dict[int, Fraction]:
    """The one law of a recurrent class that a step does not change."""
    root, *rest = members
    weight = visits(chain.rows, chain.rows[root], rest, most) | {root: Fraction(1)}
    whole = sum(weight.values(), Fraction(0))
    return {i: weight[i] / whole for i in members}


def discounted(chain: Chain, gamma: Fraction) -> list[Fraction]:
    """(1 − γ)·Σ_t γ^{t−1}·law_t."""
    rows = [{j: gamma * p for j, p in row.items()} for row in chain.rows]
    right = {i: (1 - gamma) * p for i, p in enumerate(chain.start)}
    values = visits(rows, right, range(chain.size))
    return [values[i] for i in range(chain.size)]


def proves_mean(chain: Chain, mean: Sequence[Fraction], potential: Sequence[Fraction]) -> bool:
    """The whole proof that `mean` is the Cesàro limit: two products."""
    moved, pushed = chain.step(mean), chain.step(potential)
    identity = zip(chain.start, mean, potential, pushed, strict=True)
    return min(mean) >= 0 and moved == list(mean) and all(s - m == y - z for s, m, y, z in identity)


def masses(law: Sequence[Fraction], labels: Iterable[int]) -> dict[int, Fraction]:
    """The probability of each label, without zeros."""
    result: dict[int, Fraction] = {}
    for p, label in zip(law, labels, strict=True):
        if p:
            result[label] = result.get(label, Fraction(0)) + p
    return result


def conditional_bits(mass: Mapping[int, Fraction], fiber: Mapping[int, int] | Sequence[int]) -> LogSum:
    """H(label | fiber) of a law of labels, exactly."""
    scale = math.lcm(*(p.denominator for p in mass.values()))
    whole: dict[int, int] = {}
    terms: list[tuple[Fraction, int]] = []
    for label, p in mass.items():
        part = int(p * scale)
        whole[fiber[label]] = whole.get(fiber[label], 0) + part
        terms.append((Fraction(-part, scale), part))
    return LogSum.of([*terms, *((Fraction(part, scale), part) for part in whole.values())])
