"""The raw observation: what is sensed, what is shown, and the sensor noise."""

import numpy as np

from diacritic.tasks.franka import scene
from diacritic.tasks.franka.layout import DEVIATIONS, DISPLAY_CHANNELS, SLICES
from diacritic.tasks.franka.quaternions import conjugate, facing, product, rotated
from diacritic.tasks.franka.task import FrankaTask
from diacritic.tasks.franka.timeline import PHASES
from diacritic.tasks.protocol import Latents

_RANGE = 1.0  # metres from the tool at which the sight of the object ends: one that falls off the table falls far


def draw_noise(task: FrankaTask, rng: np.random.Generator) -> np.ndarray:
    """The sensor noise of one episode (T + 1, channels)."""
    width = len(task.channels)
    noise = rng.standard_normal((task.horizon + 1, width)) * DEVIATIONS[:width]
    return np.zeros_like(noise) if task.no_noise else noise


def symbols(task: FrankaTask, t: int, latents: Latents) -> np.ndarray:
    """What is shown rather than sensed at step t: display, phase, and the injected leak (n, channels)."""
    seen = np.zeros((len(latents["distractor"]), len(task.channels)))
    step = task.steps[min(t, task.horizon - 1)]
    seen[:, SLICES["phase"].start + PHASES.index(step.phase)] = 1.0
    shown = task.displayed(t, latents)
    if step.probe is not None and t < task.horizon:
        seen[:, SLICES["probe"].start] = 1.0
        if step.bit is not None:
            seen[:, SLICES["probe"].start + 1] = shown
        elif task.analog:
            seen[:, SLICES["probe"].start + 1] = shown / (task.latents[step.probe] - 1)
        else:
            seen[:, SLICES["display"]] = shown[:, None] >> np.arange(DISPLAY_CHANNELS) & 1
    if step.phase == "gap2":
        centred = 2 * task.choices(latents)["slot"] / (task.slots - 1) - 1
        seen[:, SLICES["object position"].stop - 1] = task.leak / 1000 * centred
    return seen


def sense(
    task: FrankaTask,
    latents: Latents,
    tool: tuple[np.ndarray, np.ndarray],
    opening: np.ndarray,
    thing: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """What is sensed of arm and object (each by position and orientation), without noise (n, channels)."""
    seen = np.zeros((len(opening), len(task.channels)))
    back = conjugate(tool[1])
    seen[:, SLICES["tool position"]] = tool[0]
    seen[:, SLICES["tool orientation"]] = facing(tool[1])
    seen[:, SLICES["gripper"]] = opening[:, None]
    seen[:, SLICES["object position"]] = rotated(back, np.clip(thing[0] - tool[0], -_RANGE, _RANGE))
    seen[:, SLICES["object orientation"]] = facing(product(back, thing[1]))
    seen[:, SLICES["distractor"]] = scene.DISTRACTORS[latents["distractor"]]
    return seen
