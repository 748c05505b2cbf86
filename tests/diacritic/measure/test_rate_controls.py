"""Controls behind a rate: a code that copies the object's first place is found out, a code of the classes is not."""

import numpy as np
import pytest
from counting_twin import Recording, literal_entropy, recordings
from hypothesis import given
from hypothesis import strategies as st

from certify.errors import UserError
from diacritic.demos.record import record
from diacritic.files.demos import Demos
from diacritic.measure.rate_controls import rate_controls, resampled_entropy, window_intervals
from diacritic.measure.recorded import Classes, score_cohort
from diacritic.measure.verdict import Control
from diacritic.tasks.registry import make as make_task

TASK = make_task("two-cues", gap=1, first_gap=1)
WINDOWS = {name: tuple(steps) for name, steps in TASK.windows.items()}


@pytest.fixture(scope="module")
def demos() -> Demos:
    return record(TASK, 96, seed=1)[0]


def controls(demos: Demos, codes: np.ndarray) -> dict[str, Control]:
    actual = rate_controls(codes, Classes.of(demos.symbols, demos.choices), demos, TASK, WINDOWS)
    assert all(control.part == "rate" for control in actual)
    return {control.name: control for control in actual}


def test_a_code_of_the_classes_alone_has_no_surplus_to_explain(demos: Demos) -> None:
    listed = controls(demos, np.broadcast_to(demos.latents["theta"] % 4, demos.symbols.shape))
    assert listed["interval, gap1"].data[0] == pytest.approx(2, abs=0.1)
    assert listed["resolution, gap1"].passed is True
    assert "surplus content, gap1" not in listed
    assert listed["content, gap1"].data["I(C;side|slot)"] == pytest.approx(1, abs=0.1)


def test_a_code_that_copies_the_first_place_says_so(demos: Demos) -> None:
    copied = TASK.initial_state(demos.observations)[:, 0]
    spare = (copied > np.median(copied)).astype(np.int64)
    listed = controls(demos, np.broadcast_to(2 * (demos.latents["theta"] % 4) + spare, demos.symbols.shape))
    control = listed["surplus content, gap2"]
    explained = control.data["the initial state"]
    assert 0.4 < explained < 2  # of side and spare bit, which nobody needs there
    assert control.passed is None
    assert f"the initial state explains at least {explained:.2f} of " in control.text
    assert listed["content, gap2"].data["I(C;x quartile|slot)"] > 0.8


rows = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=12)


@given(rows.filter(lambda actual: any(row[2] for row in actual)))
def test_weights_repeat_episodes(drawn: list[tuple[int, int, int]]) -> None:
    x, y, times = (np.array(column) for column in zip(*drawn, strict=True))
    bits = resampled_entropy(x, y, np.stack([times, np.ones_like(times)]).astype(float))
    assert bits[0] == pytest.approx(literal_entropy(np.repeat(x, times).tolist(), np.repeat(y, times).tolist()))
    assert bits[1] == pytest.approx(literal_entropy(x.tolist(), y.tolist()))


@given(recordings(), st.integers(0, 20))
def test_estimates_are_those_of_the_scores_and_lie_inside(recording: Recording, seed: int) -> None:
    classes = Classes.of(*recording)
    codes = np.random.default_rng(seed).integers(0, 3, classes.symbols.shape)
    scored, steps = score_cohort(codes[None], classes), range(len(codes))
    intervals = window_intervals(codes, classes, steps, replicates=20)
    assert intervals.rate.value == pytest.approx(scored.rate.mean())
    for interval in (intervals.rate, intervals.surplus):
        if interval is not None:
            assert 0 <= interval.low <= interval.value <= interval.high
    if classes.loose:
        assert intervals.surplus is None
        return
    assert intervals.surplus is not None
    assert intervals.surplus.value == pytest.approx(scored.surplus.mean())


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    hits = 0
    for seed in range(60):
        codes = (np.random.default_rng(seed).random((1, 150)) < 0.2).astype(int)
        classes = Classes.of(np.zeros((1, 150), int), np.zeros((1, 150), int))
        rate = window_intervals(codes, classes, (0,), replicates=200, seed=seed).rate
        hits += rate.low <= 0.7219 <= rate.high
    assert 51 <= hits


def test_steps_of_one_episode_are_redrawn_together() -> None:
    random = np.random.default_rng(0)
    same = np.tile((random.random(100) < 0.3).astype(int), (8, 1))
    apart = (random.random((8, 100)) < 0.3).astype(int)
    classes = Classes.of(np.zeros((8, 100), int), np.zeros((8, 100), int))
    wide, narrow = (window_intervals(codes, classes, range(8)).rate for codes in (same, apart))
    assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)


def test_a_perfect_code_has_no_doubt_about_its_surplus() -> None:
    cue = np.array([0, 1] * 20)
    classes = Classes.of(np.stack([cue, 0 * cue + 5]), np.stack([0 * cue, 1 + cue]))
    actual = window_intervals(np.stack([cue, cue]), classes, (1,))
    assert actual.surplus == (0, 0, 0)
    assert actual.rate.value == 1
    assert actual.rate.low < 1


def test_bad_input_is_named() -> None:
    classes = Classes.of(np.zeros((2, 3), int), np.zeros((2, 3), int))
    with pytest.raises(UserError, match="codes: shape"):
        window_intervals(np.zeros((2, 4), int), classes, (0,))
    with pytest.raises(UserError, match="steps: the window has no steps"):
        window_intervals(np.zeros((2, 3), int), classes, ())
