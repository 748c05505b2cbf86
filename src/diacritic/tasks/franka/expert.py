"""The scripted expert: straight segments between anchors that the hidden classes choose."""

import numpy as np

from diacritic.tasks.franka import scene
from diacritic.tasks.franka.objects import REST
from diacritic.tasks.franka.task import FrankaTask
from diacritic.tasks.protocol import Latents

_HOME = (0.40, 0.0, 0.10)  # x, y, and height above the hover
SIDE_DISTANCE = 0.10
# directions of the sides, so that two sides lie opposite each other
SIDES = {1: ((0, -1),), 2: ((0, -1), (0, 1)), 4: ((0, -1), (0, 1), (-1, 0), (1, 0))}
HEIGHTS = {"side": 0.20, "over": 0.12, "grip": REST, "carry": 0.22, "above": 0.18, "down": REST}
_DROP = 0.02  # a physical object is let go this much higher: pressed down by a sagging arm, a heavy one topples
HOVER_HEIGHTS = (0.25, 0.31)
OPEN, CLOSE = 1.0, -1.0


def home(latents: Latents, n: int) -> np.ndarray:
    """Where the tool of each of n episodes begins (n, 3): above the hover, whose height is thus visible at once."""
    return np.column_stack([np.tile(_HOME[:2], (n, 1)), _hover_height(latents, n) + _HOME[2]])


def side_positions(task: FrankaTask, place: np.ndarray) -> np.ndarray:
    """Where the tool goes for each side of an object at `place` (n, 2): (n, sides, 2)."""
    return place[:, None] + SIDE_DISTANCE * np.array(SIDES[task.sides], float)


def waypoints(task: FrankaTask, latents: Latents, place: np.ndarray) -> np.ndarray:
    """Where the expert commands the tool to be after each step (T, n, 3), for objects spawned at `place` (n, 2)."""
    anchors = _anchors(task, latents, place)
    return np.stack([(1 - step.share) * anchors[step.start] + step.share * anchors[step.end] for step in task.steps])


def expert_actions(task: FrankaTask, t: int, target: np.ndarray, command: np.ndarray) -> np.ndarray:
    """The expert's action (n, 4) at step t: from the present command straight to its waypoint `target` (n, 3)."""
    grip = np.full((len(target), 1), CLOSE if task.steps[t].closing else OPEN)
    return np.concatenate([target - command, grip], axis=1)


def _anchors(task: FrankaTask, latents: Latents, place: np.ndarray) -> dict[str, np.ndarray]:
    n, choices = len(place), task.choices(latents)
    centre = np.tile(scene.SPAWN, (n, 1))
    slot = scene.slot_positions(task.slots)[choices["slot"]]
    side = side_positions(task, place)[np.arange(n), choices["side"]]
    ground = {"side": side, "over": place, "grip": place, "carry": centre, "above": slot, "down": slot}
    heights = HEIGHTS | {"down": HEIGHTS["down"] + _DROP * task.physical}
    anchors = {name: np.column_stack([xy, np.full(n, heights[name])]) for name, xy in ground.items()}
    hover = np.column_stack([centre, _hover_height(latents, n)])
    return {**anchors, "home": home(latents, n), "hover": hover}


def _hover_height(latents: Latents, n: int) -> np.ndarray:
    return np.array(HOVER_HEIGHTS)[latents.get("hover", np.zeros(n, int))]
