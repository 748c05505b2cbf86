"""The object in two forms with one interface: attached without contact, or free and held by friction."""

from typing import Protocol

import numpy as np

from diacritic.tasks.franka import scene
from diacritic.tasks.franka.control import Arm

REST = scene.OBJECT_HALF[2]
_GRASP_RADIUS = 0.03  # a closing gripper attaches the object when the tool is this near
_LIFTED = 0.03  # height above rest that counts as lifted
_SEAT_HEIGHT = 0.003  # a fixture holds the object this far above the table and lets it settle


class Object(Protocol):
    """What the task asks of its object."""

    position: np.ndarray
    """Centre (n, 3)."""
    yaw: np.ndarray
    """Angle about the vertical (n,)."""
    lifted: np.ndarray
    """Whether it was ever carried (n,)."""

    def reset(self, place: np.ndarray, mass: np.ndarray) -> None:
        """Stand at `place` (n, 2) with the given masses (n,)."""
        ...

    def reseat(self) -> None:
        """Return to where the episode began, unless the gripper is closed."""
        ...

    def update(self) -> None:
        """Bring position, yaw and lifted up to date after the physics."""
        ...


class AttachedObject:
    """A weightless object: the hand takes it in a canonical pose and sets it down upright, so nothing else is kept."""

    def __init__(self, arm: Arm) -> None:
        self._arm = arm
        self.yaw = np.zeros(arm.batch.nsim)

    def reset(self, place: np.ndarray, mass: np.ndarray) -> None:
        self.position = np.column_stack([place, np.full(len(place), REST)])
        self.lifted = np.zeros(len(place), bool)
        self._held = np.zeros(len(place), bool)
        self._spawn = self.position.copy()
        self._arm.batch.mocap_pos[:, 0] = self.position

    def reseat(self) -> None:
        free = ~self._arm.closing
        self.position[free] = self._spawn[free]

    def update(self) -> None:
        tool, closing = self._arm.tool, self._arm.closing
        near = np.linalg.norm(tool - self.position, axis=1) < _GRASP_RADIUS
        dropped = self._held & ~closing
        self._held = closing & (self._held | near)
        self.position[self._held] = tool[self._held]
        self.position[dropped, 2] = REST
        self.lifted |= self._held & (self.position[:, 2] > REST + _LIFTED)
        self._arm.batch.mocap_pos[:, 0] = self.position


class FreeObject:
    """A rigid body under gravity and friction; each simulation has its own mass."""

    def __init__(self, arm: Arm) -> None:
        self._arm = arm
        self._body = arm.model.body("object").id
        self._mass, self._inertia = arm.batch.expand("body_mass"), arm.batch.expand("body_inertia")
        self._unit_inertia = arm.model.body_inertia[self._body] / arm.model.body_mass[self._body]
        self._pose = slice(0, 7)  # the object's free joint comes first

    def reset(self, place: np.ndarray, mass: np.ndarray) -> None:
        self._mass[:, self._body] = mass
        self._inertia[:, self._body] = mass[:, None] * self._unit_inertia
        self._arm.batch.set_const()
        pose = np.zeros((len(place), 7))
        pose[:, :2], pose[:, 2], pose[:, 3] = place, REST, 1.0
        self._spawn = pose
        self._arm.batch.qpos[:, self._pose] = pose
        self.lifted = np.zeros(len(place), bool)
        self.update()

    def reseat(self) -> None:
        free = ~self._arm.closing
        self._arm.batch.qpos[free, self._pose] = self._spawn[free] + np.array([0, 0, _SEAT_HEIGHT, 0, 0, 0, 0])
        self._arm.batch.qvel[free, :6] = 0.0

    def update(self) -> None:
        pose = self._arm.batch.qpos[:, self._pose]
        self.position = pose[:, :3].copy()
        w, x, y, z = pose[:, 3:].T
        self.yaw = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
        self.lifted = self.lifted | (self._arm.closing & (self.position[:, 2] > REST + _LIFTED))
