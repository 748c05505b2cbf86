"""What stands behind the rate of a recorded run, window by window: intervals, resolution, bounds and content."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diacritic.files.demos import Demos
from diacritic.measure.bootstrap import WindowIntervals, window_intervals
from diacritic.measure.content import hidden_labels, information, questions
from diacritic.measure.crossval import explained_surplus, rate_bound
from diacritic.measure.recorded import Classes
from diacritic.measure.resolution import resolution_sweep
from diacritic.measure.verdict import Control
from diacritic.tasks.protocol import Task

Ints = NDArray[np.integer[Any]]
Floats = NDArray[np.float64]
REPLICATES = 200  # of the bootstrap
PERMUTATIONS = 5  # of the permutation null
GRID = 0.02  # metres: the grid on which position in the code is looked for
NEGLIGIBLE = 0.1  # bits that the position may explain of the code beyond the null; a smaller surplus is not explained


def rate_controls(
    codes: Ints, classes: Classes, demos: Demos, task: Task, windows: Mapping[str, Sequence[int]]
) -> list[Control]:
    """Of one run's codes [T, N] on the episodes of a recording."""
    labels = hidden_labels(demos, task)
    positions = demos.observations[..., list(demos.convention.position_columns)].astype(np.float64)
    controls = []
    for name, steps in windows.items():
        found = window_intervals(codes, classes, steps, REPLICATES)
        controls.append(Control("rate", f"interval, {name}", None, _interval(found), [*found.rate]))
        if positions[list(steps)].std(1).any():  # without noise a waiting arm stands still
            controls += _position(name, codes, demos, positions, steps)
        if found.surplus is not None and found.surplus.value > NEGLIGIBLE:
            controls += _surplus(name, codes, classes, demos, task, positions, steps)
        bits = {
            question.title: float(information(codes[None], demos.symbols, question, labels)[0, list(steps)].mean())
            for question in questions(task, labels)
        }
        told = ", ".join(f"{title} {value:.2f}" for title, value in bits.items())
        controls.append(Control("rate", f"content, {name}", None, told or "no hidden value is recorded", bits))
    return controls


def _interval(found: WindowIntervals) -> str:
    said = f"{found.rate.value:.2f} bit (95 % {found.rate.low:.2f}–{found.rate.high:.2f})"
    if found.surplus is None:
        return said
    return f"{said}, of these H(C|Γ,Ō) {found.surplus.value:.2f} ({found.surplus.low:.2f}–{found.surplus.high:.2f})"


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
        found = explained_surplus(codes[middle], classes.memory[middle], classes.symbols[middle], inputs)
        told.append(f"{what} explains at least {found.least:.2f} of {found.surplus:.2f} bit")
        bits[what] = found.least
    said = f"at step {middle + 1} {', '.join(told)}"
    return [Control("rate", f"surplus content, {name}", None, said, bits)] if told else []
