"""Any policy behind one interface: forget, act, and where possible read and write what it remembers.

Every policy is played one episode at a time, by `reset` and `act` alone. What a policy is shown comes in all forms that
policies ask for (`Observation`), and each adapter picks its own.
"""

import inspect
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certify.errors import UserError
from certify.optional import import_optional
from diacritic.demos.lerobot import IMAGE
from diacritic.measure.interventions import with_code

Floats = NDArray[np.floating[Any]]
STATE = "observation.state"  # beside IMAGE a key of LeRobot batches
KNOWN = (
    "reset() and act(observation)",
    "an nn.Module's forward(observation, state) -> (action, state)",
    "predict(observation, state, episode_start)",
    "reset() and select_action(batch)",
    "begin(batch) and step(state, observation, previous_action)",
)


@dataclass(frozen=True)
class Observation:
    """One observation, or one executed action."""

    vector: Floats  # of a symbol its one-hot vector, of no action yet zeros
    number: int | None = None  # of a symbol, from 0
    name: str | None = None  # of a symbol
    frame: NDArray[np.uint8] | None = None  # [64, 64, 3], where there is a camera
    absent: bool = False  # there is no action yet


class PolicyAdapter(ABC):
    """A policy in one episode; `readable` and `writable` say what can be done with its state.

    Unless said otherwise, the policy is given its state and gives it back.
    """

    interface: str
    readable: bool = True
    writable: bool = True
    _state: Any = None

    def __init__(self, policy: Any) -> None:
        self.policy = policy

    @abstractmethod
    def reset(self) -> None:
        """Forget everything."""

    @abstractmethod
    def act(self, seen: Observation, before: Observation) -> Any:
        """The action as the policy gives it."""

    def read(self) -> Any:
        """A copy of the state."""
        return deepcopy(self._state)

    def write(self, state: Any) -> None:
        """Go on from another state."""
        self._state = deepcopy(state)

    @property
    def code(self) -> int | None:
        """A hard code that the policy shows beside its action."""
        return whole(getattr(self.policy, "code", None))


class Acting(PolicyAdapter):
    """`reset()` and `act(observation)`, or `act(observation, previous_action)`; its memory may be opaque.

    The state is `get_state()` and `set_state(state)`, or the attribute `state`. Symbols are shown by name.
    """

    interface = KNOWN[0]

    def __init__(self, policy: Any) -> None:
        super().__init__(policy)
        self._informed = takes(policy.act, 2)
        self._methods = callables(policy, "get_state", "set_state")
        policy.reset()
        self.readable = self._methods or hasattr(policy, "state")
        self.writable = self.readable and (self._methods or _settable(policy))

    def reset(self) -> None:
        self.policy.reset()

    def act(self, seen: Observation, before: Observation) -> Any:
        previous = None if before.absent else _plain(before)
        return self.policy.act(_plain(seen), previous) if self._informed else self.policy.act(_plain(seen))

    def read(self) -> Any:
        return deepcopy(self.policy.get_state() if self._methods else self.policy.state)

    def write(self, state: Any) -> None:
        if self._methods:
            self.policy.set_state(deepcopy(state))
        else:
            self.policy.state = deepcopy(state)


class Forward(PolicyAdapter):
    """An `nn.Module`: (action, state) from a row [1, D] and the state, None (or `initial_state(1)`) at first.

    A third parameter is given the previous action [1, A].
    """

    interface = KNOWN[1]

    def __init__(self, policy: Any) -> None:
        super().__init__(policy)
        self._informed = takes(policy.forward, 3)

    def reset(self) -> None:
        self._state = self.policy.initial_state(1) if callables(self.policy, "initial_state") else None

    def act(self, seen: Observation, before: Observation) -> Any:
        _no_camera(seen)
        more = (_row(before),) if self._informed else ()
        returned = _without_gradient(self.policy, _row(seen), self._state, *more)
        action, self._state = _several(returned, 2, "forward", "(action, state)")
        return action


class Predicting(PolicyAdapter):
    """sb3-contrib's recurrent policies, which act greedily; others of that family have the state None."""

    interface = KNOWN[2]

    def __init__(self, policy: Any) -> None:
        super().__init__(policy)
        self._first = True
        self._symbols = hasattr(getattr(policy, "observation_space", None), "n")

    def reset(self) -> None:
        self._state, self._first = None, True

    def act(self, seen: Observation, before: Observation) -> Any:
        _no_camera(seen)
        shown = np.asarray(seen.number) if self._symbols and seen.number is not None else seen.vector
        returned = self.policy.predict(
            shown, state=self._state, episode_start=np.array([self._first]), deterministic=True
        )
        action, self._state = _several(returned, 2, "predict", "(action, state)")
        self._first = False
        return action

    def read(self) -> Any:
        return deepcopy((self._first, self._state))

    def write(self, state: Any) -> None:
        self._first, self._state = deepcopy(state)


