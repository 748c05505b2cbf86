"""POMDPs in Storm's explicit format DRN as worlds, with exact numbers, and what else a file says of their states."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from certify.core.reading import rational, read_text
from certify.errors import UserError
from certify.stationary.process import Process
from certify.stationary.world import World

MOST_BYTES = 512 * 2**20
_STATE = re.compile(r"state (\d+)(?: \{(\d+)\})?(?: \[([^\]]*)\])?(.*)")
_ACTION = re.compile(r"action (\S+)(?: \[([^\]]*)\])?")
_NUMBER = re.compile(r"[0-9.eE+/-]+")


@dataclass
class _State:
    observation: int
    labels: tuple[str, ...]
    gains: list[Fraction]  # of each reward model
    actions: list[tuple[str, list[Fraction], dict[int, Fraction]]] = field(default_factory=list)


@dataclass(frozen=True)
class Explicit:
    """A world with the labels and rewards of its states, as Storm knows them.

    A state that every action keeps ends the episode. A reward is of (state, action).
    """

    world: World
    labels: tuple[tuple[str, ...], ...]
    rewards: dict[str, tuple[dict[str, Fraction], ...]]  # by name, of each state: action → reward

    def labels_of(self, process: Process, x: int) -> list[str]:
        """The labels of a state of a process in this world, but for `init`."""
        return [label for label in self.labels[process.hidden[x][0]] if label != "init"]

    def reward_of(self, name: str, process: Process, x: int) -> Fraction:
        """The expected reward of a state of a process in this world."""
        gains = self.rewards[name][process.hidden[x][0]]
        return sum((p * gains.get(process.actions[a], Fraction(0)) for a, p in process.law[x]), Fraction(0))


def load_drn(path: str | os.PathLike[str], names: Sequence[str] | None = None) -> Explicit:
    """A POMDP from a DRN file; `names` are those of its observations."""
    path = Path(path)
    return read_drn(read_text(path, path.name, MOST_BYTES), path.stem, names)


def read_drn(text: str, name: str = "", names: Sequence[str] | None = None) -> Explicit:
    """A POMDP from the text of a DRN file."""
    head, model, body = text.partition("@model")
    kind = re.search(r"^@type:\s*(\S+)", head, re.MULTILINE)
    if not model or kind is None:
        raise UserError("line 1", "expected a DRN file, with @type and @model")
    if kind[1].lower() != "pomdp":
        raise UserError("@type", f"expected a POMDP, with an observation of each state, not a {kind[1]}")
    lines = re.search(r"^@reward_models\n(.*)$", head, re.MULTILINE)
    states = _states(body, head.count("\n") + 1)
    return _explicit(states, lines[1].split() if lines else [], name, names)


def _states(body: str, line: int) -> list[_State]:
    states: list[_State] = []
    row: dict[int, Fraction] | None = None
    values: dict[str, Fraction] = {}
    for number, raw in enumerate(body.split("\n"), line):
        words = raw.partition("//")[0].strip()
        if not words:
            continue
        where = f"line {number}"
        if (match := _STATE.fullmatch(words)) and match[2] is not None:
            if int(match[1]) != len(states):
                raise UserError(where, f"expected state {len(states)}")
            row = None
            states.append(_State(int(match[2]), tuple(match[4].split()), _numbers(match[3], where)))
        elif (match := _ACTION.fullmatch(words)) and states:
            row = {}
            states[-1].actions.append((match[1], _numbers(match[2], where), row))
        elif row is not None and " : " in words:
            target, _, value = words.partition(" : ")
            if not target.isdecimal() or not _NUMBER.fullmatch(value):
                raise UserError(where, "expected 'STATE : PROBABILITY'")
            if value not in values:
                values[value] = rational(value, where)
            row[int(target)] = values[value]
        else:
            raise UserError(where, "expected a state with its observation, an action, or 'STATE : PROBABILITY'")
    return states


def _numbers(given: str | None, where: str) -> list[Fraction]:
    return [rational(value.strip(), where) for value in given.split(",")] if given and given.strip() else []


def _explicit(states: list[_State], gains: list[str], name: str, names: Sequence[str] | None) -> Explicit:
    actions: dict[str, int] = {}
    rows: list[dict[int, dict[int, Fraction]]] = []
    rewards: list[list[dict[str, Fraction]]] = [[{} for _ in states] for _ in gains]
    for s, state in enumerate(states):
        absorbing = all(row == {s: 1} for *_, row in state.actions)
        for action, (label, own, row) in zip(_action_names(state), state.actions, strict=True):
            if sum(row.values()) != 1 or min(row.values()) < 0 or max(row) >= len(states):
                raise UserError(f"state {s}", f"action {label}: not a distribution of the {len(states)} states")
            if actions.setdefault(action, len(actions)) == len(rows):
                rows.append({})
            rows[actions[action]][s] = {} if absorbing else {t: p for t, p in row.items() if p}
            for k, by_state in enumerate(rewards):
                total = (state.gains[k] if state.gains else Fraction(0)) + (own[k] if own else Fraction(0))
                by_state[s][action] = total
    first = [s for s, state in enumerate(states) if "init" in state.labels]
    if not first:
        raise UserError("@model", "no state is labelled init")
    count = max(state.observation for state in states) + 1
    shown = tuple({state.observation: Fraction(1)} for state in states)
    world = World(
        tuple(f"s{k}" for k in range(len(states))),
        tuple(actions),
        tuple(names) if names is not None else tuple(f"z{k}" for k in range(count)),
        {s: Fraction(1, len(first)) for s in first},
        tuple(rows),
        (shown,) * len(actions),
        shown,
        name,
    )
    labels = tuple(state.labels for state in states)
    return Explicit(world, labels, {gain: tuple(rewards[k]) for k, gain in enumerate(gains)})


def _action_names(state: _State) -> list[str]:
    """Labels where they tell the actions apart, numbers elsewhere."""
    labels = [label for label, *_ in state.actions]
    good = len(set(labels)) == len(labels) and "__NOLABEL__" not in labels
    return labels if good else [str(k) for k in range(len(labels))]
