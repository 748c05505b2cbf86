"""What a camera beside the table sees: 128² frames without shadows or multisampling, cropped to the table at 64²."""

import multiprocessing
import weakref
from multiprocessing.pool import Pool
from typing import TYPE_CHECKING, Any

import numpy as np

from diacritic.tasks.franka import scene
from diacritic.tasks.franka.mj import mj

if TYPE_CHECKING:
    from diacritic.tasks.franka.batch import FrankaBatch

FRAME, SIZE = 128, 64
_ROWS, _COLUMNS = slice(40, 112), slice(16, 112)  # the table
MISSING_OPENGL = (
    "rendering: no OpenGL without a display; install the Debian package libegl1 or libosmesa6 and set MUJOCO_GL to egl "
    "or osmesa (tasks on states need neither)"
)
STATE = int(mj.mjtState.mjSTATE_QPOS) | int(mj.mjtState.mjSTATE_MOCAP_POS)


class Camera:
    """One renderer for one scene."""

    def __init__(self, physical: bool) -> None:
        self._model = scene.model(physical)
        self._data = mj.MjData(self._model)
        self._renderer = renderer(self._model, FRAME, FRAME)
        self.close = weakref.finalize(self, self._renderer.close)  # before the interpreter takes OpenGL down

    def frame(self, state: np.ndarray) -> np.ndarray:
        """The picture of one state, a row of `states` (128, 128, 3), bytes."""
        mj.mj_setState(self._model, self._data, state, STATE)
        mj.mj_kinematics(self._model, self._data)
        mj.mj_camlight(self._model, self._data)
        self._renderer.update_scene(self._data, "table")
        return self._renderer.render()


class Cameras:
    """One camera for each episode of a batch, spread over processes; with one process, in this one."""

    def __init__(self, batch: "FrankaBatch", processes: int = 1) -> None:
        kind = (batch.task.physical,)
        self._pool: Pool | None = None
        if processes > 1:
            self._pool = multiprocessing.get_context("spawn").Pool(processes, _start, kind)
        else:
            _start(*kind)

    def frames(self, batch: "FrankaBatch") -> np.ndarray:
        """The table as every episode shows it now (n, 64, 64, 3), bytes."""
        rows = states(batch)
        if self._pool is None:
            return np.stack([_shoot(row) for row in rows])
        return np.stack(self._pool.map(_shoot, rows, chunksize=max(1, len(rows) // 8)))

    def close(self) -> None:
        if self._pool is not None:
            self._pool.terminate()
            self._pool.join()


def states(batch: "FrankaBatch") -> np.ndarray:
    """What a camera needs to know of every episode: joint positions, and where distractor and attached object are."""
    return np.concatenate([batch.arm.batch.qpos, batch.arm.batch.mocap_pos.reshape(batch.envs, -1)], axis=1)


def table_crop(frame: np.ndarray) -> np.ndarray:
    """The table of a 128² frame at 64²: each pixel is the mean over the area that it covers, rounded.

    Sums are whole numbers, so that every machine rounds alike.
    """
    part = frame[_ROWS, _COLUMNS].astype(np.uint16)
    tall, wide = (size + 1 for size in map(_group, part.shape[:2]))
    total = _covered(_covered(part).swapaxes(0, 1)).swapaxes(0, 1)
    return ((total + tall * wide // 2) // (tall * wide)).astype(np.uint8)


def _group(size: int) -> int:
    """Of `size` pixels every g + 1 become g, so that there are 64."""
    return SIZE // (size - SIZE)


def _covered(pixels: np.ndarray) -> np.ndarray:
    """Lines as 64: each is the sum of two neighbours, times how many of g + 1 parts of it they cover."""
    group = _group(len(pixels))
    lines = pixels.reshape(-1, group + 1, *pixels.shape[1:])
    later = np.arange(1, group + 1, dtype=np.uint16).reshape(-1, 1, 1)
    return (lines[:, :-1] * (group + 1 - later) + lines[:, 1:] * later).reshape(SIZE, *pixels.shape[1:])


_camera: Camera | None = None


def _start(physical: bool) -> None:
    global _camera
    _camera = Camera(physical)


def _shoot(state: np.ndarray) -> np.ndarray:
    assert _camera is not None
    return table_crop(_camera.frame(state))


def renderer(model: Any, height: int, width: int) -> Any:
    """MuJoCo's own, refused with a remedy where there is no OpenGL."""
    try:
        return mj.Renderer(model, height, width)
    except Exception as error:  # each OpenGL loader raises what it likes
        raise RuntimeError(MISSING_OPENGL) from error
