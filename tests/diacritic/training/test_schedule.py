"""Schedules and draws that depend on the step and the run alone."""

from dataclasses import replace

import pytest
import torch
from carrier_twin import schedule_at

from diacritic.training.schedule import STREAMS


@pytest.mark.parametrize(
    ("start", "end", "shares"),
    [(0.6, 0.8, (1, 1, 1, 0.5, 0, 0)), (0.0, 0.7, (1, 3 / 7, 1 / 7, 0, 0, 0)), (1, 1, (1, 1, 1, 1, 1, 1))],
)
def test_a_falling_weight(start: float, end: float, shares: tuple[float, ...]) -> None:
    for step, share in zip((0, 40, 60, 70, 80, 99), shares, strict=True):
        assert float(schedule_at(1, step, 100).falling(start, end)) == pytest.approx(share, abs=1e-5)


@pytest.mark.parametrize(("pressure", "shares"), [((0.0, 0.5), (0, 0.5, 1, 1)), ((0.0, 0.0), (1, 1, 1, 1))])
def test_rising_pressure(pressure: tuple[float, float], shares: tuple[float, ...]) -> None:
    for step, share in zip((0, 25, 50, 99), shares, strict=True):
        actual = replace(schedule_at(2, step, 100), pressure=pressure).beta
        torch.testing.assert_close(actual, share * torch.tensor([0.1, 0.2], dtype=torch.float64), rtol=1e-6, atol=0)


def test_whole_numbers_stay_below_their_limit() -> None:
    drawn = schedule_at(2, 3).integers(STREAMS["offset"], 7, 1000)
    assert drawn.shape == (2, 1000)
    assert drawn.unique().tolist() == list(range(7))


def test_draws_follow_the_step_in_place() -> None:
    """A captured update reads the schedule's tensor, so counting it up must change what is drawn."""
    schedule = schedule_at(2)
    first = schedule.uniform(0, 5)
    schedule.step.add_(1)
    assert torch.equal(schedule.uniform(0, 5), schedule_at(2, 1).uniform(0, 5))
    assert not torch.equal(schedule.uniform(0, 5), first)


def test_streams_differ() -> None:
    schedule = schedule_at(1)
    drawn = torch.stack([schedule.uniform(stream, 20)[0] for stream in STREAMS.values()])
    assert len(drawn.unique(dim=0)) == len(STREAMS)


def test_pressure_that_rises_over_updates_is_whole_at_the_last_of_them() -> None:
    for step, share in ((0, 0.25), (2, 0.75), (3, 1.0), (99, 1.0)):
        actual = replace(schedule_at(2, step, 100), pressure_updates=4).beta
        torch.testing.assert_close(actual, share * torch.tensor([0.1, 0.2], dtype=torch.float64), rtol=1e-6, atol=0)
