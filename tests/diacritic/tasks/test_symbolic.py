"""Finite models as environments: Gymnasium's own checker, exact starts, endings and refusals."""

from collections.abc import Iterator
from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from rollout_twin import names_of

from certify import Model
from certify.zoo.registry import find
from diacritic.tasks.symbolic import SymbolicEnv, SymbolicVectorEnv

HOME = "diacritic.tasks.symbolic"
ID = "diacritic-test/Symbolic-v0"


@pytest.fixture
def registered() -> Iterator[str]:
    gymnasium.register(ID, f"{HOME}:SymbolicEnv", vector_entry_point=f"{HOME}:SymbolicVectorEnv")
    yield ID
    del gymnasium.registry[ID]


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("name", ["gap", "signpost-corridor", "stochastic-expert", "running-parity"])
def test_gymnasium_finds_nothing_wrong(registered: str, name: str, recorded: bool) -> None:
    model = find(name).make()
    check_env(gymnasium.make(registered, model=replace(model, dynamics=None) if recorded else model).unwrapped)


def play(model: Model, seed: int, words: list[str]) -> tuple[list[str], float, dict[str, object]]:
    """Act by name; what was seen, what was earned, and the last info."""
    env, done = SymbolicEnv(model), names_of(model.graph.actions)
    number, info = env.reset(seed=seed)
    seen, earned = [str(info["observation"])], 0.0
    for k, word in enumerate(words):
        assert names_of(model.graph.observations)[number] == seen[-1]
        number, reward, terminated, truncated, info = env.step(np.int64(done.index(word)))
        assert not truncated
        assert terminated == (k + 1 == len(words))
        earned += reward
        seen.append(str(info["observation"]))
    return seen, earned, info


def test_the_expert_succeeds_and_its_double_fails() -> None:
    model = find("cue-corridor").make(L=2, textures=1)
    for seed in range(6):
        seen, _, _ = play(model, seed, ["forward", "forward", "forward", "turn 0", "stay"])
        right = seen[0].split()[1]
        assert seen[1:] == ["corridor", "corridor", "junction", "end", "end"]
        way = ["forward", "forward", "forward", f"turn {right}", "stay"]
        assert play(model, seed, way)[1:] == (5, {"observation": "end", "t": 5, "success": True, "off_support": False})
        way[3] = f"turn {1 - int(right)}"
        assert play(model, seed, way)[1:] == (4, {"observation": "end", "t": 5, "success": False, "off_support": False})


def test_without_dynamics_an_unexpected_action_ends_the_episode() -> None:
    model = replace(find("cue-corridor").make(L=2, textures=1), dynamics=None)
    _, earned, info = play(model, 0, ["forward", "stay"])
    assert (earned, info) == (1, {"observation": "corridor", "t": 2, "success": False, "off_support": True})


def test_an_observation_that_no_demonstration_shows_ends_the_episode() -> None:
    model = find("signpost-corridor").make(M=4, W=1)
    _, earned, info = play(model, 0, ["forward", "forward", "forward", "right", "right"])
    assert earned == 4
    assert info == {"observation": "hall1 +1", "t": 5, "success": False, "off_support": True}


def test_any_action_of_a_stochastic_law_is_right() -> None:
    model = find("stochastic-expert").make()
    for word in ("L", "R"):
        assert play(model, 3, ["wait", "wait", word])[1] == 3


def test_latents_start_by_their_weights() -> None:
    model = Model.from_latents(1, {"a": "1/10", "b": "9/10"}, lambda latent, actions: (latent, "go"))
    env = SymbolicVectorEnv(20_000, model)
    seen, infos = env.reset(seed=11)
    assert abs((seen == 0).sum() - 2_000) < 4 * (20_000 * 0.09) ** 0.5
    assert infos["observation"][:4].tolist() == [model.graph.observations[k] for k in seen[:4]]


# ---- many rows


