"""The measurement spelled out: one run, one step, one episode after the other, counted in dictionaries."""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from math import fsum, log, log2
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from diacritic.measure.recorded import Classes

Recording = tuple[NDArray[np.int64], NDArray[np.int64]]  # symbols and choices, [T, N]


@st.composite
def recordings(draw: st.DrawFn, steps: int = 4, episodes: int = 12) -> Recording:
    """Small recordings of a deterministic expert: a hidden number decides what is shown and done."""
    horizon, hidden = draw(st.integers(1, steps)), draw(st.integers(1, 5))
    table = draw(st.lists(st.integers(0, 5), min_size=hidden * horizon, max_size=hidden * horizon))
    who = draw(st.lists(st.integers(0, hidden - 1), min_size=1, max_size=episodes))
    rows = np.array(table).reshape(horizon, hidden)[:, who]
    return rows // 2, rows % 2


def literal_entropy(x: Sequence[Hashable], given: Sequence[Hashable]) -> float:
    """Ĥ(X|Y) by counting pairs."""
    pairs, wholes = Counter(zip(x, given, strict=True)), Counter(given)
    return fsum(n / len(given) * log2(wholes[y] / n) for (_, y), n in pairs.items())


def literal_corrected(x: Sequence[Hashable], given: Sequence[Hashable]) -> float:
    """The same plus (occupied cells − occupied columns) / 2N nats."""
    cells, columns = len(set(zip(x, given, strict=True))), len(set(given))
    return literal_entropy(x, given) + (cells - columns) / (2 * len(given)) / log(2)


class LiteralStep(NamedTuple):
    """The names are those of `CohortScores`."""

    rate: float
    corrected_rate: float
    sufficiency: float
    corrected_sufficiency: float
    instantaneous: float
    surplus: float


def literal_step(codes: list[int], seen: list[int], memory: list[int], action: list[int]) -> LiteralStep:
    """Everything that is said of one run at one step; NaN where nothing is required."""
    coded, classed = list(zip(codes, seen, strict=True)), list(zip(memory, seen, strict=True))

    def score(x: list[int], measure: Callable[..., float] = literal_entropy) -> float:
        whole = measure(x, seen)
        return 1 - measure(x, coded) / whole if whole > 1e-9 else float("nan")

    return LiteralStep(
        literal_entropy(codes, seen),
        literal_corrected(codes, seen),
        score(memory),
        score(memory, literal_corrected),
        score(action),
        literal_entropy(codes, classed),
    )


def literal_cohort(codes: NDArray[np.integer], classes: Classes) -> list[list[LiteralStep]]:
    """Every run and step."""
    return [
        [
            literal_step(run[t].tolist(), *(x[t].tolist() for x in (classes.symbols, classes.memory, classes.action)))
            for t in range(len(run))
        ]
        for run in codes
    ]
