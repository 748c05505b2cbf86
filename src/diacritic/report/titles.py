"""Names of tasks on the page: short where they are read, in full where somebody asks."""

from collections.abc import Mapping
from typing import Any

from certify.errors import UserError
from diacritic.tasks.franka.task import Task
from diacritic.tasks.franka.tasks import known_name, make_task


def recorded_task(name: str, parameters: Mapping[str, Any]) -> Task | None:
    """The robot task of a recording; None where this version does not know it."""
    try:
        return make_task(name, **parameters)
    except (UserError, TypeError, ValueError):
        return None


def full_title(name: str, parameters: Mapping[str, Any]) -> str:
    """A task with all parameters that are not off."""
    return " ".join([name, *(f"{key}={value}" for key, value in parameters.items() if value not in (False, 0))])


def short_title(name: str, parameters: Mapping[str, Any]) -> str:
    """A task with the parameters that are not as usual: `two-cues gap=20`."""
    task = recorded_task(name, parameters)
    if task is None:
        return full_title(name, parameters)
    known = known_name(task)
    usual = make_task(known).parameters
    return " ".join([known, *(f"{key}={value}" for key, value in task.parameters.items() if value != usual[key])])
