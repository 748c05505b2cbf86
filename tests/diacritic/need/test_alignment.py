"""Clocks for episodes of unequal length."""

import numpy as np
import pytest

from certify.errors import UserError
from diacritic.demos.readers import from_arrays
from diacritic.files.demos import Demos
from diacritic.need.alignment import align


def uneven(**more: object) -> Demos:
    rng = np.random.default_rng(0)
    mask = np.arange(12)[:, None] < np.array([12, 8, 10, 6])[None]
    return from_arrays(rng.standard_normal((12, 4, 2)), rng.standard_normal((12, 4, 1)), mask=mask, **more)  # pyright: ignore[reportArgumentType]


def test_by_step_ends_with_the_shortest_episode():
    data = align(uneven(), "step")
    assert (data.steps, data.clock) == (6, "step")
    assert (data.index == np.arange(6)[:, None]).all()


def test_by_progress_begins_and_ends_with_every_episode():
    data = align(uneven())
    assert data.clock == "progress"
    assert data.index[0].tolist() == [0, 0, 0, 0]
    assert data.index[-1].tolist() == [11, 7, 9, 5]
    assert (np.diff(data.index, axis=0) >= 0).all()


def test_by_phase_every_phase_begins_together():
    begin = np.array([5, 3, 4, 2])
    phase = (np.arange(12)[:, None] >= begin[None]).astype(np.uint8)
    data = align(uneven(phase=phase), "phase")
    first = int((phase[data.index, np.arange(4)][:, 0] == 0).sum())
    assert data.index[first].tolist() == begin.tolist()


def test_by_events_the_expert_starts_to_act_together():
    demos = uneven()
    begin = np.array([6, 4, 5, 3])
    acting = np.arange(12)[:, None, None] >= begin[None, :, None]
    moved = from_arrays(demos.observations, np.where(acting, 1.0, 0.01 * demos.actions), mask=demos.mask)
    data = align(moved, "events")
    assert begin.tolist() in data.index.tolist()


def test_recent_frames_are_raw_ones():
    demos = uneven()
    data = align(demos)
    expected = demos.observations[data.index[3] - 1, np.arange(4)]
    assert data.recent(3, data.observations)[0] == pytest.approx(
        (expected - expected.mean(0)) / expected.std(0), abs=1e-4
    )


@pytest.mark.parametrize(
    ("clock", "said"), [("dawn", "is not a clock"), ("phase:9", "beyond the 2"), ("step:1", "not a clock")]
)
def test_an_unknown_clock_is_refused(clock: str, said: str):
    with pytest.raises(UserError, match=said):
        align(uneven(), clock)


def test_unequal_segments_are_refused():
    phase = np.zeros((12, 4), np.uint8)
    phase[3:, 0] = 1
    with pytest.raises(UserError, match="1 to 2 segments by phase"):
        align(uneven(phase=phase), "phase")
