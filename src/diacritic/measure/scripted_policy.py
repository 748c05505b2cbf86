"""Episodes of a third-party policy as scripts: what it is shown, step by step, and where its state is replaced.

A script is played from `reset()` on the policy itself. The only assumption is that the policy repeats itself. That is
enough for every intervention: a swap of two states is a script with a `SetState` in it; a different past is a script
with a different beginning. Memory outside the writable state continues undisturbed, so the comparison detects it.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from certify.errors import UserError
from diacritic.measure.interventions import Decide, Episodes, Ints
from diacritic.measure.policy_adapters import PolicyAdapter, leaves

if TYPE_CHECKING:
    from diacritic.measure.audit_task import AuditTask

SAME = 1e-6  # actions and states that differ by no more are equal
REPEATED = 8  # episodes that are played twice
NOTHING = -1  # the decision of a policy that an intervention leaves without one


class Lost(UserError):
    """The policy fails, or its output is not an action of the task."""


@dataclass(frozen=True)
class SetState:
    """Replace the state by the one at the end of another script; the empty script ends with the initial state."""

    source: "Script"


Script = tuple[int | SetState, ...]  # numbers name what is shown


class ScriptedPolicy:
    """Performs every script once, and remembers the action, the state and the code at its end."""

    def __init__(self, policy: PolicyAdapter, task: "AuditTask", afresh: bool = False) -> None:
        self.policy, self.task = policy, task
        self._pristine = deepcopy(policy) if afresh else None
        self._actions: dict[Script, Any] = {}
        self._states: dict[Script, Any] = {}
        self._codes: dict[Script, int | None] = {}

    def action(self, script: Script) -> Any:
        """What the policy does at the end of a script."""
        if script not in self._actions:
            self._perform(script)
        return self._actions[script]

    def state(self, script: Script) -> Any:
        """Its state at the end of an undisturbed script."""
        if script not in self._states:
            self._perform(script)
        return self._states[script]

    def code(self, script: Script) -> int | None:
        """The hard code that it shows there."""
        self.action(script)
        return self._codes[script]

    def _perform(self, script: Script) -> None:
        for event in script:
            if isinstance(event, SetState):
                self.state(event.source)  # before this one begins: one policy plays one episode at a time
        policy = self.policy if self._pristine is None else deepcopy(self._pristine)
        policy.reset()
        done, disturbed = (), False
        self._keep(policy, done)
        for event in script:
            done = (*done, event)
            if isinstance(event, SetState):
                policy.write(self._states[event.source])
                disturbed = True  # states after this are of no further use
                continue
            action = _act(policy, self.task, event, len(done))
            if done in self._actions and not np.allclose(self._actions[done], action, rtol=0, atol=SAME):
                raise unsteady(f"after the same {len(done)} steps it does something else")
            self._actions[done], self._codes[done] = action, policy.code
            if not disturbed:
                self._keep(policy, done)

    def _keep(self, policy: PolicyAdapter, done: Script) -> None:
        if policy.readable and done not in self._states:
            self._states[done] = state = policy.read()
            check_finite(state, len(done))


@dataclass(frozen=True)
class Boundary:
    """Whether `reset()` brings the policy back to its beginning."""

    leaks: bool
    text: str


def boundary(policy: PolicyAdapter, task: "AuditTask", episodes: Sequence[Sequence[int]]) -> Boundary:
    """Some episodes forwards and then backwards: each must go as before, whatever was played ahead of it.

    A policy that copies of it do not agree with plays dice, and is refused; so is one that cannot be copied.
    """
    some = [episodes[k] for k in np.unique(np.linspace(0, len(episodes) - 1, REPEATED).astype(int))]
    pristine = _copied(policy)
    first = [_play(policy, task, script) for script in some]
    again = [_play(policy, task, script) for script in reversed(some)][::-1]
    if all(_alike(*pair) for pair in zip(first, again, strict=True)):
        return Boundary(False, "episodes played after others go as before, action by action")
    if pristine is None:
        raise unsteady("by chance, or by what reset() leaves behind; it cannot be copied to tell which")
    twins = [[_play(deepcopy(pristine), task, script) for script in some] for _ in range(2)]
    if not all(_alike(*pair) for pair in zip(*twins, strict=True)):
        raise unsteady("two copies of it do not agree in the same episode")
    return Boundary(True, "something survives reset(): an episode goes differently after another one")


def unsteady(how: str) -> UserError:
    """A policy that does not repeat itself."""
    reason = f"does not repeat itself after reset(): {how}; make it deterministic (eval(), the likeliest action)"
    return UserError("policy", reason)


def check_finite(state: Any, steps: int) -> None:
    """Refuse a state with NaN or infinity in it."""
    try:
        arrays = list(leaves(state))
    except UserError:
        return  # no numbers, nothing to be finite
    if not all(np.isfinite(array).all() for array in arrays):
        raise UserError("policy.state", f"is not finite after {steps} steps; mend the policy before it is audited")


@dataclass(frozen=True)
class Rows:
    """For `attribute`: the scripts played, and those whose states stand at their ends."""

    code: NDArray[Any]
    past: NDArray[Any]


class StateScripts:
    """A policy whose state can be written, as `attribute` takes one; its actions are scripts, not performed yet."""

    def begin(self, batch: int) -> Rows:
        empty = _scripts([()] * batch)
        return Rows(empty, empty)

    def step(self, state: Rows, observation: Ints, previous_action: Any) -> tuple[Rows, Ints, NDArray[Any]]:
        done = _scripts(
            [
                (*past, event) if code == past else (*past, SetState(code), event)
                for code, past, event in zip(state.code, state.past, observation.tolist(), strict=True)
            ]
        )
        return Rows(done, done), observation, done


class PastScripts:
    """A policy that shows no state: all that can be moved is its whole past."""

    def begin(self, batch: int) -> NDArray[Any]:
        return _scripts([()] * batch)

    def step(self, state: NDArray[Any], observation: Ints, previous_action: Any) -> tuple[Any, Ints, Any]:
        done = _scripts([(*past, event) for past, event in zip(state, observation.tolist(), strict=True)])
        return done, observation, done


def decider(scripted: ScriptedPolicy, decide: Callable[[Sequence[Any], int], Ints]) -> Decide:
    """Perform the scripts, and decide by the actions at their ends; a policy that is lost decides nothing."""

    def choose(scripts: Any, step: int) -> Ints:
        choices, actions = np.full(len(scripts), NOTHING), {}
        for row, script in enumerate(scripts):
            with suppress(Lost):  # the undisturbed episodes have been played before
                actions[row] = scripted.action(script)
        if actions:
            choices[list(actions)] = decide(list(actions.values()), step)
        return choices

    return choose


def whole_episodes(episodes: Episodes) -> list[tuple[int, ...]]:
    """The script of every episode."""
    return [tuple(column) for column in np.asarray(episodes.observations).T.tolist()]


def _scripts(items: list[Any]) -> NDArray[Any]:
    return np.fromiter(items, object, len(items))


def _act(policy: PolicyAdapter, task: "AuditTask", event: int, step: int) -> Any:
    try:
        raw = policy.act(*task.show(event))
    except UserError:
        raise
    except Exception as error:  # whatever a policy raises, the user needs the step that it raised it on
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise Lost("policy", f"failed at step {step} of an episode: {reason}") from error
    try:
        return task.understand(raw)
    except UserError as error:
        raise Lost(error.where, error.reason) from None


def _play(policy: PolicyAdapter, task: "AuditTask", episode: Sequence[int]) -> list[tuple[Any, Any]]:
    policy.reset()
    return [
        (_act(policy, task, event, step), policy.read() if policy.readable else None)
        for step, event in enumerate(episode, 1)
    ]


def _alike(one: list[tuple[Any, Any]], two: list[tuple[Any, Any]]) -> bool:
    return all(
        np.allclose(action, other, rtol=0, atol=SAME) and _same_state(state, left)
        for (action, state), (other, left) in zip(one, two, strict=True)
    )


def _same_state(one: Any, two: Any) -> bool:
    try:
        mine, theirs = list(leaves(one)), list(leaves(two))
    except UserError:
        return bool(one == two)
    sizes = [array.shape for array in mine] == [array.shape for array in theirs]
    return sizes and all(np.allclose(a, b, rtol=0, atol=SAME) for a, b in zip(mine, theirs, strict=True))


def _copied(policy: PolicyAdapter) -> PolicyAdapter | None:
    try:
        return deepcopy(policy)
    except Exception:  # copying fails in as many ways as there are policies
        return None
