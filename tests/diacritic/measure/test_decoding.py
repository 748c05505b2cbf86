"""Decoding finds what is there, and nothing beyond what is given; shuffled labels are treated as true ones."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import KFold

from certify.errors import UserError
from diacritic.measure.decoding import (
    FOLDS,
    PENALTY,
    Decoding,
    Label,
    accuracies,
    adjusted,
    bounded,
    decode,
    features,
    labels_of,
    state_table,
)
from diacritic.measure.plugin import shuffled_within

N = 96
RNG = np.random.default_rng(3)
CUE, NOISE = RNG.integers(0, 2, N), RNG.normal(size=(N, 3))
ALIKE = np.zeros(N, np.int64)


def label(values: np.ndarray, memory: np.ndarray = ALIKE, required: bool = True) -> Label:
    return Label("cue", "gap", 4, required, values, ALIKE, memory)


def test_a_label_in_the_state_is_found_with_its_bits() -> None:
    states = np.hstack([NOISE, CUE[:, None] + 0.01 * RNG.normal(size=(N, 1))])
    decoding = decode(label(CUE), states, shuffles=99)
    assert (decoding.accuracy, decoding.p, decoding.detected, decoding.rows, decoding.t) == (1.0, 0.01, True, N, 5)
    told = bounded(decoding, label(CUE), states)
    assert told.bits is not None
    assert 0.9 < told.bits <= told.hidden == pytest.approx(1.0, abs=0.02)
    assert "at least" in told.line()


def test_noise_tells_nothing() -> None:
    decoding = decode(label(CUE), NOISE, shuffles=99)
    assert decoding.detected is False
    assert bounded(decoding, label(CUE), NOISE) is decoding
    assert decode(label(CUE), np.ones((N, 4)), shuffles=19).detected is False  # a state that never varies


def test_what_gamma_tells_of_a_nuisance_does_not_count() -> None:
    """The nuisance is mostly the cue: a state with the cue alone tells much of it, but nothing beyond the cue."""
    nuisance = np.where(RNG.random(N) < 0.2, 1 - CUE, CUE)
    state = CUE[:, None] + 0.01 * RNG.normal(size=(N, 1))
    assert decode(label(nuisance), state, shuffles=99).detected is True
    beyond = label(nuisance, CUE, required=False)
    assert decode(beyond, state, shuffles=99).detected is False
    assert decode(beyond, np.hstack([state, nuisance[:, None]]), shuffles=99).detected is True


def test_a_ring_needs_the_second_probe() -> None:
    """Inside or outside a circle: no hyperplane tells it."""
    turn, far = RNG.uniform(0, 2 * np.pi, N), np.where(CUE, 2.0, 0.5)
    ring = far[:, None] * np.stack([np.cos(turn), np.sin(turn)], 1)
    assert decode(label(CUE), ring, shuffles=99).accuracy > 0.95


@settings(max_examples=4)
@given(st.integers(0, 10**6), st.integers(9, 30), st.integers(2, 4))
def test_the_literal_twin_agrees(seed: int, rows: int, count: int) -> None:
    """One label set after the other, by both regressions."""
    rng = np.random.default_rng(seed)
    inputs, sets = rng.normal(size=(rows, 2)), rng.integers(0, count, (3, rows))
    sets[:, :count] = np.arange(count)
    wanted = []
    for values in sets:
        right = {"linear": 0, "rbf": 0}
        for train, test in KFold(FOLDS, shuffle=True, random_state=0).split(inputs):
            for kernel in right:
                share = np.array([(values[train] == k).mean() for k in range(count)])
                options: dict[str, Any] = {"alpha": PENALTY, "kernel": kernel, "gamma": 1.0}
                model = KernelRidge(**options)
                model.fit(inputs[train] / np.sqrt(2), np.eye(count)[values[train]] - share)
                guess = (share + model.predict(inputs[test] / np.sqrt(2))).argmax(1)
                right[kernel] += int((guess == values[test]).sum())
        wanted.append(max(right.values()) / rows)
    assert accuracies(inputs, sets).tolist() == pytest.approx(wanted)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=30), st.integers(0, 99))
def test_labels_are_shuffled_within_what_is_given(pairs: list[tuple[int, int]], seed: int) -> None:
    given_, values = (np.array(column) for column in zip(*pairs, strict=True))
    actual = shuffled_within(values, given_, np.random.default_rng(seed))
    for cell in np.unique(given_):
        assert sorted(actual[given_ == cell]) == sorted(values[given_ == cell])


def test_shuffles_do_move_labels() -> None:
    values = np.arange(40)
    assert (shuffled_within(values, ALIKE[:40], np.random.default_rng(0)) != values).mean() > 0.8


def test_the_parts_of_gamma_are_asked_and_what_is_seen_is_not() -> None:
    one, two, z = (np.tile(np.repeat([0, 1], k), 16 // (2 * k)) for k in (1, 2, 4))
    seen = one  # the first cue is before the eyes
    hidden = {"one": one, "two": two, "z": z}
    actual = list(labels_of("gap", 3, seen, two, hidden))
    assert [(item.variable, item.required) for item in actual] == [("two", True), ("z", False)]
    actual = list(labels_of("gap", 3, seen, two + 2 * z, {"two": two}))  # nothing hidden tells the rest of Γ
    assert [(item.variable, item.required) for item in actual] == [("Γ", True)]


def test_holm_is_taken_over_nuisances_alone() -> None:
    def item(required: bool, p: float) -> Decoding:
        return Decoding("x", "gap", 1, required, N, 1.0, 0.5, 0.5, p, p, 1.0)

    actual = adjusted([item(True, 0.04), item(False, 0.02), item(False, 0.03)])
    assert [one.adjusted for one in actual] == pytest.approx([0.04, 0.04, 0.04])
    assert [one.adjusted for one in adjusted([item(True, 0.04)])] == [0.04]


def test_better_than_shuffled_but_worse_than_chance_is_not_found() -> None:
    """Probes that lean on a held-out row's twin guess it wrong: one right among many is no discovery."""
    poor = Decoding("x", "gap", 1, False, 32, 0.03, 0.5, 0.0, 0.01, 0.01, 1.0)
    assert poor.detected is False
    assert replace(poor, accuracy=0.6).detected is True


