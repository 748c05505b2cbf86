"""A task as it is designed: every hidden configuration equally likely, without a recording."""

from collections.abc import Mapping
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from certify import Model
from diacritic.measure.recorded import Classes
from diacritic.report.meanings import Ints
from diacritic.tasks.protocol import Task


def designed(task: Task) -> Model:
    """A task as it is designed, every hidden configuration equally likely."""
    hidden = configurations(task)
    (seen, shown), (acted, actions) = task.symbolic_observations(hidden), task.symbolic_actions(hidden)
    return Model.from_arrays(
        seen.T, acted.T, observation_names=shown, action_names=actions, empirical=True, name=task.title
    )


def configurations(task: Task) -> dict[str, np.ndarray]:
    """Every combination of the hidden values that decide an episode, one row each; the others are 0."""
    strata = task.convention.strata
    hidden = {name: np.zeros(prod(strata.values()), np.int64) for name in task.latents}
    return hidden | dict(zip(strata, np.array(list(product(*map(range, strata.values())))).T, strict=True))


class Design(NamedTuple):
    """What every step requires, and which class decides it."""

    required: tuple[float, ...]  # H(Γ_t | Ō_t)
    decides: tuple[str | None, ...]  # the class on which the expert's action depends

    @staticmethod
    def of(task: Task) -> "Design":
        hidden = configurations(task)
        acted, choices = task.symbolic_actions(hidden)[0], task.choices(hidden)
        classes = {name: choices[name] for name in task.decisions}
        required = Classes.of(task.symbolic_observations(hidden)[0], acted).required
        return Design(required, tuple(_cause(row, classes) for row in acted))


def _cause(actions: Ints, classes: Mapping[str, Ints]) -> str | None:
    """The class that decides the actions, of several that with the fewest values; none where they are all alike."""
    if actions.min() == actions.max():
        return None
    fitting = {name: len(np.unique(values)) for name, values in classes.items() if _determines(values, actions)}
    return min(fitting, key=lambda name: fitting[name], default=None)


def _determines(cause: Ints, effect: Ints) -> bool:
    return len(np.unique(np.stack([cause, effect]), axis=1).T) == len(np.unique(cause))
