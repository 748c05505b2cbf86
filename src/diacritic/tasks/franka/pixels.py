"""What a camera over the table sees: 128² frames without shadows or multisampling, cropped to the table at 64²."""

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
_ROWS, _COLUMNS = slice(16, 112), slice(16, 112)  # the table
MISSING_OPENGL = (
    "rendering: no OpenGL without a display; install the Debian package libegl1 or libosmesa6 and set MUJOCO_GL to egl "
    "or osmesa (tasks on states need neither)"
)
_STATE = int(mj.mjtState.mjSTATE_QPOS) | int(mj.mjtState.mjSTATE_MOCAP_POS)


class Camera:
    """One renderer for one scene."""

    def __init__(
        self, physical: bool, slots: int, name: str = "table", height: int = FRAME, width: int = FRAME
    ) -> None:
        self._model, self._name = scene.model(physical, slots), name
        self._data = mj.MjData(self._model)
        self._renderer = _renderer(self._model, height, width)
        self.close = weakref.finalize(self, self._renderer.close)  # before the interpreter takes OpenGL down

    def frame(self, state: np.ndarray) -> np.ndarray:
        """The picture of one state, a row of `states` (height, width, 3), bytes."""
        mj.mj_setState(self._model, self._data, state, _STATE)
        mj.mj_kinematics(self._model, self._data)
        mj.mj_camlight(self._model, self._data)
        self._renderer.update_scene(self._data, self._name)
        return self._renderer.render()


class Cameras:
    """One camera for each episode of a batch, spread over processes; with one process, in this one."""

    def __init__(self, batch: "FrankaBatch", processes: int = 1) -> None:
        kind = batch.task.physical, batch.task.slots
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
    """What a camera needs to know of every episode: joint positions and the pose of an attached object."""
    parts = [batch.arm.batch.qpos]
    if batch.arm.model.nmocap:
        parts.append(batch.arm.batch.mocap_pos[:, 0])
    return np.concatenate(parts, axis=1)


def table_crop(frame: np.ndarray) -> np.ndarray:
    """The table of a 128² frame at 64²: each pixel is the mean of one and a half by one and a half."""
    fine = frame[_ROWS, _COLUMNS].repeat(2, axis=0).repeat(2, axis=1).astype(np.uint16)
    return (fine.reshape(SIZE, 3, SIZE, 3, 3).sum(axis=(1, 3)) // 9).astype(np.uint8)


_camera: Camera | None = None


def _start(physical: bool, slots: int) -> None:
    global _camera
    _camera = Camera(physical, slots)


def _shoot(state: np.ndarray) -> np.ndarray:
    assert _camera is not None
    return table_crop(_camera.frame(state))


def _renderer(model: Any, height: int, width: int) -> Any:
    try:
        return mj.Renderer(model, height, width)
    except Exception as error:  # each OpenGL loader raises what it likes
        raise RuntimeError(MISSING_OPENGL) from error
