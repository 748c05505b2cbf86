"""A short film of the expert: the scene, and beside it what the policy is told, phase and display."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from diacritic.tasks.franka.batch import FrankaBatch
from diacritic.tasks.franka.observation import SLICES
from diacritic.tasks.franka.pixels import Camera, states
from diacritic.tasks.franka.task import Task
from diacritic.tasks.franka.timeline import PHASES

_HEIGHT, _WIDTH, _PANEL = 210, 280, 120
_MILLISECONDS = 250  # per macro step: twice as fast as the arm
_COLOURS = {-1: (70, 90, 160), 0: (205, 205, 205), 1: (235, 170, 40)}


def expert_film(task: Task, path: Path, latents: Mapping[str, Any] | None = None, seed: int = 0) -> None:
    """Write one expert episode as an animated GIF."""
    core = FrankaBatch(task, 1, seed, threads=1)
    camera = Camera(task.physical, task.slots, "side", _HEIGHT, _WIDTH)
    seen, pictures = core.reset(latents), []
    while True:
        frame = camera.frame(states(core)[0])
        pictures.append(Image.fromarray(np.concatenate([frame, _panel(task, core.t, seen[0])], axis=1)))
        if core.t == task.horizon:
            break
        seen, _ = core.step(core.expert())
    camera.close()
    palette = [picture.quantize(64, dither=Image.Dither.NONE) for picture in pictures]
    part = path.with_name(f".{path.name}.{os.getpid()}")
    palette[0].save(part, "GIF", save_all=True, append_images=palette[1:], duration=_MILLISECONDS, loop=0)
    part.replace(path)


def _panel(task: Task, t: int, seen: np.ndarray) -> np.ndarray:
    """The observed phase and display of one step (height, panel, 3)."""
    image = Image.new("RGB", (_PANEL, _HEIGHT), "white")
    draw = ImageDraw.Draw(image)
    draw.text((8, 8), task.name, fill="black")
    draw.text((8, 24), f"step {t} of {task.horizon}", fill="black")
    phase = PHASES[int(seen[SLICES["phase"]].argmax())]
    for k, name in enumerate(PHASES):
        draw.text((20, 50 + 16 * k), name, fill="black" if name == phase else (190, 190, 190))
    draw.text((8, 50 + 16 * PHASES.index(phase)), ">", fill="black")
    draw.text((8, 156), "display", fill="black")
    for k, level in enumerate(seen[SLICES["display"]]):
        corner = 8 + 12 * k
        draw.rectangle((corner, 174, corner + 9, 183), fill=_COLOURS[int(np.sign(level))])
    return np.asarray(image)
