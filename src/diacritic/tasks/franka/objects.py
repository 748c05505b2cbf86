"""The object in two forms with one interface: attached without contact, or free and held by friction."""

import numpy as np

from diacritic.tasks.franka import scene
from diacritic.tasks.franka.control import Arm
from diacritic.tasks.franka.quaternions import FLIPPED, UPRIGHT, product, rotated

REST = scene.OBJECT_HALF
_NEAR = 0.03  # a closed gripper takes the object within this distance, on the ground and in height
_HELD = np.array([0.0, 0.0, 0.005])  # where the hand holds it, in the tool's frame
_SEAT_HEIGHT = 0.003  # a fixture holds the object this far above the table and lets it settle


class AttachedObject:
    """A weightless object: the hand takes it in a canonical pose and sets it down upright, so nothing else is kept."""

    position: np.ndarray
    """Centre (n, 3)."""
    orientation: np.ndarray
    """Quaternion (n, 4)."""

    def __init__(self, arm: Arm) -> None:
        self._arm = arm

    def reset(self, spawn: np.ndarray, mass: np.ndarray) -> None:
        """Stand at `spawn` (n, 2) with the given masses (n,)."""
        self.position = np.column_stack([spawn, np.full(len(spawn), REST)])
        self.orientation = np.tile(UPRIGHT, (len(spawn), 1))
        self._held = np.zeros(len(spawn), bool)
        self._spawn = self.position.copy()
        self._arm.batch.mocap_pos[:, 0] = self.position

    def seat(self) -> None:
        """A fixture returns every object that is not gripped to where it began."""
        free = ~self._arm.closing
        self.position[free] = self._spawn[free]

    def update(self) -> None:
        """Bring position and orientation up to date after the physics."""
        tool, closing = self._arm.tool, self._arm.closing
        away = np.abs(tool - self.position)
        near = (np.hypot(away[:, 0], away[:, 1]) < _NEAR) & (away[:, 2] < _NEAR)
        dropped = self._held & ~closing
        self._held = closing & (self._held | near)
        held, turn = self._held, self._arm.orientation[self._held]
        self.position[held], self.orientation[held] = tool[held] + rotated(turn, _HELD), product(turn, FLIPPED)
        self.position[dropped, 2], self.orientation[dropped] = REST, UPRIGHT
        self._arm.batch.mocap_pos[:, 0] = self.position


class FreeObject:
    """A rigid body under gravity and friction; each simulation has its own mass."""

    def __init__(self, arm: Arm) -> None:
        self._arm = arm
        self._body = arm.model.body("object").id
        self._mass, self._inertia = arm.batch.expand("body_mass"), arm.batch.expand("body_inertia")
        self._unit_inertia = arm.model.body_inertia[self._body] / arm.model.body_mass[self._body]
        self._pose = slice(0, 7)  # the object's free joint comes first

    def reset(self, spawn: np.ndarray, mass: np.ndarray) -> None:
        self._mass[:, self._body] = mass
        self._inertia[:, self._body] = mass[:, None] * self._unit_inertia
        self._arm.batch.set_const()
        self._spawn = np.column_stack([spawn, np.full(len(spawn), REST), np.tile(UPRIGHT, (len(spawn), 1))])
        self._arm.batch.qpos[:, self._pose] = self._spawn
        self.update()

    def seat(self) -> None:
        free, batch = ~self._arm.closing, self._arm.batch
        batch.qpos[free, self._pose] = self._spawn[free] + (0, 0, _SEAT_HEIGHT, 0, 0, 0, 0)
        batch.qvel[free, :6] = 0.0

    def update(self) -> None:
        pose = self._arm.batch.qpos[:, self._pose]
        self.position, self.orientation = pose[:, :3].copy(), pose[:, 3:].copy()
