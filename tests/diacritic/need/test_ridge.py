"""Leave-one-out predictions in closed form are those of leaving each episode out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diacritic.need.ridge import PENALTIES, Floats, Ridge, linear_kernel, rich_kernel, scaled


def literally(features: Floats, targets: Floats) -> Floats:
    """Ridge regression with a free intercept, fitted again without each row; the best penalty of each column."""
    rows = len(features)
    tried = []
    for penalty in (np.inf, *PENALTIES):
        guess = np.zeros_like(targets)
        for n in range(rows):
            others = np.arange(rows) != n
            x = np.column_stack([np.ones(rows - 1), features[others] - features.mean(0)])
            size = 1e18 if penalty == np.inf else rows * penalty
            ridge = size * np.eye(x.shape[1])
            ridge[0, 0] = 0
            weights = np.linalg.solve(x.T @ x + ridge, x.T @ targets[others])
            guess[n] = np.concatenate([[1.0], features[n] - features.mean(0)]) @ weights
        tried.append(guess)
    errors = np.array([((targets - guess) ** 2).mean(0) for guess in tried])
    return np.take_along_axis(np.array(tried), errors.argmin(0)[None, None], 0)[0]


@given(st.integers(0, 2**20), st.integers(5, 14), st.integers(1, 5))
def test_leave_one_out_is_literal(seed: int, rows: int, columns: int):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((rows, columns)), rng.standard_normal((rows, 2))
    y[:, 0] += x[:, 0]
    assert Ridge(linear_kernel(x)).leave_one_out(y) == pytest.approx(literally(x, y), abs=1e-6)


def test_constant_columns_are_dropped_and_others_scaled():
    values = scaled(np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]]))
    assert values.shape == (3, 1)
    assert values.std() == pytest.approx(1)


def test_a_frame_without_channels_predicts_the_mean_of_the_others():
    kernel = rich_kernel(np.zeros((4, 0)))
    told = Ridge(kernel).leave_one_out(np.array([[0.0], [0.0], [0.0], [4.0]]))
    assert told.ravel() == pytest.approx([4 / 3, 4 / 3, 4 / 3, 0])


def test_the_rich_kernel_learns_what_the_linear_one_cannot():
    x = np.random.default_rng(0).standard_normal((80, 2))
    y = (x[:, :1] * x[:, 1:]).copy()
    linear, rich = (((y - Ridge(k(x)).leave_one_out(y)) ** 2).mean() for k in (linear_kernel, rich_kernel))
    assert rich < 0.3 * linear
