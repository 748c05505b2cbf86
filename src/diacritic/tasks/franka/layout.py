"""The numbers of an observation and of an action: one table each, without a simulator."""

from typing import NamedTuple

import numpy as np

from diacritic.tasks.franka.timeline import MACRO_SECONDS, PHASES

DISPLAY_CHANNELS = 9
NOISE = 0.002  # standard deviation in metres of every length that is observed
ACTIONS = ("x", "y", "z", "gripper")  # displacement in metres; the gripper opens at 1 and closes at −1
ACTION_WIDTH = len(ACTIONS)
LARGEST_MOVE = 0.25  # metres per axis and macro step


class Field(NamedTuple):
    """One block of the observation."""

    name: str
    width: int
    noise: float
    meaning: str


LAYOUT = (
    Field("tool position", 3, NOISE, "x, y, z of the tool in metres, base frame"),
    Field("tool velocity", 3, NOISE / MACRO_SECONDS, "metres per second"),
    Field("gripper", 1, NOISE, "distance between the fingers in metres"),
    Field("object position", 3, NOISE, "x, y, z of the object from the tool in metres; z is the in-hand height"),
    Field("object yaw", 1, NOISE / 0.1, "radians: a length error at 10 cm"),
    Field("display", DISPLAY_CHANNELS, 0.0, "binary, lowest bit first, −1 or 1; 0 where a channel is dark"),
    Field("phase", len(PHASES), 0.0, "one-hot: " + ", ".join(PHASES)),
    Field("distractor", 1, NOISE, "one of four levels from −1 to 1 in the second gap, otherwise 0"),
)
WIDTH = sum(field.width for field in LAYOUT)
_ENDS = np.cumsum([field.width for field in LAYOUT])
SLICES = {field.name: slice(int(end) - field.width, int(end)) for field, end in zip(LAYOUT, _ENDS, strict=True)}
DEVIATIONS = np.concatenate([np.full(field.width, field.noise) for field in LAYOUT])
CHANNELS = tuple(
    field.name if field.width == 1 else f"{field.name} {k}" for field in LAYOUT for k in range(field.width)
)
BESIDE_FRAMES = tuple(
    k for name in ("gripper", "display", "phase") for k in range(SLICES[name].start, SLICES[name].stop)
)


def executable(wanted: np.ndarray) -> np.ndarray:
    """The action that the arm really takes: moves within its limit, the gripper fully open or closed, never NaN."""
    finite = np.nan_to_num(np.asarray(wanted, np.float32))
    moves = np.clip(finite[..., :3], -LARGEST_MOVE, LARGEST_MOVE)
    return np.concatenate([moves, np.where(finite[..., 3:] < 0, -1, 1)], axis=-1, dtype=np.float32)
