"""Names of tasks on the page: short where they are read, in full where somebody asks."""

from collections.abc import Mapping
from typing import Any

from certify.errors import UserError
from diacritic.tasks.protocol import Task
from diacritic.tasks.registry import make


def recorded_task(name: str, parameters: Mapping[str, Any]) -> Task | None:
    """The simulated task of a recording; None where this version does not know it."""
    try:
        return make(name, **parameters)
    except (UserError, TypeError, ValueError):
        return None


def full_title(name: str, parameters: Mapping[str, Any]) -> str:
    """A task with all parameters that are not off."""
    return " ".join([name, *(f"{key}={value}" for key, value in parameters.items() if value not in (False, 0))])


def short_title(name: str, parameters: Mapping[str, Any]) -> str:
    """A task with the parameters that are not as usual: `two-cues gap=20`."""
    task = recorded_task(name, parameters)
    return full_title(name, parameters) if task is None else task.title
