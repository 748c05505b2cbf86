"""Cues that decide together."""

import numpy as np

from diacritic.need.classes import same
from diacritic.need.cues import class_columns, deciding_cues


def bits(number: int, episodes: int = 64) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [rng.integers(2, size=episodes) for _ in range(number)]


def test_columns_in_classes_are_found_once():
    (a, b), rng = bits(2), np.random.default_rng(0)
    columns = np.column_stack([a - 0.5, 0.5 - a, b - 0.5]) * 2 + 0.05 * rng.standard_normal((64, 3))
    actual = class_columns(np.column_stack([columns, rng.standard_normal((64, 10))]))
    assert len(actual) == 2
    assert {any(same(labels, truth) for labels in actual) for truth in (a, b)} == {True}


def test_exclusive_or_of_two_and_of_three():
    cues = bits(6)
    for used in (cues[:2], cues[1:4]):
        p, chosen = deciding_cues(sum(used, np.zeros(64, np.int64)) % 2, cues, 20)
        assert p < 1e-6
        assert {id(cue) for cue in chosen} == {id(cue) for cue in used}


def test_a_count_needs_every_cue():
    cues = bits(5)
    assert len(deciding_cues(sum(cues[:3], np.zeros(64, np.int64)), cues, 20)[1]) == 3


def test_unrelated_cues_decide_nothing():
    *cues, labels = bits(9)
    assert deciding_cues(labels, cues, 20)[1] == []
