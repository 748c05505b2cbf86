"""Tasks by name: Franka tasks, the point mass, tasks of your own, and every finite model of the zoo."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from certify import Model, zoo
from certify.errors import UserError
from diacritic.files.demos import Demos
from diacritic.tasks.protocol import Task, from_parameters
from diacritic.tasks.recorded import RecordedTask

Factory = Callable[..., Task]

# name → its class, or a function of name and parameters; imported when a task is made
_BUILT_IN = {
    **dict.fromkeys(
        ("two-cues", "full-reveal", "hidden-mass", "readout-2", "readout-3", "weighing"),
        "diacritic.tasks.franka.tasks:make_task",
    ),
    "point-mass": "diacritic.tasks.pointmass:PointMass",
}
# the paper's names, and what they imply
ALIASES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "A′": ("two-cues", {}),
    "A'": ("two-cues", {}),
    "tier 16": ("two-cues", {"classes": 4}),
    "P-I": ("full-reveal", {}),
    "Task A": ("hidden-mass", {}),
    "readout": ("readout-2", {}),
    "signpost corridor": ("signpost-corridor", {}),
    "cue–corridor T-maze": ("cue-corridor", {}),
    "memory chain": ("memory-chain", {}),
    "Passive T-maze": ("passive-t-maze", {}),
}
_REGISTERED: dict[str, Factory] = {}


def register_task(name: str, factory: Factory) -> None:
    """Make a task of your own known by name; `factory(**parameters)` gives it."""
    if name in names() or name in ALIASES:
        raise UserError("task", f"the name {name!r} is taken; choose another")
    _REGISTERED[name] = factory


def names() -> list[str]:
    """The tasks with their own physics."""
    return [*_BUILT_IN, *_REGISTERED]


def is_simulated(name: str) -> bool:
    """Whether the name, or what it is an alias of, is a task with its own physics."""
    return ALIASES.get(name, (name, {}))[0] in names()


def is_only_recorded(name: str, version: int | None) -> bool:
    """Whether episodes of this name and version were recorded without a task of ours."""
    return not version and not is_simulated(name)


def make(name: str, **parameters: Any) -> Task:
    """A task with its own physics, by its name or the paper's name."""
    canonical, implied = ALIASES.get(name, (name, {}))
    given = {**implied, **parameters}
    if canonical in _REGISTERED:
        return _REGISTERED[canonical](**given)
    if canonical not in _BUILT_IN:
        raise UserError("task", f"{name!r} is unknown; there are {', '.join(names())}")
    module, _, attribute = _BUILT_IN[canonical].partition(":")
    factory = getattr(import_module(module), attribute)
    return from_parameters(factory, name, given) if isinstance(factory, type) else factory(canonical, **given)


def find(name: str, **parameters: Any) -> Task | Model:
    """Any task by name: one with its own physics, or a finite model of the zoo."""
    if is_simulated(name):
        return make(name, **parameters)
    canonical, implied = ALIASES.get(name, (name, {}))
    return zoo.build(canonical, **{**implied, **parameters})


def task_of(demos: Demos) -> Task:
    """The task that a recording is of, or the recording itself where no task made it (its version is then 0).

    A recording of another version of the task is refused.
    """
    if is_only_recorded(demos.task, demos.task_version):
        return RecordedTask(demos)
    task = make(demos.task, **demos.parameters)
    if demos.task_version != task.version:
        said = f"is of version {demos.task_version} of {demos.task}, but this is version {task.version}"
        raise UserError("recording", f"{said}; record it again")
    return task
