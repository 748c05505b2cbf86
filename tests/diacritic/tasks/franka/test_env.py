"""Gymnasium's own checker, the registered names, and the two faces against each other."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import diacritic.tasks
from certify import UserError
from diacritic.tasks.franka.env import FrankaEnv, FrankaVectorEnv
from diacritic.tasks.franka.tasks import TASKS


@pytest.mark.parametrize("name", diacritic.tasks.GYM_IDS)
def test_registered_environments_pass_the_checker(name: str) -> None:
    env = gymnasium.make(name).unwrapped
    check_env(env, skip_render_check=True)
    env.close()


@pytest.mark.parametrize("name", diacritic.tasks.GYM_IDS)
def test_registered_vectors_keep_to_their_spaces(name: str) -> None:
    envs = gymnasium.make_vec(name, num_envs=2, vectorization_mode="vector_entry_point")
    assert isinstance(envs, FrankaVectorEnv)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.DISABLED
    seen, info = envs.reset(seed=1, options={"latents": {next(iter(envs.core.task.latents)): 1}})
    assert envs.observation_space.contains(seen)
    assert info["latents"][next(iter(envs.core.task.latents))].tolist() == [1, 1]
    again, _ = envs.reset(seed=1, options={"latents": {next(iter(envs.core.task.latents)): 1}})
    assert np.array_equal(seen, again)
    envs.action_space.seed(0)
    seen, rewards, *ends, _ = envs.step(envs.action_space.sample())
    assert envs.observation_space.contains(seen)
    assert [(values.shape, values.dtype) for values in (rewards, *ends)] == [((2,), float), ((2,), bool), ((2,), bool)]
    envs.close()


def test_every_task_is_registered() -> None:
    assert set(diacritic.tasks.GYM_IDS.values()) == set(TASKS)
    diacritic.tasks.register()  # a second time changes nothing


def test_expert_earns_the_reward_with_the_last_step() -> None:
    env = FrankaEnv(gap=1, first_gap=1)
    _, info = env.reset(seed=5, options={"latents": {"theta": 3}})
    assert info["latents"]["theta"] == 3
    rewards, done = [], False
    while not done:
        _, reward, done, truncated, info = env.step(env.expert())
        rewards.append(reward)
        assert not truncated
    assert rewards == [0.0] * (len(rewards) - 1) + [1.0]
    assert info["success"] is True
    assert info["slot"] is True


def test_vector_matches_single_and_never_resets_itself() -> None:
    vector = gymnasium.make_vec(
        "diacritic/TwoCues-v0", num_envs=2, vectorization_mode="vector_entry_point", gap=1, first_gap=1
    )
    assert vector.metadata["autoreset_mode"] is AutoresetMode.DISABLED
    single = FrankaEnv(gap=1, first_gap=1)
    many, info = vector.reset(seed=9)
    one, _ = single.reset(seed=9)
    assert np.array_equal(many[0], one)
    assert vector.observation_space.contains(many)
    done = np.zeros(2, bool)
    actions = np.zeros((2, 4), np.float32)
    while not done.any():
        many, _, done, _, info = vector.step(actions)
        one, *_ = single.step(actions[0])
        assert np.array_equal(many[0], one)
    assert done.all()
    assert info["success"].tolist() == [False, False]
    with pytest.raises(UserError, match="reset"):
        vector.step(actions)


def test_partial_resets_and_lists_of_seeds_are_refused() -> None:
    vector = FrankaVectorEnv(2, gap=1, first_gap=1)
    with pytest.raises(ValueError, match="lockstep"):
        vector.reset(options={"reset_mask": np.array([True, False])})
    with pytest.raises(ValueError, match="one integer"):
        vector.reset(seed=[1, 2])


def test_unknown_parameter_is_named() -> None:
    with pytest.raises(UserError, match=r"two-cues\.gaps"):
        FrankaEnv(gaps=3)


@pytest.mark.system
def test_rendering_passes_the_checker() -> None:
    env = gymnasium.make("diacritic/TwoCues-v0", render_mode="rgb_array").unwrapped
    check_env(env)
    env.reset(seed=0)
    picture = env.render()
    assert isinstance(picture, np.ndarray)
    assert picture.shape == (240, 320, 3)
    assert picture.std() > 10
    env.close()
