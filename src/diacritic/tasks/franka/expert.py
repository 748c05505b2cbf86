"""The scripted expert: straight segments between points that the hidden classes choose."""

import numpy as np

from diacritic.tasks.franka import scene
from diacritic.tasks.franka.task import FrankaTask
from diacritic.tasks.protocol import Latents

SIDE_DISTANCE = 0.10
SIDES = np.array([(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)])
HOVER_HEIGHTS = (0.18, 0.24)  # of the home point: the expert tosses a coin
_HOME, _CARRY = (0.40, 0.0), (0.50, 0.0)
HEIGHTS = {"hover": 0.22, "side": 0.18, "over": 0.18, "down": 0.03, "back": 0.034}
HEIGHTS |= {"carry": 0.26, "above": 0.26, "low": 0.04, "up": 0.22}


def targets(task: FrankaTask, latents: Latents, spawn: np.ndarray) -> dict[str, np.ndarray]:
    """The points at which segments end, each (n, 3), for objects that stand at `spawn` (n, 2)."""
    n, choices = len(spawn), task.choices(latents)
    slot = scene.SLOTS[choices["slot"]]
    ground = dict.fromkeys(("hover", "over", "down", "back"), spawn) | dict.fromkeys(("above", "low", "up"), slot)
    ground |= {"side": spawn + SIDE_DISTANCE * SIDES[choices["side"]], "carry": np.tile(_CARRY, (n, 1))}
    points = {name: np.column_stack([xy, np.full(n, HEIGHTS[name])]) for name, xy in ground.items()}
    home = np.column_stack([np.tile(_HOME, (n, 1)), np.array(HOVER_HEIGHTS)[latents["hover"]]])
    return points | {"home": home}


def chosen_side(task: FrankaTask, moves: np.ndarray) -> np.ndarray:
    """The side towards which the first action of the grasp (n, 3) leads."""
    return (moves[:, :2] @ SIDES[: task.sides].T).argmax(1)


def chosen_slot(task: FrankaTask, tool: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """The slot towards which the first action of placing (n, 3) leads: one third of the way to it."""
    ahead = tool[:, :2] + 3 * moves[:, :2]
    return np.linalg.norm(ahead[:, None] - scene.SLOTS[: task.slots], axis=2).argmin(1)
