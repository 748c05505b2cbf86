"""Body memory: does the policy write a class that it must remember into its own pose or actions?

Under its own occupancy the class-conditional mean positions of the end effector should coincide while the class is
hidden. Where they part, the pose can carry what the code does not. Whether it is also read is another question, which
a reset of the code answers (`interventions_closed_loop`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from certify.errors import UserError
from certify.optional import import_optional
from diacritic.demos.leaks import Cell, Question, kernel_probe, linear_probe, table
from diacritic.tasks.protocol import Floats, Ints, Task

LEVEL = 0.01  # of the family-wise error over steps, axes and pairs of classes
LEAST = 0.5  # centimetres: two and a half standard deviations of the sensor noise
_SHARP = 1e-6  # metres; a spread below it is taken for this one


@dataclass(frozen=True)
class Separation:
    """One step (from 0): the largest distance of two class means, and how surely some axis parts some two classes."""

    t: int
    centimetres: float
    p: float  # Welch, the smallest over axes and pairs of classes
    adjusted: float  # the same after Holm over all steps, axes and pairs


@dataclass(frozen=True)
class BodyMemory:
    """One hidden class through one window."""

    variable: str
    window: str
    steps: tuple[Separation, ...]

    @property
    def worst(self) -> Separation:
        """The step with the largest separation among the significant ones, or among all where none is."""
        sure = [step for step in self.steps if step.adjusted < LEVEL]
        return max(sure or self.steps, key=lambda step: step.centimetres)

    @property
    def detected(self) -> bool:
        """A separation that is both significant and large enough to be read through the sensor noise."""
        return self.worst.adjusted < LEVEL and self.worst.centimetres >= LEAST

    def line(self) -> str:
        first, worst = self.steps[0], self.worst
        return (
            f"{self.variable} in {self.window}: class means {first.centimetres:.2f} cm apart at its first step, "
            f"at most {worst.centimetres:.2f} cm (step {worst.t + 1}, p = {worst.adjusted:.1g})"
        )

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "found": self.detected}


def body_memory(
    positions: Floats,
    classes: ArrayLike,
    steps: Sequence[int],
    variable: str = "class",
    window: str = "window",
    symbols: Ints | None = None,
) -> BodyMemory:
    """Class-conditional separation of positions [T, N, axes] (metres) at some steps: Welch tests, Holm-adjusted.

    With symbols Ō_t [T, N] the mean position of each symbol is taken out first: what the symbol shows is not hidden.
    """
    labels = np.asarray(classes)
    if positions.ndim != 3 or positions.shape[1] != len(labels):
        raise UserError("positions", f"expected [T, {len(labels)}, axes], not {list(positions.shape)}")
    if not len(steps):
        raise UserError(window, "the window is empty; there is no step to probe")
    kinds, sizes = np.unique(labels, return_counts=True)
    if len(kinds) < 2 or sizes.min() < 2:
        raise UserError(variable, f"{dict(zip(kinds.tolist(), sizes.tolist(), strict=True))} episodes of each class")
    coordinates = np.asarray(positions, np.float64)[list(steps)]
    if symbols is not None:
        coordinates = np.stack([_within(rows, symbols[t]) for rows, t in zip(coordinates, steps, strict=True)])
    groups = [coordinates[:, labels == kind] for kind in kinds]
    stats = import_optional("scipy.stats", "measure")
    distance, tests = [], []
    for one, two in zip(*np.triu_indices(len(kinds), 1), strict=True):
        means = [group.mean(1) for group in (groups[one], groups[two])]
        spreads = [np.maximum(group.std(1, ddof=1), _SHARP) for group in (groups[one], groups[two])]
        counts = sizes[one], sizes[two]
        test = stats.ttest_ind_from_stats(
            means[0], spreads[0], counts[0], means[1], spreads[1], counts[1], equal_var=False
        )
        tests.append(test.pvalue)
        distance.append(100 * np.linalg.norm(means[0] - means[1], axis=1))
    raw = np.stack(tests, 1).reshape(len(steps), -1)  # [steps, pairs × axes]
    holm = import_optional("statsmodels.stats.multitest", "measure").multipletests(raw.reshape(-1), method="holm")[1]
    adjusted = np.asarray(holm).reshape(raw.shape)
    apart = np.max(distance, axis=0)
    rows = np.stack([apart, raw.min(1), adjusted.min(1)], 1).tolist()
    return BodyMemory(variable, window, tuple(Separation(int(t), *row) for t, row in zip(steps, rows, strict=True)))


def _within(rows: NDArray[np.float64], symbols: Ints) -> NDArray[np.float64]:
    """Positions [N, axes] less the mean of those with the same symbol."""
    label = np.unique(symbols, return_inverse=True)[1].reshape(-1)
    totals = np.stack([np.bincount(label, column) for column in rows.T], 1)
    return rows - (totals / np.bincount(label)[:, None])[label]


def pending(task: Task) -> dict[str, list[str]]:
    """For each waiting gap the classes that are still to be decided on: what must be remembered there, if unseen."""
    return {
        window: [name for name, t in task.decisions.items() if t >= steps.stop]
        for window, steps in task.windows.items()
    }


def previous_actions(
    actions: Floats, classes: Mapping[str, Ints], windows: Mapping[str, range], asked: Mapping[str, Sequence[str]]
) -> list[Cell]:
    """Can the actions A_{t−1} that a policy reads in a window tell a pending class? Held-out accuracy against chance.

    `actions` [T, N, A] are those executed; `asked` names the classes of each window. A quarter of the episodes is
    held out.
    """
    episodes = actions.shape[1]
    questions: list[Question] = []
    for window, names in asked.items():
        read = [t - 1 for t in windows[window] if t > 0]
        if not read:
            raise UserError(window, "no action precedes the window; there is nothing to probe")
        inputs = np.moveaxis(np.asarray(actions, np.float64)[read], 0, 1).reshape(episodes, -1)
        questions += [Question(window, name, "hidden", inputs, np.asarray(classes[name])) for name in names]
    probes = {"linear": linear_probe, "kernel": kernel_probe}
    return table(questions, probes, max(1, episodes // 4), "probing previous actions")
