"""All later actions by one head, against a loop over steps and offsets."""

from dataclasses import replace

import pytest
import torch
from carrier_twin import NARROW, head, one_of, scene, schedule_at, vectors

from certify.errors import UserError
from diacritic.training.objectives.later_actions import AllLaterActions


@pytest.mark.parametrize("target", ["forecast", "recorded"])
def test_squares_are_summed_over_offsets_and_numbers(target: str) -> None:
    data = vectors(5, 3)
    assert data.forecast is not None
    term = AllLaterActions(target, numbers="sum")  # pyright: ignore[reportArgumentType]
    at = scene([term], data, NARROW)
    values = {}
    for s, t, n in at.steps:
        told = head(one_of(at.parameters, s), "later", at.features(s, t, n), at.vector(s, t, n)).view(4, 2)
        wanted = [
            data.forecast[0, t, n, j - 1] if target == "forecast" else data.target[t + j, n] for j in range(1, 5 - t)
        ]
        gaps = [(told[j] - value).square().sum() for j, value in enumerate(wanted)]
        values[s, t, n] = torch.stack(gaps).sum() if gaps else torch.zeros((), dtype=torch.float64)
    loss = term.loss(at.trace, data, at.schedule)
    torch.testing.assert_close(loss, at.schedule.auxiliary * at.literal(values), rtol=0, atol=1e-12)


def test_its_weight_falls_and_a_missing_forecast_is_named() -> None:
    data, term = vectors(5, 3), AllLaterActions(anneal=(0.4, 0.8))
    at = scene([term], data)
    whole, half = (term.loss(at.trace, data, schedule_at(2, step, 100)) for step in (0, 60))
    torch.testing.assert_close(half, 0.5 * whole, rtol=1e-5, atol=0)
    with pytest.raises(UserError, match=r"data\.forecast: the term 'all later actions' needs it"):
        term.loss(at.trace, replace(data, forecast=None), at.schedule)
