"""The arm against its published numbers, and the distances on which visibility rests."""

import numpy as np
import pytest

from diacritic.tasks.franka import scene
from diacritic.tasks.franka.expert import HEIGHTS
from diacritic.tasks.franka.mj import mj

AT_CARRY = np.array(scene.SPAWN)


def data(physical: bool, q: np.ndarray) -> tuple:
    model = scene.model(physical, 2)
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
    model, _ = data(True, np.zeros(7))
    masses = [model.body(f"link{k}").mass[0] for k in range(1, 8)]
    np.testing.assert_allclose(masses, [4.970684, 0.646926, 3.228604, 3.587895, 1.225946, 1.666555, 0.735522])
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


@pytest.mark.parametrize("count", [2, 4, 8])
def test_slots_stand_apart_from_the_first_step_on(count: int) -> None:
    slots = scene.slot_positions(count)
    apart = np.linalg.norm(slots[:, None] - slots, axis=2)[~np.eye(count, dtype=bool)]
    assert apart.min() >= 0.21
    assert apart.min() / 3 > 0.05  # a third of the way there, classes are visible by the convention
    assert np.linalg.norm(slots - AT_CARRY, axis=1).min() > 0.15
    table = np.abs(slots - np.array(scene.TABLE_CENTRE[:2])) + 0.035
    assert (table < np.array(scene.TABLE_HALF[:2])).all()


def test_heights_of_the_way_down_are_distinct() -> None:
    """A policy without memory must be able to tell the steps of the grasp from each other."""
    heights = sorted([HEIGHTS["side"], (HEIGHTS["side"] + HEIGHTS["over"]) / 2, HEIGHTS["over"], HEIGHTS["grip"]])
    assert np.diff(heights).min() > 0.03