def test_rows_end_alone_and_wait_to_be_renewed() -> None:
    model = replace(find("cue-corridor").make(L=2, textures=1), dynamics=None)
    done = names_of(model.graph.actions)
    env = SymbolicVectorEnv(3, model)
    assert env.metadata["autoreset_mode"] == AutoresetMode.DISABLED
    seen, _ = env.reset(seed=0)
    assert env.observation_space.contains(seen)
    forward, stay = done.index("forward"), done.index("stay")
    _, rewards, over, truncated, infos = env.step(np.array([forward, stay, forward]))
    assert (rewards.tolist(), over.tolist(), truncated.any()) == ([1, 0, 1], [False, True, False], False)
    assert infos["off_support"].tolist() == [False, True, False]
    frozen, rewards, over, _, infos = env.step(np.array([forward, forward, forward]))
    assert (rewards.tolist(), over.tolist()) == ([1, 0, 1], [False, True, False])
    assert infos["t"].tolist() == [3, 1, 3]
    seen, infos = env.reset(options={"reset_mask": np.array([False, True, False])})
    assert infos["t"].tolist() == [3, 1, 3]
    assert seen[[0, 2]].tolist() == frozen[[0, 2]].tolist()
    _, rewards, over, _, _ = env.step(np.array([forward, forward, forward]))
    assert (rewards.tolist(), over.any()) == ([1, 1, 1], False)


def test_a_seed_repeats_every_row() -> None:
    starts = [SymbolicVectorEnv(50, "gap").reset(seed=seed)[0].tolist() for seed in (4, 4, 5)]
    assert starts[0] == starts[1] != starts[2]


def test_one_row_is_the_single_environment() -> None:
    one, many = SymbolicEnv("signpost-corridor", M=4, W=3), SymbolicVectorEnv(1, "signpost-corridor", M=4, W=3)
    random = np.random.default_rng(0)
    for seed in range(20):
        assert one.reset(seed=seed)[0] == many.reset(seed=seed)[0][0]
        over = False
        while not over:
            action = random.integers(one.action_space.n, size=1)  # pyright: ignore[reportAttributeAccessIssue]
            number, reward, over, _, info = one.step(action[0])
            numbers, rewards, overs, _, infos = many.step(action)
            assert (number, reward, over) == (numbers[0], rewards[0], overs[0])
            assert info == {key: infos[key][0] for key in info}


# ---- registration and refusals


def test_registered_environments_take_names_and_parameters(registered: str) -> None:
    env = gymnasium.make(registered, model="cue-corridor", L=2)
    assert env.reset(seed=1)[1]["t"] == 1
    rows = gymnasium.make_vec(registered, 4, "vector_entry_point", model="cue-corridor", L=2)
    assert rows.reset(seed=1)[0].shape == (4,)


def test_refusals_name_the_place() -> None:
    with pytest.raises(ValueError, match="L: a finished model takes no parameters"):
        SymbolicEnv(find("gap").make(), L=3)
    with pytest.raises(ValueError, match="no instance is called 'gapp'; did you mean gap"):
        SymbolicEnv("gapp")
    with pytest.raises(ValueError, match="num_envs: expected at least 1, not 0"):
        SymbolicVectorEnv(0)
    env, rows = SymbolicEnv(), SymbolicVectorEnv(2)
    for fresh in (lambda: env.step(np.int64(0)), lambda: rows.step(np.zeros(2, np.int64))):
        with pytest.raises(ValueError, match="step: no episode is under way; call reset first"):
            fresh()
    with pytest.raises(ValueError, match="reset_mask: the first reset begins every row"):
        rows.reset(options={"reset_mask": np.array([True, False])})
    env.reset()
    rows.reset()
    with pytest.raises(ValueError, match=r"action: expected whole numbers 0…4, not \[9\]"):
        env.step(np.int64(9))
    with pytest.raises(ValueError, match=r"action: expected whole numbers 0…4, not \[0, -1\]"):
        rows.step(np.array([0, -1]))
    with pytest.raises(ValueError, match=r"actions: expected 2 of them, not shape \[3\]"):
        rows.step(np.zeros(3, np.int64))
    with pytest.raises(ValueError, match="reset_mask: expected 2 Boolean values"):
        rows.reset(options={"reset_mask": np.array([1, 0])})
    with pytest.raises(ValueError, match="seed: one number seeds all rows"):
        rows.reset(seed=[1, 2])
