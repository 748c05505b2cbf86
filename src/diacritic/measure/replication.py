"""Saved runs on a fresh recording: their codes there, classes solved again, and whether each verdict stands."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from certify.errors import UserError
from diacritic.measure.agreement import Agreement
from diacritic.measure.gates import Gate
from diacritic.measure.recorded import Classes, CohortScores, score_cohort


class WindowRates(NamedTuple):
    """Mean rate over one window, of all runs and of those that pass on that recording; None where none does."""

    first: float
    fresh: float
    first_sufficient: float | None
    fresh_sufficient: float | None


@dataclass(frozen=True)
class Replication:
    """What became of the verdicts."""

    gate: str
    agreement: Agreement
    rates: Mapping[str, WindowRates]
    requirement_shift: float  # largest difference of H(Γ_t|Ō_t) or H(G_t|Ō_t) between the recordings, bits
    score_shift: float  # largest difference of a run's least score

    def to_dict(self) -> dict[str, Any]:
        rates = {name: rate._asdict() for name, rate in self.rates.items()}
        return {**asdict(self), "agreement": self.agreement.to_dict(), "rates": rates}


def replicate(
    gate: Gate,
    first: tuple[ArrayLike, Classes],
    fresh: tuple[ArrayLike, Classes],
    windows: Mapping[str, Sequence[int]],
    seeds: Sequence[int] | None = None,
) -> Replication:
    """Codes [S, T, N] of the same runs on two recordings, each with the classes that this recording certifies."""
    if first[1].symbols.shape[0] != fresh[1].symbols.shape[0]:
        raise UserError("fresh", "the recordings have different horizons; record the same task with new seeds")
    scored = score_cohort(*first), score_cohort(*fresh)
    passed = [gate.passes(found.sufficiency, found.instantaneous) for found in scored]
    least = [gate.least(found.sufficiency, found.instantaneous) for found in scored]
    agreement = Agreement.of(passed[0], passed[1], seeds)
    rates = {name: _rates(scored, passed, list(steps)) for name, steps in windows.items()}
    shift = max(
        float(np.abs(scored[0].required - scored[1].required).max()),
        float(np.abs(scored[0].decision - scored[1].decision).max()),
    )
    return Replication(gate.name, agreement, rates, shift, float(np.abs(least[0] - least[1]).max()))


def _rates(scored: tuple[CohortScores, CohortScores], passed: list[np.ndarray], steps: list[int]) -> WindowRates:
    if not steps:
        raise UserError("windows", "a window has no steps; name the steps to look at")
    means = [found.rate[:, steps].mean(1) for found in scored]
    kept = [float(mean[good].mean()) if good.any() else None for mean, good in zip(means, passed, strict=True)]
    return WindowRates(float(means[0].mean()), float(means[1].mean()), kept[0], kept[1])
