"""From commanded tool positions to physics: inverse kinematics, then batched physics steps.

The joint command is a function of the commanded tool position alone (the iteration always starts from the same posture
turned towards the target), so the arm cannot keep a memory in its redundant joint.
"""

from collections.abc import Callable

import numpy as np

from diacritic.tasks.franka import scene
from diacritic.tasks.franka.mj import Batch, mj
from diacritic.tasks.franka.timeline import SECONDS

_ITERATIONS, _DAMPING = 10, 1e-6  # to a nanometre anywhere in the workspace
_REACH = (0.31, 0.74)  # horizontal distance of the tool from the base
_HEIGHT = (0.015, 0.38)
_HEADING = 1.4  # to either side
_WRIST = scene.PANDA[6].offset[0]  # from joint 6 to the axis of the hand
_LEAD = np.array([joint.damping / joint.stiffness for joint in scene.PANDA]) / SECONDS  # in decisions
_START = (0.46, 0.0, 0.38)  # the tool in the default posture


def clip_target(position: np.ndarray) -> np.ndarray:
    """Tool positions (n, 3) moved into the workspace: in front of the base, in reach, above the table."""
    heading = np.clip(np.arctan2(position[:, 1], position[:, 0]), -_HEADING, _HEADING)
    radius = np.clip(np.hypot(position[:, 0], position[:, 1]), *_REACH)
    return np.stack([radius * np.cos(heading), radius * np.sin(heading), np.clip(position[:, 2], *_HEIGHT)], axis=1)


def inverse(target: np.ndarray) -> np.ndarray:
    """Joint angles (n, 7) inside their limits with the tool at `target` (n, 3) and the fingers pointing down.

    The base turns the arm into the vertical plane of the target and the last joint keeps the hand's heading. In that
    plane shoulder and elbow follow the damped inverse of the wrist's Jacobian, and joint 6 levels the hand.
    """
    heading = np.arctan2(target[:, 1], target[:, 0])
    goal = np.stack([np.hypot(target[:, 0], target[:, 1]) - _WRIST, target[:, 2] + scene.FLANGE + scene.TOOL])
    q = np.tile(scene.HOME, (len(target), 1)).T
    for _ in range(_ITERATIONS):
        wrist, by_shoulder, by_elbow = _wrist(q[1], q[3])
        step = np.clip(_damped(by_shoulder, by_elbow, goal - wrist), -0.5, 0.5)
        q[[1, 3]] = np.clip(q[[1, 3]] + step, scene.LOW[[1, 3], None], scene.HIGH[[1, 3], None])
    q[0], q[5], q[6] = heading, q[1] - q[3], scene.HOME[6] + heading
    return np.clip(q.T, scene.LOW, scene.HIGH)


def _wrist(shoulder: np.ndarray, elbow: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Radius and height of joint 6 (2, n), and their derivatives by the angles of joints 2 and 4."""
    upper = _link(shoulder, scene.PANDA[3].offset[0], -scene.PANDA[2].offset[1])
    lower = _link(shoulder - elbow, scene.PANDA[4].offset[0], scene.PANDA[4].offset[1])
    base = np.array([[0.0], [scene.PANDA[0].offset[2]]])
    return base + upper + lower, _quarter(upper) + _quarter(lower), -_quarter(lower)


def _link(lean: np.ndarray, across: float, along: float) -> np.ndarray:
    """A link that leans forward from the vertical: (2, n) in radius and height."""
    sin, cos = np.sin(lean), np.cos(lean)
    return np.stack([across * cos + along * sin, along * cos - across * sin])


def _quarter(vector: np.ndarray) -> np.ndarray:
    """Derivative of a leaning link by its lean."""
    return np.stack([vector[1], -vector[0]])


def _damped(first: np.ndarray, second: np.ndarray, error: np.ndarray) -> np.ndarray:
    """(JᵀJ + λI)⁻¹ Jᵀ error for the two columns of J, each (2, n)."""
    a, b, d = (first * first).sum(0) + _DAMPING, (first * second).sum(0), (second * second).sum(0) + _DAMPING
    x, y = (first * error).sum(0), (second * error).sum(0)
    return np.stack([d * x - b * y, a * y - b * x]) / (a * d - b * b)


class Arm:
    """Many arms under one command interface; advanced on native threads, the same bits at any number of threads."""

    def __init__(self, physical: bool, envs: int, threads: int) -> None:
        self.model = scene.model(physical)
        self.batch = Batch(self.model, envs, threads)
        self._closed = scene.FINGER_CLOSED[physical]
        self.closing = np.zeros(envs, bool)
        self._sensors = self.batch.bind("sensordata")
        first = self.model.joint("joint1").qposadr[0]
        self._angles = slice(first, first + 7)
        self._fingers = slice(first + 7, first + 9)

    def reset(self) -> None:
        """At rest in the default posture with open fingers."""
        self.batch.reset(stage=int(mj.mjtStage.mjSTAGE_NONE))
        rows = len(self.closing)
        self.command(np.tile(_START, (rows, 1)), np.zeros(rows, bool))
        self.batch.qpos[:, self._angles] = self._control[:, :7]
        self.batch.qpos[:, self._fingers] = scene.FINGER_OPEN

    def command(self, position: np.ndarray, closing: np.ndarray) -> None:
        """From now on hold the tool at `position` (n, 3), or as near as the workspace allows, and open or close."""
        self.closing = closing
        fingers = np.where(closing, self._closed, scene.FINGER_OPEN)
        self._control = np.column_stack([inverse(clip_target(position)), fingers, fingers])

    def refresh(self) -> None:
        """Make sensors and poses current after the state was written."""
        self.batch.forward(stage=int(mj.mjtStage.mjSTAGE_VEL))

    def advance(self, position: np.ndarray, closing: np.ndarray, before: Callable[[], None] | None = None) -> None:
        """One decision: set-points move evenly to the command, led by their velocity; `before` every physics step."""
        previous = self._control
        self.command(position, closing)
        steps, change = _steps(SECONDS), (self._control - previous)[:, None]
        share = np.arange(1, steps + 1)[:, None] / steps
        control = previous[:, None] + change * share
        control[:, :, :7] += change[:, :, :7] * _LEAD
        control[:, :, 7:] = self._control[:, None, 7:]
        if before is None:
            self.run(control)
            return
        for k in range(steps):
            before()
            self.run(control[:, k : k + 1])

    def simulate(self, seconds: float) -> None:
        """Run the physics under the present command."""
        self.run(np.repeat(self._control[:, None], _steps(seconds), axis=1))

    def run(self, control: np.ndarray) -> None:
        """Run the physics under servo set-points (n, physics steps, 9)."""
        self.batch.rollout(control.shape[1], control, record=())

    @property
    def tool(self) -> np.ndarray:
        """Measured tool position (n, 3)."""
        return self._sensors[:, 0:3]

    @property
    def orientation(self) -> np.ndarray:
        """Measured orientation of the tool (n, 4), a quaternion."""
        return self._sensors[:, 3:7]

    @property
    def opening(self) -> np.ndarray:
        """Distance between the fingers (n,)."""
        return self.batch.qpos[:, self._fingers].sum(1)


def _steps(seconds: float) -> int:
    """How many physics steps take so long."""
    return round(seconds / scene.TIMESTEP)
