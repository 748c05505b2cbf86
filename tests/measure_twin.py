"""Small policies that carry a cue in different places, the interventions spelled out pair by pair, and runs on disk."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from expert_carrier import expert_carrier, odd_scale, short_task
from safetensors.torch import save_file

from diacritic.demos.binner import Binner
from diacritic.files.demos import Demos
from diacritic.files.run import CodedEpisodes, RunManifest
from diacritic.measure.interventions import Episodes, MachinePolicy

DECISION = 3


def cue_episodes() -> Episodes:
    """Four episodes: a cue (0 or 1) beside a nuisance at step 0, two steps of waiting, a decision at step 3.

    What the policy reads has a second column, which no symbol credits: it leaks the cue while waiting.
    """
    cue, nuisance = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    symbols = np.stack([cue + 2 * nuisance, *np.full((3, 4), 4)])
    seen = np.stack([symbols, np.broadcast_to(cue, symbols.shape)], -1)
    actions = np.stack([*np.zeros((3, 4), np.int64), cue])
    previous = np.concatenate([np.full((1, 4), 2), actions[:-1]])
    return Episodes(seen, previous, symbols, actions, actions, np.full(4, 0.25))


@dataclass(frozen=True)
class Memory:
    code: np.ndarray
    hidden: np.ndarray | None = None


class Keeper:
    """Carries the cue in its code and decides by it."""

    def begin(self, batch: int) -> Memory:
        return Memory(np.full(batch, 2))

    def step(self, state: Memory, observation: np.ndarray, previous_action: np.ndarray) -> tuple[Memory, Any, Any]:
        after = self.look(state, observation)
        return after, after.code, np.eye(3)[self.choose(after, observation)]

    def look(self, state: Memory, observation: np.ndarray) -> Memory:
        return replace(state, code=np.where(observation[:, 0] < 4, observation[:, 0] % 2, state.code))

    def choose(self, state: Memory, observation: np.ndarray) -> np.ndarray:
        return state.code


class Bypassed(Keeper):
    """Carries the cue in a continuous state beside a code that never changes."""

    def begin(self, batch: int) -> Memory:
        return Memory(np.full(batch, 2), np.full(batch, 0.5))

    def look(self, state: Memory, observation: np.ndarray) -> Memory:
        assert state.hidden is not None
        hidden = np.where(observation[:, 0] < 4, observation[:, 0] % 2, state.hidden)
        return replace(state, hidden=hidden)

    def choose(self, state: Memory, observation: np.ndarray) -> np.ndarray:
        assert state.hidden is not None
        return (state.hidden > 0.5).astype(int)


class Sly(Keeper):
    """Carries the cue outside its state, in the object itself."""

    past: np.ndarray | None = None

    def look(self, state: Memory, observation: np.ndarray) -> Memory:
        lit = observation[:, 0] < 4
        if lit.any():
            self.past = observation[:, 0] % 2
        return state

    def choose(self, state: Memory, observation: np.ndarray) -> np.ndarray:
        return np.zeros(len(observation), int) if self.past is None else self.past


class Reader(Keeper):
    """Carries nothing and reads the cue from the column that no symbol credits."""

    def choose(self, state: Memory, observation: np.ndarray) -> np.ndarray:
        return observation[:, 1]


class Forgetful(Keeper):
    """Always decides alike."""

    def choose(self, state: Memory, observation: np.ndarray) -> np.ndarray:
        return np.zeros(len(observation), int)


class Bare:
    """A policy whose state is one array and no dataclass."""

    def begin(self, batch: int) -> np.ndarray:
        return np.full(batch, 2)

    def step(self, state: np.ndarray, observation: np.ndarray, previous_action: np.ndarray) -> tuple[Any, Any, Any]:
        after = np.where(observation[:, 0] < 4, observation[:, 0] % 2, state)
        return after, after, np.eye(3)[after]


def literal_shares(policy: MachinePolicy, episodes: Episodes, t: int, s: int) -> dict[str, float]:
    """Every intervention on a machine between steps t and s, one pair of episodes after the other."""
    steps, count = episodes.symbols.shape
    machine = policy.machine
    total = {"pairs": 0.0, "decided": 0.0, "swap": 0.0, "shuffle": 0.0, "reset": 0.0, "freeze": 0.0}

    def path(n: int, code: int, first: int, frozen: int | None = None) -> tuple[int, int]:
        decision = -1
        for u in range(first, s + 1):
            code = code if frozen is None else frozen
            code = int(machine.move[code, episodes.observations[u][n], episodes.previous[u][n]])
            decision = int(machine.act[code, episodes.observations[u][n]].argmax())
        return code, decision

    def code_at(n: int) -> int:
        code = machine.codes
        for u in range(t + 1):
            code = int(machine.move[code, episodes.observations[u][n], episodes.previous[u][n]])
        return code

    for i in range(count):
        for j in range(count):
            alike = all(episodes.symbols[u][i] == episodes.symbols[u][j] for u in range(t, s + 1))
            alike = alike and all(episodes.actions[u][i] == episodes.actions[u][j] for u in range(t, s))
            if not alike or episodes.laws[s][i] == episodes.laws[s][j]:
                continue
            weight = float(episodes.weights[i] * episodes.weights[j])
            mine, theirs = path(i, code_at(i), t + 1)[1], path(j, code_at(j), t + 1)[1]
            total["pairs"] += weight
            if mine == theirs:
                continue
            total["decided"] += weight
            total["swap"] += weight * (path(i, code_at(j), t + 1)[1] == theirs)
            total["shuffle"] += weight * (path(i, code_at(i), t + 1)[1] == mine)
            reset = path(i, machine.codes, t + 1)[1], path(j, machine.codes, t + 1)[1]
            total["reset"] += weight * (reset == (mine, theirs))
            total["freeze"] += weight * (path(i, code_at(i), t + 1, code_at(i))[1] == mine)
    assert steps > s
    return total


def store_run(
    folder: Path, demos: Demos, learned: int, swapped: bool = False, changes: Mapping[str, object] | None = None
) -> Path:
    """The hand-made carrier of `two-cues` as a run that learned from the first episodes of a recording."""
    task, scale = short_task(), odd_scale()
    weights, architecture = expert_carrier(task, scale, swapped)
    folder.mkdir(parents=True)
    save_file({**weights, **scale.tensors()}, folder / "weights.safetensors")
    np.savez(folder / "codes.npz", codes=np.zeros((1, 1), np.uint16))
    Binner.fit(demos.convention, demos.observations, demos.latents).save(folder / "binner.json")
    names = ("weights.safetensors", "codes.npz", "binner.json")
    manifest = RunManifest(
        "recorded",
        task.name,
        learner="by hand",
        preset="none",
        steps=0,
        plan="0",
        run={"seed": int(swapped)},
        architecture=asdict(architecture),
        shape={"observation": 27, "action": 4},
        episodes=CodedEpisodes("training", ((0, 1),)),
        parameters=task.parameters,
        task_version=task.version,
        N=learned,
        demos_sha256=demos.digest,
        sha256={name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names},
    )
    (folder / "run.json").write_text(json.dumps(manifest.to_dict() | dict(changes or {})))
    return folder