def test_few_rows_leave_the_question_open() -> None:
    some = label(np.array([0, 1, 0, 1]))
    few = decode(Label("x", "gap", 0, True, some.values, ALIKE[:4], ALIKE[:4]), NOISE[:4], shuffles=9)
    assert few.detected is None
    assert label(np.array([*CUE[:-1], 7])).obstacle() is not None
    assert label(CUE).obstacle() is None


def test_whole_numbers_are_names() -> None:
    table = state_table([(np.array([2]), [0.5]), (np.array([7]), [1.5]), (np.array([2]), [2.5])])
    assert table.tolist() == [[1, 0, 0.5], [0, 1, 1.5], [1, 0, 2.5]]
    assert state_table([None, None]).shape == (2, 0)


def test_more_columns_than_rows_lose_nothing() -> None:
    wide = RNG.normal(size=(12, 40))
    turned = features(wide)
    assert turned.shape == (12, 12)
    unit = (wide - wide.mean(0)) / wide.std(0)
    np.testing.assert_allclose(turned @ turned.T, unit @ unit.T, atol=1e-9)


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda: state_table([[0.5], [0.5, 1.0]]), r"policy\.state: has different sizes in different episodes"),
        (lambda: decode(label(CUE), NOISE[:5]), r"states: shape \(5, 3\) beside 96 labels"),
    ],
)
def test_bad_input_is_refused_in_one_line(act: Any, said: str) -> None:
    with pytest.raises(UserError, match=said):
        act()
