"""Kinematics against MuJoCo and finite differences; commands without memory; the same bits on any number of threads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diacritic.tasks.franka import scene
from diacritic.tasks.franka.control import Arm, _damped, _wrist, clip_target, inverse
from diacritic.tasks.franka.mj import mj

coordinates = st.tuples(st.floats(-1, 1), st.floats(-1, 1), st.floats(-0.5, 1))
CENTRE = np.array([[0.50, 0.0, 0.25]])


def mujoco_kinematics(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Position and orientation of the tool according to MuJoCo."""
    model = scene.model(False)
    data = mj.MjData(model)
    data.qpos[:7] = q
    mj.mj_kinematics(model, data)
    return data.site("tool").xpos, data.site("tool").xmat.reshape(3, 3)


def test_wrist_jacobian_is_the_derivative() -> None:
    angles, small = np.random.default_rng(1).uniform(-2, 2, (2, 9)), 1e-7
    wrist, *columns = _wrist(*angles)
    for k, column in enumerate(columns):
        moved = angles.copy()
        moved[k] += small
        np.testing.assert_allclose(column, (_wrist(*moved)[0] - wrist) / small, atol=1e-6)


def test_damped_step_is_the_regularised_least_squares_solution() -> None:
    first, second, error = np.random.default_rng(2).normal(size=(3, 2, 5))
    for k, step in enumerate(_damped(first, second, error).T):
        jacobian = np.stack([first[:, k], second[:, k]], axis=1)
        literal = np.linalg.solve(jacobian.T @ jacobian + 1e-6 * np.eye(2), jacobian.T @ error[:, k])
        np.testing.assert_allclose(step, literal, rtol=1e-6)


@given(st.lists(coordinates, min_size=1, max_size=8))
def test_inverse_reaches_every_clipped_target(points: list[tuple[float, float, float]]) -> None:
    target = clip_target(np.array(points))
    joints = inverse(target)
    for q, wanted in zip(joints, target, strict=True):
        position, rotation = mujoco_kinematics(q)
        np.testing.assert_allclose(position, wanted, atol=1e-7)
        np.testing.assert_allclose(rotation, np.diag([1.0, -1, -1]), atol=1e-7)
    assert (scene.LOW < joints).all()
    assert (joints < scene.HIGH).all()
    np.testing.assert_allclose(clip_target(target), target, atol=1e-12)


def test_clip_leaves_the_workspace_alone() -> None:
    inside = np.array([[0.45, 0.1, 0.2], [0.25, -0.5, 0.03]])
    np.testing.assert_allclose(clip_target(inside), inside)


def test_arm_reaches_its_command_and_forgets_the_way() -> None:
    arm = Arm(False, 2, 1)
    arm.reset()
    for away in ([[0.1, 0.1, -0.1], [-0.1, -0.1, 0.0]], [[0.0, 0.0, 0.0]] * 2):
        arm.advance(CENTRE + np.array(away), np.zeros(2, bool))
    arm.simulate(1.0)
    arm.refresh()
    np.testing.assert_allclose(arm.tool, np.repeat(CENTRE, 2, axis=0), atol=5e-6)
    np.testing.assert_allclose(arm.orientation, [[0, 1, 0, 0]] * 2, atol=1e-4)
    np.testing.assert_allclose(arm.batch.qpos[0], arm.batch.qpos[1], atol=5e-6)


@pytest.mark.parametrize("physical", [False, True])
def test_same_bits_on_any_number_of_threads(physical: bool) -> None:
    moves = np.random.default_rng(0).uniform(-0.05, 0.05, (2, 5, 3))
    states = []
    for threads in (1, 2, 3):
        arm = Arm(physical, 5, threads)
        arm.reset()
        for move in moves:
            arm.advance(CENTRE + move, move[:, 0] < 0)
        states.append(np.concatenate([arm.batch.qpos, arm.batch.qvel], axis=1).tobytes())
    assert states[0] == states[1] == states[2]


@pytest.mark.parametrize("physical", [False, True])
def test_a_decision_lasts_a_tenth_of_a_second_with_or_without_a_fixture(physical: bool) -> None:
    arm, calls = Arm(physical, 1, 1), []
    arm.reset()
    arm.advance(CENTRE, np.zeros(1, bool))
    assert arm.batch.time[0] == pytest.approx(0.1)
    arm.advance(CENTRE, np.zeros(1, bool), lambda: calls.append(arm.batch.time[0]))
    assert arm.batch.time[0] == pytest.approx(0.2)
    np.testing.assert_allclose(calls, 0.1 + 0.005 * np.arange(20), atol=1e-9)
