"""What adapters of live environments share: named actions, experts that look at the live state, attributes by path."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from certify.errors import UserError
from certify.sources.adapter import H, History, Law


@dataclass(frozen=True)
class StateExpert:
    """An expert that acts on the live environment, hence privileged: `act(env)` is asked at every step it plays."""

    act: Callable[[Any], Any]


Expert = Callable[[H, History], Any] | StateExpert


@dataclass(frozen=True)
class Actions:
    """The names of actions and the values that the environment takes for them."""

    task: str
    values: Mapping[str, Any]

    def law(self, choice: Any) -> Law:
        """An expert's choice by name: a name or a value, or either with probabilities."""
        if isinstance(choice, Mapping):
            return {self._name(action): p for action, p in choice.items()}
        return self._name(choice)

    def _name(self, choice: Any) -> str:
        for name, value in self.values.items():
            if choice == name if isinstance(choice, str) else np.array_equal(choice, value):
                return name
        names = ", ".join(list(self.values)[:8]) + ", …" * (len(self.values) > 8)
        raise UserError(f"{self.task}.expert", f"chose {choice!r}, which is not an action; the actions are {names}")


def named_actions(
    task: str, given: Sequence[str] | Mapping[str, Any] | None, space: Any, first: str, count: str
) -> Actions:
    """Actions as they are given, or those of a discrete space; `first` and `count` are its attributes."""
    if isinstance(given, Mapping):
        return Actions(task, given)
    if not hasattr(space, first) or not hasattr(space, count):
        raise UserError(f"{task}.actions", f"{space} is not discrete; give actions={{name: value, …}}")
    start, size = int(getattr(space, first)), int(getattr(space, count))
    names = [str(start + k) for k in range(size)] if given is None else list(given)
    if len(names) != size or len(set(names)) != size or not all(isinstance(name, str) for name in names):
        raise UserError(f"{task}.actions", f"expected {size} different names, not {names}")
    return Actions(task, {name: start + k for k, name in enumerate(names)})


def by_name(expert: Expert[H], actions: Actions, live: Any) -> Callable[[H, History], Law]:
    """The expert as the contract wants it: on hidden value and history, by the names of actions."""
    if isinstance(expert, StateExpert):
        act = expert.act
        return lambda hidden, history: actions.law(act(live))
    return lambda hidden, history: actions.law(expert(hidden, history))


def set_attribute(owner: Any, path: str, value: Any) -> None:
    """Set an attribute that is already there; a path such as ``world.goal`` leads through its owners."""
    kind = type(owner).__name__
    *parents, last = path.split(".")
    try:
        for part in parents:
            owner = getattr(owner, part)
        getattr(owner, last)  # a new attribute would have no effect
        setattr(owner, last, value)
    except AttributeError as error:
        raise UserError(kind, f"its hidden value cannot be set as {path!r}: {error}") from None
