"""The expert succeeds on every task, along straight segments from where the tool really is."""

import numpy as np
import pytest
from franka_episodes import expert_episodes

from diacritic.tasks.franka import scene
from diacritic.tasks.franka.batch import FrankaBatch
from diacritic.tasks.franka.expert import SIDES, chosen_side, chosen_slot, targets
from diacritic.tasks.franka.layout import SLICES
from diacritic.tasks.franka.tasks import make_task

TOOL = SLICES["tool position"]


@pytest.mark.parametrize(
    ("name", "parameters", "episodes"),
    [
        ("two-cues", {}, 32),
        ("two-cues", {"classes": 4, "jitter": 0.0}, 16),
        ("two-cues", {"contact": True}, 4),
        ("full-reveal", {"modes": 8}, 16),
        ("readout-2", {}, 16),
        ("readout-3", {}, 32),
        ("hidden-mass", {"modes": 4}, 16),
        ("weighing", {}, 8),
    ],
)
def test_expert_succeeds(name: str, parameters: dict, episodes: int) -> None:
    task = make_task(name, **parameters)
    played = expert_episodes(FrankaBatch(task, episodes), task.draw(episodes, 0))
    for verdict in ("success", "side", "slot"):
        assert played.outcome[verdict].all(), verdict


def test_the_heaviest_object_stands_in_every_slot() -> None:
    task = make_task("hidden-mass", modes=4, gap=4, first_gap=1)
    core = FrankaBatch(task, 4)
    played = expert_episodes(core, {"mass": 3, "slot": np.arange(4)})
    assert played.outcome["success"].all()
    x, y = core.object.orientation[:, 1:3].T
    assert (1 - 2 * (x * x + y * y) > 0.99).all()


def test_commands_divide_the_way_from_the_measured_start_evenly() -> None:
    """Action k of n leads from the measured tool to start + (target − start) · k/n, gripper 0 or 1."""
    task = make_task("two-cues", no_noise=True)
    core = FrankaBatch(task, 2)
    played = expert_episodes(core, {"theta": [0, 3], "hover": [0, 1]})
    points = targets(task, played.latents, played.spawn)
    tool, commands = played.observations[..., TOOL], played.observations[..., TOOL] + played.actions[..., :3]
    np.testing.assert_allclose(commands[0], points["home"], atol=1e-6)
    for name, first, count in (("hover", 1, 7), ("side", 8, 2), ("carry", 18, 6), ("above", 24, 3)):
        for k in range(1, count + 1):
            wanted = tool[first] + (points[name] - tool[first]) * k / count
            np.testing.assert_allclose(commands[first + k - 1], wanted, atol=1e-6)
    closed = [t for t in range(task.horizon) if played.actions[t, 0, 3]]
    assert closed == list(range(14, 29))
    assert set(np.unique(played.actions[..., 3])) == {0.0, 1.0}


def test_points_depend_on_object_side_slot_and_coin() -> None:
    task = make_task("two-cues", classes=4)
    latents = {"theta": np.arange(16), "hover": np.arange(16) % 2}
    points = targets(task, latents, np.tile([0.55, 0.01], (16, 1)))
    np.testing.assert_allclose(points["side"][:4, :2] - [0.55, 0.01], 0.1 * SIDES)
    np.testing.assert_allclose(points["above"][::4, :2], scene.SLOTS[:4])
    assert points["home"][:2, 2].tolist() == [0.18, 0.24]


def test_decisions_are_read_from_the_first_action() -> None:
    task = make_task("two-cues", classes=4)
    moves = np.array([[0.05, 0.01, 0], [-0.05, 0.01, 0], [0.01, 0.05, 0], [0.01, -0.05, 0]])
    assert chosen_side(task, moves).tolist() == [0, 1, 2, 3]
    tool = np.tile([0.5, 0.0, 0.26], (4, 1))
    towards = np.column_stack([(scene.SLOTS[:4] - (0.5, 0)) / 3, np.zeros(4)])
    assert chosen_slot(task, tool, towards).tolist() == [0, 1, 2, 3]
