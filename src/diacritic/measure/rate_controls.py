"""What stands behind the rate of a recorded run, window by window: intervals, resolution, bounds and content."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from certify.errors import UserError
from diacritic.files.demos import Demos
from diacritic.measure.content import hidden_labels, information, questions
from diacritic.measure.crossval import explained_surplus, rate_bound
from diacritic.measure.plugin import Floats, Ints, joint
from diacritic.measure.recorded import Classes
from diacritic.measure.resolution import resolution_sweep
from diacritic.measure.statistics import Interval
from diacritic.measure.verdict import Control
from diacritic.tasks.protocol import Task

REPLICATES = 200  # of the bootstrap
PERMUTATIONS = 5  # of the permutation null
GRID = 0.02  # metres: the grid on which position in the code is looked for
NEGLIGIBLE = 0.1  # bits that the position may explain of the code beyond the null; a smaller surplus is not explained


@dataclass(frozen=True)
class WindowIntervals:
    """One run over one window."""

    rate: Interval  # mean Ĥ(C_t|Ō_t)
    surplus: Interval | None  # mean Ĥ(C_t|Γ_t,Ō_t); None where some step has no classes


def window_intervals(
    codes: ArrayLike, classes: Classes, steps: Sequence[int], replicates: int = REPLICATES, seed: int = 0
) -> WindowIntervals:
    """Rate and surplus of codes [T, N] over the chosen steps, every episode redrawn with all its steps."""
    table = np.asarray(codes)
    if table.shape != classes.symbols.shape:
        raise UserError("codes", f"shape {table.shape}, but the recording has {classes.symbols.shape}")
    if not len(steps):
        raise UserError("steps", "the window has no steps; name the steps to look at")
    rows = [np.stack([values[t] for t in steps]) for values in (table, classes.symbols, classes.memory)]
    (code, seen, memory), weights = _redrawn(rows, replicates, seed)
    rate = np.mean([resampled_entropy(c, o, weights) for c, o in zip(code, seen, strict=True)], axis=0)
    if any(t in classes.loose for t in steps):
        return WindowIntervals(_interval(rate), None)
    triples = zip(code, seen, memory, strict=True)
    surplus = np.mean([resampled_entropy(c, joint(o, m), weights) for c, o, m in triples], axis=0)
    return WindowIntervals(_interval(rate), _interval(surplus))


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


def _interval(values: Floats) -> Interval:
    """Percentiles of the replicates, moved to the estimate as their centre: redrawing lowers every entropy."""
    estimate, replicates = float(values[0]), values[1:]
    below, above = np.quantile(replicates - replicates.mean(), (0.025, 0.975))
    return Interval(estimate, max(0.0, estimate + min(0.0, float(below))), estimate + max(0.0, float(above)))


def rate_controls(
    codes: Ints, classes: Classes, demos: Demos, task: Task, windows: Mapping[str, Sequence[int]]
) -> list[Control]:
    """Of one run's codes [T, N] on the episodes of a recording."""
    labels = hidden_labels(demos, task)
    positions = demos.observations[..., list(demos.convention.position_columns)].astype(np.float64)
    controls = []
    for name, steps in windows.items():
        intervals = window_intervals(codes, classes, steps)
        controls.append(Control("rate", f"interval, {name}", None, _described(intervals), [*intervals.rate]))
        if positions[list(steps)].std(1).any():  # without noise a waiting arm stands still
            controls += _position(name, codes, demos, positions, steps)
        if intervals.surplus is not None and intervals.surplus.value > NEGLIGIBLE:
            controls += _surplus(name, codes, classes, demos, task, positions, steps)
        bits = {
            question.title: float(information(codes[None], demos.symbols, question, labels)[0, list(steps)].mean())
            for question in questions(task, labels)
        }
        told = ", ".join(f"{title} {value:.2f}" for title, value in bits.items())
        controls.append(Control("rate", f"content, {name}", None, told or "no hidden value is recorded", bits))
    return controls


def _described(intervals: WindowIntervals) -> str:
    said = f"{intervals.rate.value:.2f} bit (95 % {intervals.rate.low:.2f}–{intervals.rate.high:.2f})"
    if (surplus := intervals.surplus) is None:
        return said
    return f"{said}, of these H(C|Γ,Ō) {surplus.value:.2f} ({surplus.low:.2f}–{surplus.high:.2f})"


def _position(name: str, codes: Ints, demos: Demos, positions: Floats, steps: Sequence[int]) -> list[Control]:
    """Does the code copy detail of the observation that the symbol omits?"""
    fine = resolution_sweep(codes, demos.symbols, positions, steps, (GRID,), PERMUTATIONS)[-1]
    said = f"position on a {100 * GRID:g} cm grid explains {max(0.0, fine.excess):.3f} bit beyond the permutation null"
    middle = steps[len(steps) // 2]
    bound = rate_bound(codes[middle], demos.symbols[middle], demos.observations[middle])
    told = f"cross-validated upper bound of H(C|O) at step {middle + 1}: {bound:.2f} bit"
    return [
        Control("rate", f"resolution, {name}", fine.excess < NEGLIGIBLE, said, fine.rate),
        Control("rate", f"held-out bound, {name}", None, told, bound),
    ]


def _surplus(
    name: str, codes: Ints, classes: Classes, demos: Demos, task: Task, positions: Floats, steps: Sequence[int]
) -> list[Control]:
    """At the middle of a window: how much of H(C|Γ,Ō) the initial state explains, and all positions until then."""
    middle = steps[len(steps) // 2]
    start = task.initial_state(demos.observations)
    path = np.moveaxis(positions[: middle + 1], 0, 1).reshape(demos.episodes, -1)
    told, bits = [], {}
    for what, inputs in (("the initial state", start), ("that and the body's path", np.hstack([start, path]))):
        if not (inputs.std(0) > 1e-9).any():
            continue
        explained = explained_surplus(codes[middle], classes.memory[middle], classes.symbols[middle], inputs)
        told.append(f"{what} explains at least {explained.least:.2f} of {explained.surplus:.2f} bit")
        bits[what] = explained.least
    said = f"at step {middle + 1} {', '.join(told)}"
    return [Control("rate", f"surplus content, {name}", None, said, bits)] if told else []
