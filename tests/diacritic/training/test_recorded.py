"""Recordings as data: standardised, with the previous action of each step, and back again."""

import numpy as np
import pytest
import torch

from certify.errors import UserError
from diacritic.training.recorded import from_recording

MADE = np.random.default_rng(0)
SEEN = MADE.normal(3, 2, (5, 7, 4)).astype(np.float32)
ACTED = MADE.normal(-1, 0.5, (5, 7, 2)).astype(np.float32)
SEEN[..., 3] = 1.0  # a channel that never moves


def test_everything_is_standardised_and_can_be_undone():
    data, scale = from_recording(SEEN, ACTED)
    assert data.target.mean((0, 1)).abs().max() < 1e-5
    assert (data.target.std((0, 1)) - 1).abs().max() < 1e-3
    assert torch.isfinite(data.observation).all()
    assert torch.allclose(scale.act(data.target), torch.from_numpy(ACTED), atol=1e-5)


def test_the_previous_action_is_that_of_the_step_before():
    data, _ = from_recording(SEEN, ACTED)
    previous = data.previous[data.previous_index]
    assert torch.equal(previous[0], torch.zeros(7, 2))
    assert torch.equal(previous[1:], data.target[:-1])
    assert tuple(data.observation[data.observation_index].shape) == (5, 7, 4)


def test_symbols_choices_and_labels_come_along():
    symbols, choices = np.arange(35).reshape(5, 7) % 6, np.arange(35).reshape(5, 7) % 3
    data, _ = from_recording(SEEN, ACTED, symbols, choices, np.arange(7) % 4, decisions=(2, 4), last_reveal=1)
    assert (data.shape.symbols, data.shape.classes, data.shape.labels) == (6, 3, 4)
    assert data.decisions == (2, 4)
    assert data.symbol is not None
    assert data.symbol.dtype == torch.int64


def test_what_is_not_finite_and_what_does_not_fit_is_refused():
    broken = SEEN.copy()
    broken[2, 3, 1] = np.nan
    with pytest.raises(UserError, match="observations"):
        from_recording(broken, ACTED)
    with pytest.raises(UserError, match="steps"):
        from_recording(SEEN, ACTED[:4])
