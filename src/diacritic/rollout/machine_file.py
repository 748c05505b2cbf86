"""Machine files: a learned memory as a finite machine in one file, proved equal to the expert, ready to act.

The learned machine is held against the expert on every history, minimised by `certify` (which needs nothing but that
behaviour), and written by names. What is written is held against the expert once more, so that the proof is about the
file and not about the network that it came from.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from certify import Model, OffSupportError
from certify.core.rates import conditional_rate
from certify.core.requirement import Requirement
from certify.errors import UserError
from diacritic.files.machine import MachineFile
from diacritic.memory.certified_codes import certified_labels
from diacritic.rollout.machine import CodeMachine
from diacritic.rollout.verify import first_error


class RunnableMachine(MachineFile):
    """A machine file with its tables on the symbols of a model, so that it can act there."""

    def tables(self, model: Model) -> CodeMachine:
        """The machine on the symbols of a model, its own or a longer one; unknown inputs lead to a lost code."""
        graph = model.graph
        observation = {graph.observations[k]: k for k in range(len(graph.observations))}
        action = {graph.actions[k]: k for k in range(len(graph.actions))}
        lost = self.codes  # one more code, which is never left
        move = np.full((self.codes + 2, len(observation), len(action) + 1), lost)
        act = np.full((self.codes + 1, len(observation), len(action)), 1 / len(action))
        for seen, code in self.first.items():
            if seen in observation:
                move[-1, observation[seen], -1] = code
        for (before, did, seen), code in self.moves.items():
            if did in action and seen in observation:
                move[before, observation[seen], action[did]] = code
        for (code, seen), did in self.acts.items():
            if did in action and seen in observation:
                act[code, observation[seen]] = np.eye(len(action))[action[did]]
        return CodeMachine(move, act)


def minimal_machine(machine: CodeMachine, model: Model, origin: dict[str, Any] | None = None) -> RunnableMachine:
    """The learned machine as the smallest one that behaves like it; refused, with the history, where it is wrong."""
    error = first_error(machine.greedy(), model)
    if error is not None:
        said = f"after {error.history} the machine does {error.policy}, the expert {error.expert}"
        raise UserError(f"step {error.t}", f"{said}; train longer, or export another seed")
    machine_file = replace(smallest(model), origin=origin or {})
    assert first_error(machine_file.tables(model), model) is None, "a minimised machine must not err either"
    return machine_file


def smallest(model: Model) -> RunnableMachine:
    """The certified machine of a model, each class keeping its code for as long as possible."""
    labels = certified_labels(model, Requirement.of(model))
    graph = labels.graph
    first: dict[str, int] = {}
    moves: dict[tuple[int, str, str], int] = {}
    acts: dict[tuple[int, str], str] = {}
    for t, (level, code) in enumerate(zip(graph.levels, labels.nodes, strict=True)):
        seen = [graph.observations[o] for o in level.observation]
        for k, o, law in zip(code.tolist(), seen, level.law.tolist(), strict=True):
            acts[k, o] = graph.actions[graph.laws[law][0][0]]
        if t == 0:
            first |= dict(zip(seen, code.tolist(), strict=True))
        for source, action, child in zip(level.source.tolist(), level.action.tolist(), level.child, strict=True):
            key = int(code[source]), graph.actions[action], graph.observations[graph.levels[t + 1].observation[child]]
            moves[key] = int(labels.nodes[t + 1][child])
    bits = tuple(conditional_rate(level, code) for level, code in zip(graph.levels, labels.nodes, strict=True))
    codes = labels.machine.codes
    equal = all(len(law) == 1 for law in graph.laws)
    return RunnableMachine(
        model.name, model.digest, model.horizon, codes, first, moves, acts, bits, labels.minimal, equal
    )


class MachineFilePolicy:
    """Plays a machine file: `reset`, then `act` on one observation after the other."""

    def __init__(self, machine_file: RunnableMachine) -> None:
        self.machine_file = machine_file
        self.reset()

    def reset(self) -> None:
        self.state: int | None = None
        self._did = ""

    def act(self, observation: str, previous: str | None = None) -> str:
        """The action; `previous` is what was done before, where that was not this policy's own choice."""
        if self.state is None:
            code = self.machine_file.first.get(observation)
        else:
            code = self.machine_file.moves.get((self.state, previous or self._did, observation))
        if code is None or (code, observation) not in self.machine_file.acts:
            done = "first" if self.state is None else f"after {previous or self._did!r} in code {self.state}"
            raise OffSupportError(f"the machine never met {observation!r} {done}")
        self.state, self._did = code, self.machine_file.acts[code, observation]
        return self._did
