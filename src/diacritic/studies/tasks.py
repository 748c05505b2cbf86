"""Tasks as studies name them; of symbolic ones also their model, the windows that are reported, and what is hidden."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certify import Model
from diacritic.measure.scores import Requirement, latent_labels
from diacritic.tasks.named import named_model
from diacritic.tasks.registry import is_simulated, make

Windows = dict[str, range]
"""Names of stretches of steps, from 1."""
HOW = ("episodes", "pixels", "recording")  # parameters of the recording, not of the task


@dataclass(frozen=True)
class Task:
    """A zoo instance, the first steps of a task without an end, or a simulated task; equal tasks are equal keys.

    Of a simulated task, the parameters `episodes`, `pixels` and `recording` (its seed) say how it is recorded.
    """

    name: str
    parameters: tuple[tuple[str, Any], ...] = ()

    @property
    def title(self) -> str:
        return self.name + "".join(f" {key}={value}" for key, value in self.parameters)

    @property
    def recorded(self) -> bool:
        """Whether it is a simulated task, learned from recordings."""
        return is_simulated(self.name)

    @property
    def version(self) -> int:
        """The version that a simulated task declares; 1 of a model."""
        return _version(self) if self.recorded else 1


def task(name: str, **parameters: Any) -> Task:
    return Task(name, tuple(sorted(parameters.items())))


@lru_cache(maxsize=1024)
def _version(task: Task) -> int:
    return make(task.name, **{key: value for key, value in task.parameters if key not in HOW}).version


@lru_cache(maxsize=64)
def model_of(task: Task) -> Model:
    return named_model(task.name, [f"{key}={value}" for key, value in task.parameters])


@lru_cache(maxsize=64)
def requirement_of(task: Task) -> Requirement:
    return Requirement.of(model_of(task))


def windows(task: Task) -> Windows:
    """Where rates and scores are reported."""
    model, given = model_of(task), dict(task.parameters)
    T = model.horizon
    if task.name in ("gap", "re-reveal"):
        first = 3 + given.get("gap1", 3)
        return {"first gap": range(3, first + 2), "second gap": range(first + 2, T + 1)}
    if task.name == "gap-toy":
        use = T - 1 - given.get("gap2", 6)
        return {"first gap": range(use - given.get("gap1", 1), use), "second gap": range(use + 1, T)}
    if task.name == "cue-corridor":
        junction = given.get("L", 5) + 2
        return {"corridor": range(2, junction), "junction": range(junction, junction + 1)}
    if task.name == "memory-chain":
        return {"mid-delay": range((T + 2) // 2, (T + 2) // 2 + 1), "delay": range(3, T), "query": range(T, T + 1)}
    if task.name == "passive-t-maze":
        middle = (T + 1) // 2
        return {"mid-delay": range(middle, middle + 1), "corridor": range(2, T), "junction": range(T, T + 1)}
    if task.name == "signpost-corridor":
        start = 1 + given.get("M", 16).bit_length()
        hall1, hall2 = given.get("hall1", 3), given.get("hall2", 3)
        second = start + hall1 + 1
        return {"hall 1": range(start, start + hall1), "hall 2": range(second, second + hall2)}
    return {"decision": range(T, T + 1)}


_HIDDEN: dict[str, dict[str, int]] = {  # hidden values by their place in a latent
    **{name: {"nuisance": 0} for name in ("gap", "re-reveal", "reveal", "reveal-toy", "lost-cue")},
    "gap-toy": {"nuisance": 0, "theta": 1},
    "cue-corridor": {"nuisance": 1},
    "signpost-corridor": {"theta": 1, "drift": 2},
}


def hidden_labels(task: Task) -> dict[str, NDArray[np.int64]]:
    """Hidden values of every episode of the model, as numbers, by name."""
    model = model_of(task)
    if task.name not in _HIDDEN or model.dynamics is None:
        return {}
    owner = latent_labels(model)
    labels = {}
    for name, position in _HIDDEN[task.name].items():
        values = [latent[position] for latent, _ in model.dynamics.latents]
        distinct = sorted(set(values))
        labels[name] = np.array([distinct.index(value) for value in values], np.int64)[owner]
    return labels
