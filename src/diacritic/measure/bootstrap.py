"""Intervals of rates and scores over the episodes of a recording: the bootstrap, with whole episodes redrawn."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from certify.errors import UserError
from diacritic.measure.plugin import joint
from diacritic.measure.recorded import Classes
from diacritic.measure.scores import POSITIVE
from diacritic.measure.statistics import Interval

Floats = NDArray[np.float64]
REPLICATES = 1000


@dataclass(frozen=True)
class WindowIntervals:
    """One run over one window."""

    rate: Interval  # mean Ĥ(C_t|Ō_t)
    surplus: Interval | None  # mean Ĥ(C_t|Γ_t,Ō_t); None where some step has no classes
    sufficiency: Interval | None  # least S_Γ; None where nothing is required, or some step has no classes


def window_intervals(
    codes: ArrayLike, classes: Classes, steps: Sequence[int], replicates: int = REPLICATES, seed: int = 0
) -> WindowIntervals:
    """Rate, surplus and sufficiency of codes [T, N] over the chosen steps, every episode redrawn with all its steps."""
    table = np.asarray(codes)
    if table.shape != classes.symbols.shape:
        raise UserError("codes", f"shape {table.shape}, but the recording has {classes.symbols.shape}")
    if not len(steps):
        raise UserError("steps", "the window has no steps; name the steps to look at")
    rows = [np.stack([values[t] for t in steps]) for values in (table, classes.symbols, classes.memory)]
    (code, seen, memory), weights = _redrawn(rows, replicates, seed)
    rate = np.mean([resampled_entropy(c, o, weights) for c, o in zip(code, seen, strict=True)], axis=0)
    if any(t in classes.loose for t in steps):
        return WindowIntervals(_interval(rate, 0, np.inf), None, None)
    surplus, scores = [], []
    for c, o, m in zip(code, seen, memory, strict=True):
        known = joint(o, m)
        surplus.append(resampled_entropy(c, known, weights))
        whole = resampled_entropy(m, o, weights)
        if whole[0] > POSITIVE:
            left = resampled_entropy(m, joint(o, c), weights)
            # a class that no redrawn episode has asks for nothing
            scores.append(1 - np.divide(left, whole, out=np.zeros_like(left), where=whole > POSITIVE))
    return WindowIntervals(
        _interval(rate, 0, np.inf),
        _interval(np.mean(surplus, axis=0), 0, np.inf),
        _interval(np.min(scores, axis=0), 0, 1) if scores else None,
    )


def resampled_entropy(x: ArrayLike, given: ArrayLike, weights: Floats) -> Floats:
    """H(X|Y) under each row of weights [B, N]."""
    y = joint(given)
    both = joint(y, x)
    order = np.argsort(both, kind="stable")
    starts = np.flatnonzero(np.diff(both[order], prepend=-1))
    part = np.add.reduceat(weights[:, order], starts, axis=1)
    column = y[order[starts]]  # ascending, for `both` is ordered by Y first
    firsts = np.flatnonzero(np.diff(column, prepend=-1))
    whole = np.add.reduceat(part, firsts, axis=1)[:, column]
    ratio = np.divide(whole, part, out=np.ones_like(part), where=part > 0)
    return (part * np.log2(ratio)).sum(1) / weights.sum(1)


def _redrawn(rows: list[NDArray[np.integer]], replicates: int, seed: int) -> tuple[list[NDArray[np.integer]], Floats]:
    """Equal episodes merged, and how often each is drawn: first as recorded, then in every replicate."""
    steps = len(rows[0])
    columns, count = np.unique(np.concatenate(rows), axis=1, return_counts=True)
    total = int(count.sum())
    drawn = np.random.default_rng(seed).multinomial(total, count / total, size=replicates)
    merged = [columns[k * steps : (k + 1) * steps] for k in range(len(rows))]
    return merged, np.vstack([count, drawn]).astype(np.float64)


def _interval(values: Floats, low: float, high: float) -> Interval:
    """Percentiles of the replicates, moved to the estimate as their centre: redrawing lowers every entropy."""
    estimate, replicates = float(values[0]), values[1:]
    below, above = np.quantile(replicates - replicates.mean(), (0.025, 0.975))
    ends = np.clip([estimate + min(0.0, below), estimate + max(0.0, above)], low, high)
    return Interval(estimate, float(ends[0]), float(ends[1]))
