"""Modes of action, and information between labellings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diacritic.need.classes import entropy, information, majority, same, split
from diacritic.need.frame import Frame
from diacritic.need.modes import modes

LABELS = st.lists(st.integers(0, 3), min_size=2, max_size=30).map(np.array)


@given(LABELS)
def test_entropy_is_literal(labels: np.ndarray):
    shares = [labels.tolist().count(k) / len(labels) for k in set(labels.tolist())]
    assert entropy(labels) == pytest.approx(-sum(p * np.log2(p) for p in shares), abs=1e-12)


@given(LABELS, st.integers(0, 100))
def test_information_is_symmetric_and_bounded(one: np.ndarray, seed: int):
    two = np.random.default_rng(seed).integers(0, 3, len(one))
    assert information(one, two) == pytest.approx(information(two, one))
    assert -1e-9 <= information(one, two) <= min(entropy(one), entropy(two)) + 1e-9
    assert information(one, one) == pytest.approx(entropy(one))


def test_split_finds_as_many_classes_as_lie_apart():
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=120)
    parts = split(10.0 * labels[:, None] + rng.standard_normal((120, 1)))
    assert parts is not None
    assert same(parts, labels)


@pytest.mark.parametrize("draw", ["standard_normal", "random"])
def test_one_cloud_is_not_split(draw: str):
    for seed in range(10):
        assert split(20 * getattr(np.random.default_rng(seed), draw)((100, 2))) is None


def test_a_frame_that_explains_the_action_leaves_its_modes_clean():
    rng = np.random.default_rng(1)
    x, labels = rng.standard_normal((128, 3)), rng.integers(2, size=128)
    clusters, told = modes(40 * x[:, :1] + 15.0 * labels[:, None] + rng.standard_normal((128, 1)), Frame(x))
    assert clusters is not None
    assert same(clusters, labels)
    assert np.corrcoef(told[:, 0], x[:, 0])[0, 1] > 0.99


def test_majority_of_each_group():
    assert majority(np.array([0, 0, 1, 2]), np.array([5, 5, 5, 9])).tolist() == [0, 0, 0, 2]
