"""The expert succeeds on every task with every mass, along straight segments, and its actions never tell the mass."""

import numpy as np
import pytest
from franka_episodes import expert_episodes

from diacritic.tasks.franka.batch import FrankaBatch
from diacritic.tasks.franka.expert import expert_actions, home, waypoints
from diacritic.tasks.franka.tasks import make_task
from diacritic.tasks.protocol import draw_latents


@pytest.mark.parametrize(
    ("name", "parameters", "episodes"),
    [
        ("two-cues", {}, 32),
        ("two-cues", {"classes": 4, "jitter": 0.0}, 16),
        ("two-cues", {"contact": True}, 4),
        ("full-reveal", {"modes": 8}, 16),
        ("readout-2", {}, 16),
        ("readout-3", {}, 32),
        ("hidden-mass", {"modes": 4}, 8),
        ("weighing", {}, 8),
    ],
)
def test_expert_succeeds(name: str, parameters: dict, episodes: int) -> None:
    task = make_task(name, **parameters)
    played = expert_episodes(FrankaBatch(task, episodes), draw_latents(task, episodes, np.random.default_rng(0)))
    for verdict in ("success", "side", "slot", "lifted"):
        assert played.outcome[verdict].all(), verdict
    assert played.outcome["distance"].max() < 0.02


def test_the_heaviest_object_stands_in_every_slot() -> None:
    """Let go while the sagging arm presses it down, it would topple in the outer slots."""
    task = make_task("hidden-mass", modes=4, gap=4, first_gap=1)
    core = FrankaBatch(task, 4)
    played = expert_episodes(core, {"mass": 3, "slot": np.arange(4)})
    assert played.outcome["success"].all()
    x, y = core.arm.batch.qpos[:, 4:6].T  # of the object's quaternion
    assert (1 - 2 * (x * x + y * y) > 0.99).all()


def test_actions_of_hidden_mass_are_blind_to_the_mass() -> None:
    task = make_task("hidden-mass", modes=512, jitter=0.0)
    latents = {"mass": np.array([0, 200, 511]), "slot": np.full(3, 2), "hover": np.zeros(3, int)}
    points = waypoints(task, latents, np.tile([0.45, 0.0], (3, 1)))
    assert (points == points[:, :1]).all()


def test_segments_are_straight_and_even() -> None:
    task = make_task("two-cues", gap=3)
    points = waypoints(task, {"theta": np.array([3]), "hover": np.array([1])}, np.array([[0.46, -0.01]]))[:, 0]
    for start in (0, task.decisions["slot"]):
        moves = np.diff(points[start : start + 3], axis=0)
        np.testing.assert_allclose(moves[0], moves[1], atol=1e-12)


def test_expert_goes_straight_to_its_waypoint_from_anywhere() -> None:
    task = make_task("two-cues")
    target, command = np.array([[0.4, 0.1, 0.2]]), np.array([[0.5, -0.1, 0.25]])
    close = next(t for t, step in enumerate(task.steps) if step.closing)
    np.testing.assert_allclose(expert_actions(task, 0, target, command), [[-0.1, 0.2, -0.05, 1.0]])
    assert expert_actions(task, close, target, command)[0, 3] == -1.0


def test_hover_height_is_visible_before_any_action_depends_on_it() -> None:
    task = make_task("two-cues")
    latents = {"theta": np.zeros(2, int), "hover": np.array([0, 1])}
    points = waypoints(task, latents, np.tile([0.45, 0.0], (2, 1)))
    path = np.concatenate([home(latents, 2)[None], points])
    for t in range(task.horizon):
        apart = np.linalg.norm(path[t, 0] - path[t, 1])
        assert (apart > 0.05) == task.at_hover(t)
        if np.abs(np.diff(path[t : t + 2], axis=0)[0, 0] - np.diff(path[t : t + 2], axis=0)[0, 1]).max() > 1e-9:
            assert apart > 0.02
