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
    seen = np.asarray(symbols)
    variables = {SYMBOL: seen, **labels}
    names = (*question.given, question.about)
    missing = [name for name in names if name not in variables]
    if missing:
        raise UserError(f"labels[{missing[0]}]", f"is unknown; there are {', '.join(labels) or 'none'}")
    wanted = {name: np.asarray(variables[name]) for name in names}
    for name, values in wanted.items():
        if values.shape not in (seen.shape, seen.shape[1:]):
            raise UserError(f"labels[{name}]", f"shape {values.shape}, but there are {seen.shape[1]} episodes")
    cells = Partition.of(**{name: np.broadcast_to(values, seen.shape) for name, values in wanted.items()})
    given, counts = joint(cells.step, *(cells.coarse[name] for name in question.given)), Counts.of(codes, cells)
    return np.maximum(0, counts.code_entropy(given) - counts.code_entropy(np.arange(cells.cells)))


def questions(task: Task, labels: Mapping[str, Ints]) -> Iterator[Question]:
    """What is asked of a task, as far as its hidden values are known."""
    asked = task.questions or tuple(Question(name) for name in labels)
    for question in asked:
        if {question.about, *question.given} - {SYMBOL} <= labels.keys():
            yield question


def hidden_labels(demos: Demos, task: Task) -> dict[str, Ints]:
    """Every hidden value of a recording, and those that the task reads from its observations."""
    return {**demos.latents, **task.hidden_labels(demos.observations)}
