"""A policy with a finite memory, as two tables: what a trained carrier becomes on a symbolic task."""

import base64
import binascii
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from certify import Machine, Model, UserError
from certify.core.exact import Ints

Floats = NDArray[np.float64]
_TOLERANCE = 1e-5  # a row of probabilities may come from single precision


@dataclass(frozen=True)
class CodeMachine:
    """C_t = move[C_{t−1}, O_t, A_{t−1}] and A_t ~ act[C_t, O_t]; the code is all that is remembered.

    Of K codes, O observations and A actions, index K on the first axis of `move` means that there is no code yet,
    index A on its last axis that there is no action yet: both hold at the first step alone.
    """

    move: Ints  # [K + 1, O, A + 1]
    act: Floats  # [K, O, A]

    def __post_init__(self) -> None:
        move, act = np.asarray(self.move), np.asarray(self.act, np.float64)
        if act.ndim != 3 or not act.size:
            raise UserError("act", f"expected shape [codes, observations, actions], not {list(act.shape)}")
        codes, observations, actions = act.shape
        wanted = (codes + 1, observations, actions + 1)
        if move.shape != wanted or move.dtype.kind not in "iu":
            raise UserError("move", f"expected integers of shape {list(wanted)}, not {move.dtype} {list(move.shape)}")
        outside = move[(move < 0) | (move >= codes)]
        if len(outside):
            raise UserError("move", f"the entry {outside.min()} is not a code; expected 0…{codes - 1}")
        wrong = np.argwhere(~((act.min(axis=2) >= 0) & (abs(act.sum(axis=2) - 1) <= _TOLERANCE)))
        if len(wrong):
            raise UserError(f"act[{wrong[0][0]}, {wrong[0][1]}]", "the row is not a distribution over actions")
        object.__setattr__(self, "move", move.astype(np.int64, copy=False))
        object.__setattr__(self, "act", act / act.sum(axis=2, keepdims=True))

    @property
    def codes(self) -> int:
        return self.act.shape[0]

    @property
    def observations(self) -> int:
        return self.act.shape[1]

    @property
    def actions(self) -> int:
        return self.act.shape[2]

    def begin(self, observation: Ints) -> Ints:
        """C_1 after each first observation."""
        return self.move[self.codes, observation, self.actions]

    def advance(self, code: Ints, observation: Ints, action: Ints) -> Ints:
        """C_t after the code before, the observation now and the action between them."""
        return self.move[code, observation, action]

    def greedy(self) -> "CodeMachine":
        """The same memory with the most probable action, ties to the lowest index."""
        return CodeMachine(self.move, np.eye(self.actions)[self.act.argmax(axis=2)])

    def check(self, model: Model) -> None:
        """Refuse a machine whose symbols are not those of the model."""
        for word, mine, names in (
            ("observations", self.observations, model.graph.observations),
            ("actions", self.actions, model.graph.actions),
        ):
            if mine != len(names):
                raise UserError(
                    "machine", f"it knows {mine} {word}, but the model has {len(names)}; retrain or rebuild"
                )


def packed(machine: CodeMachine) -> str:
    """A machine that acts greedily as a line of text: its moves, then its choices, a byte each."""
    if max(machine.codes, machine.actions) > 256:
        raise UserError(
            "machine", f"{machine.codes} codes and {machine.actions} actions do not fit into bytes; 256 are possible"
        )
    parts = machine.move.ravel(), machine.act.argmax(axis=2).ravel()
    return base64.b64encode(np.concatenate(parts).astype(np.uint8).tobytes()).decode("ascii")


def unpacked(text: str, model: Model) -> CodeMachine:
    """The machine of a line of text, which knows the symbols of a model."""
    seen, acts = len(model.graph.observations), len(model.graph.actions)
    try:
        flat = np.frombuffer(base64.b64decode(text, validate=True), np.uint8).astype(np.int64)
    except (binascii.Error, ValueError):
        raise UserError("machine", "is not a line of base64 text; train the run again") from None
    codes, left = divmod(len(flat) - seen * (acts + 1), seen * (acts + 2))
    if codes < 1 or left:
        raise UserError("machine", f"{len(flat)} bytes are not a machine with {seen} observations and {acts} actions")
    move, choice = np.split(flat, [(codes + 1) * seen * (acts + 1)])
    if choice.max() >= acts:
        raise UserError("machine", f"chooses action {choice.max()} of {acts}; train the run again")
    return CodeMachine(move.reshape(codes + 1, seen, acts + 1), np.eye(acts)[choice.reshape(codes, seen)])


def from_certified(machine: Machine, model: Model) -> CodeMachine:
    """A certified machine as tables, one code a state; what it never meets leads to code 0 and to action 0."""
    graph = model.graph
    observation = {graph.observations[k]: k for k in range(len(graph.observations))}
    action = {graph.actions[k]: k for k in range(len(graph.actions))}
    first = np.cumsum([0, *(len(states) for states in machine.states)])
    codes, width = int(first[-1]), len(action)
    move = np.zeros((codes + 1, len(observation), width + 1), np.int64)
    act = np.zeros((codes, len(observation), width))
    act[:, :, 0] = 1
    for name, index in machine.start.items():
        move[codes, observation[name], width] = index
    for t, moves in enumerate(machine.moves):
        for (state, did, seen), target in moves.items():
            move[first[t] + state, observation[seen], action[did]] = first[t + 1] + target
    for t, states in enumerate(machine.states):
        for state in states:
            row = np.zeros(width)
            for name, p in state.law.items():
                row[action[name]] = float(p)
            act[first[t] + state.index, observation[state.observation]] = row
    return CodeMachine(move, act)
