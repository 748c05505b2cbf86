"""Scores of codes on recorded episodes: known codes have known scores."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator
from itertools import combinations
from math import fsum, log2

import numpy as np
import pytest
from counting_twin import Recording, literal_cohort, recordings
from hypothesis import given
from hypothesis import strategies as st

from certify.errors import UserError
from diacritic.measure.gates import full
from diacritic.measure.recorded import Classes, CohortScores, score_cohort
from diacritic.measure.windows import Windows

# Two cues: both shown at step 1, the first used at step 3, the second at step 5; every pair twice, with a nuisance.
FIRST, SECOND, NUISANCE = (
    np.array(x) for x in zip(*[(a, b, z) for a in (0, 1) for b in (0, 1) for z in (0, 1)], strict=True)
)
SYMBOLS = np.stack([4 * NUISANCE + 2 * FIRST + SECOND, 8 + 0 * FIRST, 9 + 0 * FIRST, 10 + 0 * FIRST, 11 + 0 * FIRST])
CHOICES = np.stack([0 * FIRST, 0 * FIRST, 1 + FIRST, 0 * FIRST, 3 + SECOND])
GAPS, DECISIONS = (range(1, 2), range(3, 4)), (2, 4)


def one(codes: np.ndarray, classes: Classes) -> CohortScores:
    """The scores of a single run."""
    return score_cohort(codes[None], classes)


def passes(scores: CohortScores, gaps: tuple[range, ...] = GAPS) -> bool:
    windows = Windows({f"gap {k + 1}": tuple(gap) for k, gap in enumerate(gaps)}, {f"step {t}": t for t in DECISIONS})
    return bool(full(windows).passes(scores.sufficiency, scores.instantaneous)[0])


@pytest.fixture(scope="module")
def classes() -> Classes:
    return Classes.of(SYMBOLS, CHOICES)


def test_the_recording_requires_two_bits_then_one(classes: Classes):
    assert classes.required == pytest.approx((0, 2, 2, 1, 1))
    assert classes.decision == pytest.approx((0, 0, 1, 0, 1))


def test_a_perfect_code_is_sufficient_without_surplus(classes: Classes):
    both = 2 * FIRST + SECOND
    codes = np.stack([both, both, both, SECOND, SECOND])
    scores = one(codes, classes)
    assert passes(scores)
    assert scores.rate[0] == pytest.approx([0, 2, 2, 1, 1])
    assert scores.surplus[0] == pytest.approx([0, 0, 0, 0, 0])
    assert scores.sufficiency[0, 1] == pytest.approx(1)


def test_a_redundant_code_is_sufficient_with_surplus(classes: Classes):
    everything = 4 * NUISANCE + 2 * FIRST + SECOND
    scores = one(np.stack([everything] * 5), classes)
    assert passes(scores)
    assert scores.surplus[0] == pytest.approx([0, 1, 1, 2, 2])


def test_a_collapsed_and_a_half_code_fail(classes: Classes):
    assert not passes(one(np.zeros_like(SYMBOLS), classes))
    half = one(np.stack([FIRST] * 5), classes)
    assert half.sufficiency[0, 1] == pytest.approx(0.5)
    assert half.instantaneous[0, 2] == pytest.approx(1)
    assert half.instantaneous[0, 4] == pytest.approx(0)
    assert not passes(half)


def test_a_memory_recovered_late_fails_the_gap_it_slept_through(classes: Classes):
    both = 2 * FIRST + SECOND
    codes = np.stack([both, 0 * both, both, SECOND, SECOND])
    scores = one(codes, classes)
    assert not passes(scores)
    assert passes(scores, GAPS[1:])


def test_mismatching_shapes_are_named(classes: Classes):
    with pytest.raises(UserError, match="codes"):
        one(np.zeros((4, 8), int), classes)
    with pytest.raises(UserError, match="choices"):
        Classes.of(SYMBOLS, CHOICES[:-1])


# ---- many runs at once


@given(recordings(), st.integers(0, 99))
def test_a_cohort_scores_as_every_run_counted_by_hand(recording: Recording, seed: int) -> None:
    classes = Classes.of(*recording)
    codes = np.random.default_rng(seed).integers(0, 4, (3, *classes.symbols.shape))
    codes[1] = classes.memory % 3
    scored = score_cohort(codes, classes)
    for k, run in enumerate(literal_cohort(codes, classes)):
        for t, step in enumerate(run):
            for name, value in step._asdict().items():
                if name in ("rate", "corrected_rate", "instantaneous") or t not in classes.loose:
                    assert getattr(scored, name)[k, t] == pytest.approx(value, abs=1e-12, nan_ok=True), name
    assert scored.required.tolist() == list(classes.required)


def test_some_episodes_keep_their_classes_and_are_counted_anew(classes: Classes) -> None:
    part = classes.take(slice(0, 4))  # the first cue is 0 throughout
    assert (part.memory == classes.memory[:, :4]).all()
    assert part.required == pytest.approx((0, 1, 1, 1, 1))
    assert part.decision == pytest.approx((0, 0, 0, 0, 1))


@pytest.mark.parametrize(
    ("codes", "codebook", "message"),
    [
        (np.zeros((2, 5, 7), int), None, "codes: shape .* 5 steps of 8 episodes"),
        (np.zeros((2, 5, 8)), None, "codes: expected whole numbers"),
        (np.full((1, 5, 8), -1), None, "codes: the entry -1 is not a code"),
        (np.full((1, 5, 8), 16), 16, "codes: the entry 16 is not a code; expected 0…15"),
        (np.zeros((5, 8), int), None, "codes: expected whole numbers"),
    ],
)
def test_codes_that_do_not_fit_are_refused(classes: Classes, codes: np.ndarray, codebook: int, message: str) -> None:
    with pytest.raises(UserError, match=message):
        score_cohort(codes, classes, codebook)


# ---- without classes


def _least_entropy(cell: Counter[tuple[int, ...]]) -> float:
    """H_χ of histories, each named by its answers (−1: never asked), by trying every partition."""

    def fits(block: list[tuple[int, ...]]) -> bool:
        return all(x == y or -1 in (x, y) for h, k in combinations(block, 2) for x, y in zip(h, k, strict=True))

    def partitions(items: list[tuple[int, ...]]) -> Iterator[list[list[tuple[int, ...]]]]:
        if not items:
            yield []
            return
        for rest in partitions(items[1:]):
            yield [[items[0]], *rest]
            for k, block in enumerate(rest):
                yield [*rest[:k], [items[0], *block], *rest[k + 1 :]]

    total = sum(cell.values())
    shares = (
        [sum(cell[h] for h in block) / total for block in blocks]
        for blocks in partitions(list(cell))
        if all(fits(block) for block in blocks)
    )
    return min(-fsum(p * log2(p) for p in part) for part in shares)


answers = st.lists(st.lists(st.integers(-1, 1), min_size=3, max_size=3), min_size=2, max_size=5)


@given(answers, st.integers(0, 99))
def test_without_classes_the_score_is_what_the_best_colouring_leaves(rows: list[list[int]], seed: int) -> None:
    """A cue, a step that looks the same to all, then one of three questions that not every cue is asked."""
    asked = [(cue, q, a) for cue, row in enumerate(rows) for q, a in enumerate(row) if a >= 0]
    if not asked:
        return
    random = np.random.default_rng(seed)
    cue, question, answer = np.repeat(np.array(asked), random.integers(1, 4, len(asked)), axis=0).T
    symbols = np.stack([cue, np.full_like(cue, 9), 10 + question])
    classes = Classes.of(symbols, np.stack([0 * cue, 0 * cue, 1 + answer]))
    codes = random.integers(0, 2, (2, *symbols.shape))
    codes[1] = cue
    scored = score_cohort(codes, classes)
    history = [tuple(rows[c]) for c in cue.tolist()]

    def needed(cells: list[Hashable]) -> float:
        inside: defaultdict[Hashable, Counter[tuple[int, ...]]] = defaultdict(Counter)
        for cell, h in zip(cells, history, strict=True):
            inside[cell][h] += 1
        return fsum(sum(cell.values()) / len(history) * _least_entropy(cell) for cell in inside.values())

    whole = needed([0] * len(history))
    assert classes.required[1] == pytest.approx(whole, abs=1e-9)
    for k in range(2):
        left = needed(codes[k, 1].tolist())
        score = scored.sufficiency[k, 1]
        assert np.isnan(score) == (whole < 1e-9)
        if whole >= 1e-9:
            assert score == pytest.approx(1 - left / whole, abs=1e-9)
            assert 0 <= score <= 1
            assert (score == 1) == (left == 0)
    if 1 in classes.loose:
        assert np.isnan(scored.surplus[:, 1]).all()


def test_the_three_histories_without_classes() -> None:
    """a ~ b ~ c, but a and c answer the second question differently: two codes are enough, one is not."""
    cue = np.array([0, 0, 1, 1, 2, 2])
    question = np.array([0, 1, 0, 0, 1, 1])
    answer = np.array([0, 0, 0, 0, 1, 1])
    classes = Classes.of(
        np.stack([cue, np.full(6, 9), 10 + question]), np.stack([np.zeros(6, int), np.zeros(6, int), 1 + answer])
    )
    assert list(classes.loose) == [1]
    assert classes.required[1] == pytest.approx(-(2 / 3) * log2(2 / 3) - (1 / 3) * log2(1 / 3))
    codes = np.stack([np.zeros((3, 6), int), np.tile(cue // 2, (3, 1))])
    assert score_cohort(codes, classes).sufficiency[:, 1] == pytest.approx([0, 1])
