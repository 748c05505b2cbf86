"""The numbers of an observation and of an action: one table each, without a simulator."""

from typing import NamedTuple

import numpy as np

from diacritic.tasks.franka.timeline import PHASES

DISPLAY_CHANNELS = 9
NOISE = 0.002  # standard deviation in metres of every position that is observed
ACTIONS = ("x", "y", "z", "gripper")  # displacement in metres; the gripper opens at 0 and closes at 1
ACTION_WIDTH = len(ACTIONS)
LARGEST_MOVE = 1.0  # metres per axis; the workspace is smaller


class Field(NamedTuple):
    """One block of the observation."""

    name: str
    width: int
    noise: float
    meaning: str


LAYOUT = (
    Field("tool position", 3, NOISE, "x, y, z of the tool in metres, base frame"),
    Field("tool orientation", 4, 0.01, "quaternion w, x, y, z, base frame"),
    Field("gripper", 1, 0.0005, "distance between the fingers in metres"),
    Field("object position", 3, NOISE, "x, y, z of the object in the tool's frame in metres; z is the in-hand height"),
    Field("object orientation", 4, 0.01, "quaternion w, x, y, z, tool frame"),
    Field("distractor", 2, NOISE, "x, y of a second cube in metres, base frame"),
    Field("probe", 2, 0.0, "lit (0 or 1), and the bit that is shown"),
    Field("phase", len(PHASES), 0.0, "one-hot: " + ", ".join(PHASES)),
    Field("display", DISPLAY_CHANNELS, 0.0, "a whole number in binary, lowest bit first; 0 where it is dark"),
)
"""All blocks; only the readout tasks have the last one."""
_ENDS = np.cumsum([field.width for field in LAYOUT])
SLICES = {field.name: slice(int(end) - field.width, int(end)) for field, end in zip(LAYOUT, _ENDS, strict=True)}
WIDTH = SLICES["phase"].stop
WIDE = SLICES["display"].stop  # with the display
DEVIATIONS = np.concatenate([np.full(field.width, field.noise) for field in LAYOUT])
CHANNELS = tuple(
    field.name if field.width == 1 else f"{field.name} {k}" for field in LAYOUT for k in range(field.width)
)
BESIDE_FRAMES = tuple(k for name in ("gripper", "probe", "phase") for k in range(SLICES[name].start, SLICES[name].stop))


def executable(wanted: np.ndarray) -> np.ndarray:
    """The action that the arm really takes: the gripper fully open or closed, never NaN."""
    finite = np.nan_to_num(np.asarray(wanted, np.float32))
    moves = np.clip(finite[..., :3], -LARGEST_MOVE, LARGEST_MOVE)
    return np.concatenate([moves, finite[..., 3:] > 0.5], axis=-1, dtype=np.float32)
