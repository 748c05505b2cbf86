"""The arm against its published numbers, and the distances on which visibility rests."""

import numpy as np
import pytest

from diacritic.tasks.franka import scene
from diacritic.tasks.franka.mj import mj


def data(physical: bool, q: np.ndarray) -> tuple:
    model = scene.model(physical)
    state = mj.MjData(model)
    first = model.joint("joint1").qposadr[0]
    state.qpos[first : first + 7] = q
    mj.mj_forward(model, state)
    return model, state


@pytest.mark.parametrize("physical", [False, True])
def test_zero_pose_is_the_published_one(physical: bool) -> None:
    """At q = 0 the arm stands upright with the flange 8.8 cm in front, pointing down."""
    _, state = data(physical, np.zeros(7))
    np.testing.assert_allclose(state.site("tool").xpos, [0.088, 0, 0.333 + 0.316 + 0.384 - 0.107 - 0.1034], atol=1e-8)
    np.testing.assert_allclose(state.site("tool").xmat.reshape(3, 3)[:, 2], [0, 0, -1], atol=1e-8)


def test_masses_limits_and_torques_reach_the_model() -> None:
    """A tenth of the published masses is left by the compensation of the arm's own inertia."""
    model, _ = data(True, np.zeros(7))
    masses = [model.body(f"link{k}").mass[0] for k in range(1, 8)]
    published = np.array([4.970684, 0.646926, 3.228604, 3.587895, 1.225946, 1.666555, 0.735522])
    np.testing.assert_allclose(masses, 0.1 * published, atol=1e-6)
    ranges = np.array([model.joint(f"joint{k}").range for k in range(1, 8)])
    np.testing.assert_allclose(ranges, np.stack([scene.LOW, scene.HIGH], axis=1))
    np.testing.assert_allclose(model.actuator_forcerange[:7, 1], [87, 87, 87, 87, 12, 12, 12])


def test_unloaded_arm_does_not_sag() -> None:
    """The arm carries its own weight: with the servos at the pose, no joint accelerates."""
    model, state = data(False, np.array(scene.HOME))
    state.ctrl[:7] = scene.HOME
    state.ctrl[7:] = state.qpos[7:]
    mj.mj_forward(model, state)
    np.testing.assert_allclose(state.qacc[:7], 0, atol=1e-9)


def test_slots_are_the_released_ones_and_stand_apart() -> None:
    np.testing.assert_allclose(scene.SLOTS[:2], [(0.40, 0.32), (0.40, -0.32)])
    np.testing.assert_allclose(scene.SLOTS[6:], [(0.65, 0.11), (0.65, -0.11)])
    apart = np.linalg.norm(scene.SLOTS[:, None] - scene.SLOTS, axis=2)[~np.eye(8, dtype=bool)]
    assert apart.min() / 3 > 0.05  # a third of the way there, classes are visible by the convention
    for positions in (scene.SLOTS, scene.DISTRACTORS):
        table = np.abs(positions - np.array(scene.TABLE_CENTRE[:2])) + 0.035
        assert (table < np.array(scene.TABLE_HALF[:2])).all()
