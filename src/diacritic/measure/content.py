"""What a code tells of what is hidden: I(C_t;X|Z_t) of any label X, given the symbol and whatever else is known."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import ArrayLike

from certify.errors import UserError
from diacritic.files.demos import Demos
from diacritic.measure.counts import Counts, Floats, Partition
from diacritic.measure.plugin import joint
from diacritic.tasks.protocol import SYMBOL, Ints, Question, Task


def information(codes: ArrayLike, symbols: ArrayLike, question: Question, labels: Mapping[str, Ints]) -> Floats:
    """I(C_t;X|Z) in bits, [S, T], of codes [S, T, N]; `labels` are values of each episode [N], or of each step too."""
    given, both = _conditions(np.asarray(symbols), question, labels)
    counts = Counts.of(codes, Partition.of(given=given, both=both))
    names = counts.partition.coarse
    return np.maximum(0, counts.code_entropy(names["given"]) - counts.code_entropy(names["both"]))


def questions(task: Task, labels: Mapping[str, Ints]) -> Iterator[Question]:
    """What is asked of a task, as far as its hidden values are known."""
    asked = task.questions or tuple(Question(name) for name in labels)
    for question in asked:
        if {question.about, *question.given} - {SYMBOL} <= labels.keys():
            yield question


def hidden_labels(demos: Demos, task: Task) -> dict[str, Ints]:
    """Every hidden value of a recording, and those that the task reads from its observations."""
    return {**demos.latents, **task.hidden_labels(demos.observations)}


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
