"""What a frame shows of a labelling."""

import numpy as np

from diacritic.need.frame import Frame
from diacritic.need.visibility import look, usable


def sight(columns: np.ndarray, labels: np.ndarray):
    return look([Frame(columns)], labels, np.random.default_rng(0), shuffles=16)[0]


def drawn(seed: int = 0) -> tuple[np.random.Generator, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng, rng.integers(4, size=96), 0.1 * rng.standard_normal((96, 5))


def test_noise_shows_nothing():
    for seed in range(8):
        _, labels, noise = drawn(seed)
        actual = sight(noise, labels)
        assert not actual.blocks.any()
        assert actual.hint == 0


def test_a_channel_shows_every_class():
    _, labels, columns = drawn()
    columns[:, 2] += labels
    assert sight(columns, labels).shows_all


def test_half_of_the_classes_are_told_apart():
    _, labels, columns = drawn()
    columns[:, 2] += labels >= 2
    actual = sight(columns, labels)
    assert actual.blocks.tolist() == [0, 0, 1, 1]
    assert 0.4 < actual.share < 0.6
    assert actual.hint == 0


def test_a_blurred_channel_hints():
    rng, labels, columns = drawn()
    labels = labels % 2
    columns[:, 2] = labels + 0.6 * rng.standard_normal(96)
    actual = sight(columns, labels)
    assert not actual.shows_all
    assert actual.hint > 0.1


def test_a_decoder_that_is_always_wrong_is_not_usable():
    labels = np.array([0, 1] * 10)
    assert usable(labels, 1 - labels) == 0
