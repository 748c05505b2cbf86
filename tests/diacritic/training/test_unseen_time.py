"""Steps that look alike: time is kept where an action depends on it, for the expert and for a policy that drifts."""

import numpy as np
import pytest
import torch

from diacritic.training.data import Data
from diacritic.training.recorded import from_recording
from diacritic.training.unseen_time import drifting_clock, sensor_noise, unseen_clock


def test_time_that_nothing_shows_is_kept_where_an_action_depends_on_it() -> None:
    """Steps 1 and 2 look alike and ask for different actions, step 3 looks different, 4 looks and asks like 1."""
    symbols = np.zeros((5, 8), np.int64)
    shown = np.zeros((5, 8, 1)) + np.array([5.0, 0, 0, -5, 0])[:, None, None]
    asked = np.zeros((5, 8, 1)) + np.array([0.0, 0, 3, 0, 0])[:, None, None]
    draw = np.random.default_rng(0)
    noisy = (shown + 0.1 * draw.standard_normal(shown.shape)).astype(np.float32)
    data = from_recording(noisy, asked.astype(np.float32), symbols, symbols)[0]
    scene, colour = unseen_clock(data)
    assert scene[:, 0].tolist() == [0, 1, 1, 3, 1]
    assert colour[:, 0].tolist() == [0, 1, 2, 0, 1]
    assert (scene == scene[:, :1]).all()
    assert (colour == colour[:, :1]).all()


def lift() -> Data:
    """Loads rise by 4 a step and turn back at the top; a heavy one hangs 4 below a light one, so that it looks at each
    step as the light one did a step before."""
    heavy = np.arange(32) % 2
    symbols = np.tile(heavy + 1, (6, 1))
    symbols[0] = 0
    height = np.array([0.0, 4, 8, 12, 16, 30])[:, None] - 4 * heavy * (np.arange(6) > 0)[:, None]
    asked = np.tile(np.array([1.0, 1, 1, 1, -3, 0])[:, None, None], (1, 32, 1))
    noise = 0.2 * np.random.default_rng(0).standard_normal((6, 32, 1))
    seen = (height[..., None] + noise).astype(np.float32)
    return from_recording(seen, asked.astype(np.float32), symbols, np.zeros_like(symbols))[0]


def test_steps_of_different_histories_that_a_drifting_policy_confuses_are_kept_apart() -> None:
    data = lift()
    assert not unseen_clock(data)[1].any()  # within a history every step looks its own
    cluster, colour = (values[:, 0] for values in drifting_clock(data))
    assert colour[3] != colour[4]
    assert 0 not in (colour[3], colour[4])
    assert cluster[3] == cluster[4]
    assert colour[5] == 0


def test_sensor_noise_is_what_neighbouring_steps_do_not_share() -> None:
    draw = np.random.default_rng(1)
    symbols = np.tile(np.arange(400) % 2, (12, 1))
    where = 5 * draw.standard_normal((1, 400, 2)) + symbols[..., None]  # of an episode, at all its steps
    noise = draw.standard_normal((12, 400, 2)) * [0.5, 2.0]
    data, scale = from_recording((where + noise).astype(np.float32), noise[..., :1].astype(np.float32), symbols)
    assert (sensor_noise(data) * scale.observation_deviation).tolist() == pytest.approx([0.5, 2.0], rel=0.05)


def test_single_episodes_show_no_noise() -> None:
    data, _ = from_recording(np.zeros((4, 2, 3), np.float32), np.zeros((4, 2, 1), np.float32), np.tile([0, 1], (4, 1)))
    assert torch.equal(sensor_noise(data), torch.zeros(3))
