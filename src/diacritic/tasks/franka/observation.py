"""The raw observation: what is sensed, what is shown, and the sensor noise."""

import numpy as np

from diacritic.tasks.franka.layout import DEVIATIONS, DISPLAY_CHANNELS, NOISE, SLICES, WIDTH
from diacritic.tasks.franka.task import FrankaTask
from diacritic.tasks.franka.timeline import PHASES
from diacritic.tasks.protocol import Latents

_RANGE = 1.0  # metres from the tool at which the sight of the object ends: one that falls off the table falls far


def draw_noise(task: FrankaTask, rng: np.random.Generator) -> np.ndarray:
    """The sensor noise of one episode (T + 1, 27); every entry is drawn, so that one switch moves no other number."""
    noise = rng.standard_normal((task.horizon + 1, WIDTH)) * DEVIATIONS
    if task.analog_display:
        noise[:, SLICES["display"].start] = NOISE * rng.standard_normal(task.horizon + 1)
    return np.zeros_like(noise) if task.no_noise else noise


def symbols(task: FrankaTask, t: int, latents: Latents) -> np.ndarray:
    """What is shown rather than sensed at step t: display, phase, distractor, and the injected leak (n, 27)."""
    seen = np.zeros((len(next(iter(latents.values()))), WIDTH))
    step = task.steps[min(t, task.horizon - 1)]
    seen[:, SLICES["phase"].start + PHASES.index(step.phase)] = 1.0
    if step.probe is not None and t < task.horizon:
        levels = task.display_levels[step.probe]
        seen[:, SLICES["display"]] = _display(task.displayed(t, latents), levels, task.analog_display)
    if step.phase == "gap2":
        seen[:, SLICES["distractor"]] = 2 * latents["distractor"][:, None] / 3 - 1
        centred = 2 * task.choices(latents)["slot"] / (task.slots - 1) - 1
        seen[:, SLICES["object position"].stop - 1] = task.height_shift * centred
    return seen


def sense(
    tool: np.ndarray, velocity: np.ndarray, opening: np.ndarray, position: np.ndarray, yaw: np.ndarray
) -> np.ndarray:
    """What is sensed of arm and object, without noise (n, 27)."""
    seen = np.zeros((len(tool), WIDTH))
    seen[:, SLICES["tool position"]] = tool
    seen[:, SLICES["tool velocity"]] = velocity
    seen[:, SLICES["gripper"]] = opening[:, None]
    seen[:, SLICES["object position"]] = np.clip(position - tool, -_RANGE, _RANGE)
    seen[:, SLICES["object yaw"]] = yaw[:, None]
    return seen


def _display(value: np.ndarray, levels: int, analog: bool) -> np.ndarray:
    channels = np.zeros((len(value), DISPLAY_CHANNELS))
    if analog:
        channels[:, 0] = 2 * value / (levels - 1) - 1
        return channels
    bits = (levels - 1).bit_length()
    channels[:, :bits] = 2 * (value[:, None] >> np.arange(bits) & 1) - 1
    return channels