class Selecting(PolicyAdapter):
    """A LeRobot-style policy: a batch of one, by LeRobot's names; its queues are its own and stay unread."""

    interface = KNOWN[3]
    readable = writable = False

    def reset(self) -> None:
        self.policy.reset()

    def act(self, seen: Observation, before: Observation) -> Any:
        batch = {STATE: _row(seen)}
        if seen.frame is not None:
            batch[IMAGE] = _torch().from_numpy(np.moveaxis(seen.frame, -1, 0)[None] / np.float32(255))
        return _without_gradient(self.policy.select_action, batch)

    def read(self) -> Any:
        raise UserError("policy", f"its state cannot be read through {self.interface}")

    def write(self, state: Any) -> None:
        raise UserError("policy", f"its state cannot be written through {self.interface}")


class Stepping(PolicyAdapter):
    """A carrier of this project, or whatever steps like one; with `code_alone` a write moves nothing but its code."""

    interface = KNOWN[4]

    def __init__(self, policy: Any, code_alone: bool = False) -> None:
        super().__init__(policy)
        self._code_alone, self._code = code_alone, None

    def reset(self) -> None:
        self._state, self._code = self.policy.begin(1), None

    def act(self, seen: Observation, before: Observation) -> Any:
        _no_camera(seen)
        returned = _without_gradient(self.policy.step, self._state, _row(seen), _row(before))
        self._state, code, action = _several(returned, 3, "step", "(state, code, action)")
        self._code = whole(code)
        return action

    def write(self, state: Any) -> None:
        self._state = with_code(self._state, deepcopy(state)) if self._code_alone else deepcopy(state)

    @property
    def code(self) -> int | None:
        return self._code


_METHODS: dict[Callable[[Any], PolicyAdapter], tuple[str, ...]] = {
    Stepping: ("begin", "step"),
    Selecting: ("reset", "select_action"),
    Acting: ("reset", "act"),
    Predicting: ("predict",),
}


def adapt(policy: Any) -> PolicyAdapter:
    """The policy behind its adapter, or one line that lists the known interfaces."""
    if isinstance(policy, PolicyAdapter):
        return policy
    for adapter, methods in _METHODS.items():
        if callables(policy, *methods):
            return adapter(policy)
    torch = sys.modules.get("torch")  # a module can only be one if torch is there already
    module = torch is not None and isinstance(policy, torch.nn.Module)
    if module and (takes(policy.forward, 2) or takes(policy.forward, 3)):
        return Forward(policy)
    raise UserError("policy", f"a {type(policy).__name__} has none of the known interfaces: {'; '.join(KNOWN)}")


def callables(policy: Any, *names: str) -> bool:
    """Whether it has all these methods."""
    return all(callable(getattr(policy, name, None)) for name in names)


def takes(function: Callable[..., Any], arguments: int) -> bool:
    """Whether a function can be called with so many positional arguments."""
    try:
        inspect.signature(function).bind(*range(arguments))
    except TypeError:
        return False
    return True


def leaves(state: Any) -> Iterator[NDArray[Any]]:
    """The arrays of numbers that a state is made of, one after the other; anything else is refused."""
    parts = _parts(state)
    if parts is not None:
        for part in parts:
            yield from leaves(part)
        return
    array = np.asarray(state.detach().cpu() if hasattr(state, "detach") else state).reshape(-1)
    if array.dtype.kind not in "iubf":
        raise UserError("policy.state", f"holds a {type(state).__name__}, which is not an array of numbers")
    yield array


def _parts(state: Any) -> list[Any] | None:
    """What a state consists of; None if it is one thing."""
    if state is None:
        return []
    if is_dataclass(state) and not isinstance(state, type):
        return [getattr(state, field.name) for field in fields(state)]
    if isinstance(state, Mapping):
        return [state[key] for key in sorted(state, key=str)]
    return list(state) if isinstance(state, Sequence) and not isinstance(state, str) else None


def whole(code: Any) -> int | None:
    """A single whole number, or None."""
    if code is None or isinstance(code, str):
        return None
    (values, *others) = [*leaves(code), np.zeros(0)]
    return int(values[0]) if len(others) == 1 and values.shape == (1,) and values.dtype.kind in "iu" else None


def _settable(policy: Any) -> bool:
    try:
        policy.state = policy.state
    except AttributeError:
        return False
    return True


def _plain(seen: Observation) -> Any:
    """A name, a vector, or a dictionary where there is a camera."""
    if seen.frame is not None:
        return {STATE: seen.vector, IMAGE: seen.frame}
    return seen.vector if seen.name is None else seen.name


@cache
def _torch() -> Any:
    return import_optional("torch", "learn")


def _without_gradient(function: Callable[..., Any], *arguments: Any) -> Any:
    with _torch().no_grad():
        return function(*arguments)


def _row(seen: Observation) -> Any:
    return _torch().from_numpy(np.asarray(seen.vector, np.float32)[None])


def _several(returned: Any, count: int, method: str, wanted: str) -> tuple[Any, ...]:
    if not isinstance(returned, tuple) or len(returned) != count:
        raise UserError(f"policy.{method}", f"gave a {type(returned).__name__}; expected {wanted}")
    return returned


def _no_camera(seen: Observation) -> None:
    if seen.frame is not None:
        raise UserError("policy", f"camera frames are shown through {KNOWN[0]} or {KNOWN[3]} alone; wrap it so")
