"""Code machines in environments that others ship, unmodified: bsuite's memory chain and MIKASA-Base's Passive T-maze.

A machine knows the symbols of the zoo's stand-in. An environment's observation is read as one of these (its countdown,
which bsuite shows beside, is left out), and what counts is the reward that the environment itself gives in the end.
"""

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from certify import Model
from certify.errors import UserError
from certify.optional import import_optional
from certify.sources.checkout import load
from diacritic.rollout.machine import CodeMachine

BSUITE, MIKASA = "bsuite", "MIKASA-Base"


class Live(Protocol):
    """An environment in the words of a model: observations and actions by name."""

    solved: bool
    """Whether the last episode ended with a reward."""

    def begin(self) -> str: ...
    def act(self, action: str) -> tuple[str, bool]: ...


class MemoryChain:
    """bsuite's MemoryChain: [time to go, query, context bits], the query at the last step."""

    def __init__(self, bits: int, delay: int, seed: int) -> None:
        if delay < 2:
            raise UserError("delay", "at delay 1 the query is shown twice; at least 2 is needed")
        self.env = import_optional("bsuite.environments.memory_chain", "sources").MemoryChain(delay, bits, seed=seed)
        self.delay, self.solved = delay, False

    def begin(self) -> str:
        return self._symbol(self.env.reset().observation[0])

    def act(self, action: str) -> tuple[str, bool]:
        moment = self.env.step(int(action))
        self.solved = bool(moment.last() and moment.reward > 0)
        return self._symbol(moment.observation[0]), bool(moment.last())

    def _symbol(self, seen: Any) -> str:
        shown = ["context " + "".join(str(int(bit > 0)) for bit in seen[2:])] if np.any(seen[2:]) else []
        asked = [f"query {int(seen[1])}"] if round((1 - float(seen[0])) * self.delay) == self.delay - 1 else []
        return " ".join([*shown, *asked]) or "dark"


class PassiveTMaze:
    """MIKASA-Base's TMazeClassicPassive, from a checkout: [at the junction, goal or side]."""

    ACTIONS: Mapping[str, int] = {"right": 0, "up": 1, "down": 3}

    def __init__(self, length: int, seed: int, checkout: Path) -> None:
        if not (checkout / "mikasa_base").is_dir():
            raise UserError("--mikasa", f"{checkout} is not a MIKASA-Base checkout: it has no folder mikasa_base")
        module = load(checkout, "mikasa_base.Passive_T_Maze.env.env_passive_t_maze")
        self.env, self.seed, self.solved = module.TMazeClassicPassive(corridor_length=length), seed, False

    def begin(self) -> str:
        observation, _ = self.env.reset(seed=self.seed)
        self.seed += 1
        return self._symbol(observation)

    def act(self, action: str) -> tuple[str, bool]:
        observation, reward, ended, cut, _ = self.env.step(self.ACTIONS[action])
        self.solved = bool(ended and reward > 0)
        return self._symbol(observation), bool(ended or cut)

    def _symbol(self, seen: Any) -> str:
        if seen[0]:
            return "junction"
        return f"goal {'up' if seen[1] > 0 else 'down'}" if seen[1] else "corridor"


def live(task: str, given: Mapping[str, int], seed: int, checkout: Path | None = None) -> tuple[str, Live] | None:
    """The environment that an instance of the zoo stands in for, and where it is from; none if it is not here."""
    if task == "memory-chain":
        chain = MemoryChain(given["bits"], given["delay"], seed)
        return f"{BSUITE} {version('bsuite')}", chain
    if task == "passive-t-maze" and checkout is not None:
        return MIKASA, PassiveTMaze(given["L"], seed, checkout)
    return None


def play(machine: CodeMachine, model: Model, env: Live, episodes: int) -> float:
    """The share of episodes that a machine, acting greedily, solves."""
    machine.check(model)
    names = model.graph.observations
    seen = {names[k]: k for k in range(len(names))}
    choice, solved = machine.act.argmax(2), 0
    for _ in range(episodes):
        code, action, name, over = machine.codes, machine.actions, env.begin(), False
        while not over:
            if name not in seen:
                raise UserError(name, "the environment shows what the model does not know; is it another version?")
            code = int(machine.move[code, seen[name], action])
            action = int(choice[code, seen[name]])
            name, over = env.act(model.graph.actions[action])
        solved += env.solved
    return solved / episodes
