"""Leak probes: can the raw observations of a phase tell what the convention calls invisible?"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from certify.errors import UserError
from certify.optional import import_optional
from certify.progress import track
from diacritic.demos.binner import NULL, Binner
from diacritic.files.demos import Demos

HELD_OUT = 128  # episodes, the last ones
LEVEL = 0.05  # of the family-wise error over all cells of a dataset
HIGH = 0.95  # accuracy where the convention says that the variable is seen
MANY = 0.1  # chance below which a variable counts as one of many values
_PENALTIES = (0.1, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5)
MOST_VALUES = 32  # a variable with more values is probed by its leading bits

Values = NDArray[np.integer]
Predictor = Callable[[NDArray[Any], Values, NDArray[Any]], Values]


@dataclass(frozen=True)
class Cell:
    """One probe: a phase, a hidden variable, a classifier, and its held-out accuracy against chance."""

    phase: str
    variable: str
    probe: str
    status: str  # "hidden": must be at chance; "visible": must be high; "partial": nothing to demand
    correct: int
    tested: int
    chance: float
    interval: tuple[float, float]  # 95 %, Clopper–Pearson
    p: float  # exact binomial, one-sided
    adjusted: float  # Holm over all cells

    @property
    def accuracy(self) -> float:
        return self.correct / self.tested

    @property
    def passed(self) -> bool:
        """At chance if hidden; if visible, high, or above chance where few examples of many values are to be had."""
        if self.status == "hidden":
            return self.adjusted >= LEVEL
        many = self.chance < MANY and self.adjusted < LEVEL
        return self.status == "partial" or self.accuracy >= HIGH or many

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "accuracy": self.accuracy, "passed": self.passed}


class Question(NamedTuple):
    """What a probe is asked: inputs and labels of every episode, and what the convention says about them."""

    phase: str
    variable: str
    status: str
    inputs: NDArray[Any]  # [N, …]
    labels: Values  # [N]


def leak_table(demos: Demos, binner: Binner, held_out: int = HELD_OUT) -> list[Cell]:
    """Every phase × every hidden variable: the whole window of raw observations, a linear and a kernel probe."""
    asked = _questions(demos, binner, most_values(demos.episodes - held_out))
    probes = {"linear": linear_probe, "kernel": kernel_probe}
    return table(asked, probes, held_out, "probing windows")


def table(
    questions: list[Question], probes: Mapping[str, Predictor], held_out: int, text: str = "probing"
) -> list[Cell]:
    """Ask every question of every probe: learn on the first episodes, count on the last `held_out`."""
    drafts: list[tuple[Question, str, int, float]] = []
    for question, name in track([(question, name) for question in questions for name in probes], text):
        episodes = len(question.labels)
        if not 0 < held_out < episodes:
            raise UserError("held_out", f"expected 1 to {episodes - 1} of the {episodes} episodes, not {held_out}")
        cut = episodes - held_out
        predicted = probes[name](question.inputs[:cut], question.labels[:cut], question.inputs[cut:])
        chance = np.bincount(question.labels).max() / episodes
        drafts.append((question, name, int((predicted == question.labels[cut:]).sum()), float(chance)))
    return _judged(drafts, held_out)


def linear_probe(train: NDArray[np.float64], labels: Values, test: NDArray[np.float64]) -> Values:
    """Ridge regression onto the classes, its penalty by leave-one-out: adds up small shifts over a window."""
    return _fitted(
        import_optional("sklearn.linear_model", "measure").RidgeClassifierCV(_PENALTIES), train, labels, test
    )


def kernel_probe(train: NDArray[np.float64], labels: Values, test: NDArray[np.float64]) -> Values:
    """A support vector machine with Gaussian kernel: sees what no hyperplane separates."""
    return _fitted(import_optional("sklearn.svm", "measure").SVC(kernel="rbf", C=3.0), train, labels, test)


def status(demos: Demos, binner: Binner, variable: str, steps: NDArray[np.integer], probe: bool = True) -> str:
    """What the convention says of a latent during these steps.

    A seen class (or probe symbol) that is a function of the variable shows part of it; one that the variable is a
    function of shows all of it. The task may also show it by design, outside the convention. An image does not hold
    the probe symbol: with `probe=False` what only that shows must stay hidden.
    """
    hidden = demos.latents[variable]
    names = {demos.convention.phases[k] for k in np.unique(demos.phase[steps, 0])}
    if names & set(demos.convention.shown.get(variable, ())):
        return "partial"
    seen = [labels[t] for labels in binner.labels(demos.latents).values() for t in steps if (labels[t] != NULL).all()]
    if probe:
        start, stop = demos.convention.probe_columns
        probes = (np.rint(demos.observations[t, :, start:stop]) for t in steps)
        seen += [
            np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1) for rows in probes
        ]  # equal rows, one number
    roots = _roots(demos, hidden)
    seen = [values for values in seen if values.min() != values.max() and _roots(demos, values) & roots]
    if any(_determines(values, hidden) for values in seen):
        return "visible"
    return "partial" if any(_determines(hidden, values) for values in seen) else "hidden"


def most_values(train: int) -> int:
    """How many values a probe is asked to distinguish: four examples of each at least, and no more than 32."""
    return min(MOST_VALUES, 2 ** max(1, (train // 4).bit_length() - 1))


def coarse(values: Values, size: int, most: int) -> Values:
    """A variable of many values by its leading bits."""
    return values * most // size if size > most else values


def failures(cells: list[Cell]) -> list[Cell]:
    """Hidden variables that some probe finds, and visible ones that no probe finds."""
    detected = {(cell.phase, cell.variable) for cell in cells if cell.status == "visible" and cell.passed}
    return [cell for cell in cells if not cell.passed and (cell.phase, cell.variable) not in detected]


def lines(cells: list[Cell]) -> list[str]:
    """The table in words: a row for each phase and probe, a column for each variable."""
    variables = list(dict.fromkeys(cell.variable for cell in cells))
    chance, bad = {cell.variable: cell.chance for cell in cells}, failures(cells)
    rows = [["phase", "probe", *(f"{name} ({chance[name]:.2f})" for name in variables)]]
    for phase, probe in dict.fromkeys((cell.phase, cell.probe) for cell in cells):
        by_variable = {cell.variable: cell for cell in cells if (cell.phase, cell.probe) == (phase, probe)}
        rows.append([phase, probe, *(_told(by_variable.get(name), bad) for name in variables)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _told(cell: Cell | None, bad: list[Cell]) -> str:
    if cell is None:
        return "-"
    mark = {"visible": "*", "partial": "+", "hidden": ""}[cell.status]
    return f"{cell.accuracy:.2f}{mark}{' !' if cell in bad else ''}"


def _questions(demos: Demos, binner: Binner, most: int) -> list[Question]:
    asked: list[Question] = []
    for number, phase in enumerate(demos.convention.phases):
        steps = np.flatnonzero(demos.phase[:, 0] == number)
        if not len(steps):
            continue
        window = np.moveaxis(demos.observations[steps], 0, 1).reshape(demos.episodes, -1).astype(np.float64)
        for variable, size in demos.convention.hidden.items():
            said = status(demos, binner, variable, steps)
            said = "partial" if said == "visible" and size > most else said
            asked.append(Question(phase, variable, said, window, coarse(demos.latents[variable], size, most)))
    return asked


def _fitted(model: Any, train: NDArray[np.float64], labels: Values, test: NDArray[np.float64]) -> Values:
    if labels.min() == labels.max():
        return np.full(len(test), labels[0])
    spread = train.std(0)
    varied = spread > 1e-9  # a constant column tells nothing and has no scale
    if not varied.any():
        return np.full(len(test), np.bincount(labels).argmax())
    centre, spread = train[:, varied].mean(0), spread[varied]
    limited = import_optional("threadpoolctl", "measure").threadpool_limits
    with limited(1):  # small problems: threads only wait for each other
        model.fit((train[:, varied] - centre) / spread, labels)
        return model.predict((test[:, varied] - centre) / spread)


def _judged(drafts: list[tuple[Question, str, int, float]], tested: int) -> list[Cell]:
    """Exact binomial tests against chance, Holm-corrected over all of them."""
    if not drafts:
        return []
    stats = import_optional("scipy.stats", "measure")
    multitest = import_optional("statsmodels.stats.multitest", "measure")
    tests = [stats.binomtest(correct, tested, chance, alternative="greater") for _, _, correct, chance in drafts]
    adjusted = multitest.multipletests([test.pvalue for test in tests], method="holm")[1]
    cells = []
    for (asked, probe, correct, chance), test, holm in zip(drafts, tests, adjusted, strict=True):
        bound = stats.binomtest(correct, tested, chance).proportion_ci(0.95, "exact")
        numbers = correct, tested, chance, (float(bound.low), float(bound.high)), float(test.pvalue), float(holm)
        cells.append(Cell(asked.phase, asked.variable, probe, asked.status, *numbers))
    return cells


def _roots(demos: Demos, values: Values) -> set[str]:
    """The independent latent that these values are a function of; of several, those with the fewest values.

    A latent that never repeats would determine everything. Without any such latent, all of them.
    """
    independent = [*demos.convention.strata, *demos.convention.nuisances]
    sizes = {name: len(np.unique(demos.latents[name])) for name in independent if name in demos.latents}
    causes = {name: size for name, size in sizes.items() if _determines(demos.latents[name], values)}
    return {name for name, size in causes.items() if size == min(causes.values())} or set(sizes)


def _determines(cause: Values, effect: Values) -> bool:
    """Whether `effect` is a function of `cause` on these episodes."""
    return len(np.unique(np.stack([cause, effect]), axis=1).T) == len(np.unique(cause))
