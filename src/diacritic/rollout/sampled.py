"""Seeded rollouts of a machine in its task: what the exact closed loop is checked against, for any length and noise."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from certify import Model
from certify.core.exact import Ints
from diacritic.rollout.machine import CodeMachine
from diacritic.tasks.symbolic import SymbolicVectorEnv


@dataclass(frozen=True)
class Rollouts:
    """N episodes of at most T steps; −1 where an episode is already over."""

    observation: Ints  # [T, N]
    code: Ints  # [T, N]
    action: Ints  # [T, N]
    correct: Ints  # [N]: actions in the support of the expert's law
    success: NDArray[np.bool_]  # [N]


def sample(machine: CodeMachine, model: Model, episodes: int, seed: int) -> Rollouts:
    """Play episodes side by side; the seed decides everything."""
    machine.check(model)
    if episodes < 1:
        raise ValueError(f"episodes: expected at least 1, not {episodes}")
    worlds, choices = np.random.SeedSequence(seed).spawn(2)
    env = SymbolicVectorEnv(episodes, model)
    random = np.random.default_rng(choices)
    seen, infos = env.reset(seed=int(worlds.generate_state(1)[0]))
    shape = (model.horizon, episodes)
    observation, code, action = (np.full(shape, -1) for _ in range(3))
    before, did = np.full(episodes, machine.codes), np.full(episodes, machine.actions)
    correct, over = np.zeros(episodes, np.int64), np.zeros(episodes, bool)
    for t in range(model.horizon):
        before = machine.advance(before, seen, did)
        did = _choose(machine.act[before, seen], random)
        for record, now in ((observation, seen), (code, before), (action, did)):
            record[t, ~over] = now[~over]
        seen, rewards, over, _, infos = env.step(did)
        correct += rewards.astype(np.int64)
    return Rollouts(observation, code, action, correct, infos["success"])


def _choose(law: NDArray[np.float64], random: np.random.Generator) -> Ints:
    """One action a row, by its probability; an action of probability 0 is never drawn."""
    ends = np.cumsum(law, axis=1)
    ends[ends >= ends[:, -1:]] = np.inf  # rounding must not leave a gap above the last possible action
    return (random.random(len(law))[:, None] >= ends).sum(axis=1)
