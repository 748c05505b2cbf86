"""What a code tells of what is hidden: I(C_t;X|Z_t) of any label X, given the symbol and whatever else is known."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from certify.errors import UserError
from diacritic.measure.corrections import correction
from diacritic.measure.counts import Counts, Floats, Partition
from diacritic.measure.plugin import joint

if TYPE_CHECKING:
    from diacritic.files.demos import Demos

Ints = NDArray[np.integer[Any]]
SYMBOL = "symbol"  # the name of Ō_t among what is given


@dataclass(frozen=True)
class Question:
    """I(C; about | given): names of hidden values, and of `symbol` for Ō_t."""

    about: str
    given: tuple[str, ...] = (SYMBOL,)

    @property
    def title(self) -> str:
        return f"I(C;{self.about}|{','.join(self.given)})"


# per task: the content that is reported beside the surplus H(C|Γ,Ō); side and slot are the classes β1 and β2
_NUISANCES = ("x quartile", "y quartile", "hover", "distractor", "mass")
_CLASSES = (Question("side", ("slot",)), Question("slot", ("side",)))
_TWO_CUES = (*_CLASSES, Question("theta"), *(Question(name, ("slot",)) for name in _NUISANCES))
QUESTIONS: Mapping[str, tuple[Question, ...]] = {
    "two-cues": _TWO_CUES,
    "full-reveal": _TWO_CUES,
    "readout": _TWO_CUES,
    "hidden-mass": (Question("mass"), Question("slot"), Question("hover"), Question("distractor")),
    "weighing": (Question("mass"),),
}


def information(codes: ArrayLike, symbols: ArrayLike, question: Question, labels: Mapping[str, Ints]) -> Floats:
    """I(C_t;X|Z) in bits, [S, T], of codes [S, T, N]; `labels` are values of each episode [N], or of each step too."""
    given, both = _conditions(np.asarray(symbols), question, labels)
    counts = _counts(codes, given, both)
    names = counts.partition.coarse
    return np.maximum(0, counts.code_entropy(names["given"]) - counts.code_entropy(names["both"]))


def corrected_information(
    codes: ArrayLike, symbols: ArrayLike, question: Question, labels: Mapping[str, Ints]
) -> Floats:
    """The same with both entropies corrected after Miller and Madow; it may fall below 0 where there is nothing."""
    given, both = _conditions(np.asarray(symbols), question, labels)
    counts = _counts(codes, given, both)
    names, episodes = counts.partition.coarse, given.shape[1]
    bits = []
    for name, values in (("given", given), ("both", both)):
        kinds = np.array([len(np.unique(row)) for row in values])
        bias = correction(counts.occupied(names[name]), kinds, episodes)
        bits.append(counts.code_entropy(names[name]) + bias)
    return bits[0] - bits[1]


def questions(task: str, labels: Mapping[str, Ints]) -> Iterator[Question]:
    """What is asked of a task, as far as its hidden values are known."""
    asked = QUESTIONS.get(task) or tuple(Question(name) for name in labels)
    for question in asked:
        if {question.about, *question.given} - {SYMBOL} <= labels.keys():
            yield question


def hidden_labels(demos: "Demos") -> dict[str, Ints]:
    """Every hidden value of a Franka recording, and the quartiles of the object's first place, where it varies."""
    place = dict(zip("xy", start_position(demos).T, strict=False))
    quartiles = {f"{axis} quartile": quartile(values) for axis, values in place.items() if np.ptp(values)}
    return {**demos.latents, **quartiles}


def start_position(demos: "Demos") -> Floats:
    """The object's place [N, 3] in metres before the arm touches it: its mean over the steps of the first phase."""
    from diacritic.tasks.franka.observation import SLICES  # needs the simulator's package

    first = demos.observations[demos.phase[:, 0] == demos.phase[0, 0]].astype(np.float64)
    return (first[..., SLICES["tool position"]] + first[..., SLICES["object position"]]).mean(0)


def quartile(values: Sequence[float] | NDArray[np.floating]) -> NDArray[np.int64]:
    """The quartile, 0 to 3, of each number."""
    numbers = np.asarray(values, np.float64)
    if numbers.ndim != 1 or not np.isfinite(numbers).all() or len(np.unique(numbers)) < 2:
        raise UserError("values", "quartiles need finite numbers that differ; is this quantity recorded?")
    return np.searchsorted(np.quantile(numbers, (0.25, 0.5, 0.75)), numbers, side="right").astype(np.int64)


def _counts(codes: ArrayLike, given: Ints, both: Ints) -> Counts:
    return Counts.of(codes, Partition.of(given=given, both=both))


def _conditions(symbols: Ints, question: Question, labels: Mapping[str, Ints]) -> tuple[Ints, Ints]:
    """Z and (X, Z) of every step and episode, [T, N]."""
    known = {SYMBOL: symbols, **labels}
    missing = [name for name in (question.about, *question.given) if name not in known]
    if missing:
        raise UserError(f"labels[{missing[0]}]", f"is unknown; there are {', '.join(labels) or 'none'}")
    wanted = {name: np.asarray(known[name]) for name in (question.about, *question.given)}
    for name, values in wanted.items():
        if values.shape not in (symbols.shape, symbols.shape[1:]):
            raise UserError(f"labels[{name}]", f"shape {values.shape}, but there are {symbols.shape[1]} episodes")
    rows = {name: np.broadcast_to(values, symbols.shape) for name, values in wanted.items()}
    given = np.zeros(symbols.shape, np.int64)
    for name in question.given:
        given = joint(given.ravel(), rows[name].ravel()).reshape(symbols.shape)
    return given, joint(given.ravel(), rows[question.about].ravel()).reshape(symbols.shape)
