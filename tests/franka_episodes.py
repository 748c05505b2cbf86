"""Whole expert episodes of a Franka task as time-major arrays, with what the tests look at besides."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from diacritic.tasks.franka.batch import FrankaBatch
from diacritic.tasks.franka.layout import ACTION_WIDTH
from diacritic.tasks.franka.timeline import PHASES
from diacritic.tasks.protocol import Latents


@dataclass(frozen=True)
class Episodes:
    """n episodes of T decisions; entry t is what was seen before action t, and that action."""

    observations: np.ndarray  # (T, n, channels) float32
    actions: np.ndarray  # (T, n, 4) float32: displacement in metres, gripper (0 opens, 1 closes)
    phase: np.ndarray  # (T, n) uint8, index into PHASES
    probe: np.ndarray  # (T, n) int64, what the display shows, −1 where dark
    latents: Latents  # name → (n,)
    choices: Latents  # side, slot, and sag where the load shows one → (n,)
    spawn: np.ndarray  # (n, 2) where the object was spawned
    outcome: dict[str, np.ndarray]  # success, side, slot (bool) and distance (metres) → (n,)
    frames: np.ndarray | None = None  # (T, n, 64, 64, 3) uint8


def expert_episodes(core: FrankaBatch, latents: Mapping[str, Any] | None = None, pixels: bool = False) -> Episodes:
    """Let the expert play the next episodes of `core`, with camera frames if they are asked for."""
    task, n = core.task, core.envs
    observations = np.empty((task.horizon, n, len(task.channels)), np.float32)
    actions = np.empty((task.horizon, n, ACTION_WIDTH), np.float32)
    probe = np.empty((task.horizon, n), np.int64)
    frames, late = [], task.frames_late
    seen = core.reset(latents)
    for t in range(task.horizon):
        observations[t], probe[t] = seen, task.displayed(t, core.latents)
        actions[t] = core.expert()
        if pixels and not late:
            frames.append(core.frames())
        seen = core.step(actions[t])
        if pixels and late:
            frames.append(core.frames())
    phases = np.array([PHASES.index(step.phase) for step in task.steps], np.uint8)
    return Episodes(
        observations,
        actions,
        np.repeat(phases[:, None], n, axis=1),
        probe,
        core.latents,
        core.choices,
        core.spawn,
        core.outcome(),
        np.stack(frames) if frames else None,
    )
