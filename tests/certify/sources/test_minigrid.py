"""MiniGrid and BabyAI with a planner and with the bot; a legend for what they show."""

from pathlib import Path

import numpy as np
import pytest

from certify import UserError, certify
from certify.sources.adapter import Legend, to_model

pytest.importorskip("minigrid")

import gymnasium

from certify.sources.minigrid import from_minigrid, grown, ids
from certify.sources.minigrid_planner import plan


def peak(name: str, layouts: int, full: bool = False) -> float:
    return max(step.upper for step in certify(to_model(from_minigrid(name, layouts, 16, full))).steps)


def test_the_object_at_the_start_must_be_remembered() -> None:
    assert peak("MiniGrid-MemoryS7-v0", 48) > 0.5
    assert peak("MiniGrid-MemoryS7-v0", 48, full=True) == 0


@pytest.mark.parametrize("name", ["MiniGrid-Empty-5x5-v0", "MiniGrid-DoorKey-5x5-v0"])
def test_planner(name: str) -> None:
    adapter = from_minigrid(name, 2, 40)
    model = to_model(adapter)
    assert model.episodes is not None
    ends = [model.graph.observations[k] for k in model.episodes.observation[:, -1]]
    assert ends == ["end", "end"]  # the goal was reached, the door on the way opened
    assert "2 layouts, at most 40 steps" in adapter.modified


def test_the_bot() -> None:
    assert to_model(from_minigrid("BabyAI-GoToLocalS5N2-v0", 2, 12)).horizon == 12


@pytest.mark.parametrize(
    "name",
    [
        "BabyAI-KeyInBox-v0",
        "BabyAI-PutNextS5N2Carrying-v0",
        "BabyAI-UnlockToUnlock-v0",
        "MiniGrid-BlockedUnlockPickup-v0",
        "MiniGrid-Dynamic-Obstacles-5x5-v0",
        "MiniGrid-Fetch-5x5-N2-v0",
        "MiniGrid-GoToDoor-6x6-v0",
        "MiniGrid-GoToObject-6x6-N2-v0",
        "MiniGrid-KeyCorridorS3R2-v0",
        "MiniGrid-ObstructedMaze-1Dlhb-v0",
        "MiniGrid-PutNear-6x6-N2-v0",
        "MiniGrid-RedBlueDoors-6x6-v0",
        "MiniGrid-UnlockPickup-v0",
    ],
)
def test_the_planner_solves(name: str) -> None:
    """The environment itself rewards what the planner does."""
    env = gymnasium.make(name, disable_env_checker=True)
    for seed in range(2):
        env.reset(seed=seed)
        over, reward = False, 0.0
        while not over:
            _, earned, ended, cut, _ = env.step(plan(env.unwrapped))
            reward, over = float(earned), ended or cut
        assert reward > 0


def test_a_task_that_the_planner_does_not_know_says_so() -> None:
    with pytest.raises(UserError, match="has no goal that the planner knows"):
        to_model(from_minigrid("MiniGrid-Playground-v0", 1, 4))
    with pytest.raises(UserError, match=r"no SimpleMaze\.png, which its layouts grow from; a checkout of"):
        to_model(from_minigrid("MiniGrid-WFC-MazeSimple-v0", 1, 4))
    assert len(ids()) >= 178


def test_layouts_grow_from_the_pattern_of_a_checkout(tmp_path: Path) -> None:
    """A pattern of walls and ways; without it, the environment is refused."""
    name, folder = "MiniGrid-WFC-MazeSimple-v0", tmp_path / "minigrid" / "envs" / "wfc" / "patterns"
    folder.mkdir(parents=True)
    stripes = np.zeros((4, 4, 3), np.uint8)
    stripes[::2] = 255
    pytest.importorskip("imageio.v3").imwrite(folder / "SimpleMaze.png", stripes)
    first = grown(name, tmp_path).reset(seed=0)[0]
    assert first["image"].shape == (7, 7, 3)
    with pytest.raises(UserError, match=r"no SimpleMaze\.png"):
        to_model(from_minigrid(name, 1, 4, env=grown(name, tmp_path / "elsewhere")))


def test_long_observations_have_short_names_and_are_kept() -> None:
    legend = Legend()
    image = np.arange(147)
    assert legend("hall") == "hall"
    assert [legend(image), legend(image + 1), legend(image.copy())] == ["obs#0", "obs#1", "obs#0"]
    assert np.array_equal(legend.raw["obs#1"], image + 1)
