"""Scores of codes on recorded episodes: known codes have known scores."""

import numpy as np
import pytest

from certify.errors import ModelError
from diacritic.measure.recorded import Classes, full_gate, score_codes

# Two cues: both shown at step 1, the first used at step 3, the second at step 5; every pair twice, with a nuisance.
FIRST, SECOND, NUISANCE = (np.array(x) for x in zip(*[(a, b, z) for a in (0, 1) for b in (0, 1) for z in (0, 1)], strict=True))
SYMBOLS = np.stack([4 * NUISANCE + 2 * FIRST + SECOND, 8 + 0 * FIRST, 9 + 0 * FIRST, 10 + 0 * FIRST, 11 + 0 * FIRST])
CHOICES = np.stack([0 * FIRST, 0 * FIRST, 1 + FIRST, 0 * FIRST, 3 + SECOND])
GAPS, DECISIONS = (range(1, 2), range(3, 4)), (2, 4)


@pytest.fixture(scope="module")
def classes() -> Classes:
    return Classes.of(SYMBOLS, CHOICES)


def test_the_recording_requires_two_bits_then_one(classes: Classes):
    assert classes.required == pytest.approx((0, 2, 2, 1, 1))
    assert classes.decision == pytest.approx((0, 0, 1, 0, 1))


def test_a_perfect_code_is_sufficient_without_surplus(classes: Classes):
    both = 2 * FIRST + SECOND
    codes = np.stack([both, both, both, SECOND, SECOND])
    scores = score_codes(codes, classes)
    assert full_gate(scores, GAPS, DECISIONS)
    assert [s.rate for s in scores] == pytest.approx([0, 2, 2, 1, 1])
    assert [s.surplus for s in scores] == pytest.approx([0, 0, 0, 0, 0])
    assert scores[1].sufficiency == pytest.approx(1)


def test_a_redundant_code_is_sufficient_with_surplus(classes: Classes):
    everything = 4 * NUISANCE + 2 * FIRST + SECOND
    scores = score_codes(np.stack([everything] * 5), classes)
    assert full_gate(scores, GAPS, DECISIONS)
    assert [s.surplus for s in scores] == pytest.approx([0, 1, 1, 2, 2])


def test_a_collapsed_and_a_half_code_fail(classes: Classes):
    assert not full_gate(score_codes(np.zeros_like(SYMBOLS), classes), GAPS, DECISIONS)
    half = score_codes(np.stack([FIRST] * 5), classes)
    assert half[1].sufficiency == pytest.approx(0.5)
    assert half[2].instantaneous == pytest.approx(1)
    assert half[4].instantaneous == pytest.approx(0)
    assert not full_gate(half, GAPS, DECISIONS)


def test_a_memory_recovered_late_fails_the_gap_it_slept_through(classes: Classes):
    both = 2 * FIRST + SECOND
    codes = np.stack([both, 0 * both, both, SECOND, SECOND])
    scores = score_codes(codes, classes)
    assert not full_gate(scores, GAPS, DECISIONS)
    assert full_gate(scores, GAPS[1:], DECISIONS)


def test_mismatching_shapes_are_named(classes: Classes):
    with pytest.raises(ModelError, match="codes"):
        score_codes(np.zeros((4, 8), int), classes)
    with pytest.raises(ModelError, match="choices"):
        Classes.of(SYMBOLS, CHOICES[:-1])
