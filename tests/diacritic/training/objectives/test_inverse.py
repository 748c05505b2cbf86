"""Multi-step inverse dynamics against a loop over steps."""

import pytest
import torch
from carrier_twin import NARROW, error, head, one_of, scene, symbols, vectors

from diacritic.training.data import Data
from diacritic.training.objectives.inverse import Inverse
from diacritic.training.schedule import STREAMS


@pytest.mark.parametrize("reach", [1, 2, 8])
@pytest.mark.parametrize("data", [vectors(5, 3), symbols(5, 3)])
def test_the_action_between_two_observations(data: Data, reach: int) -> None:
    term = Inverse(reach)
    at = scene([term], data)
    high = min(reach, 4)
    offsets = 1 + (at.schedule.uniform(STREAMS["inverse"], 5, 3) * high).long()
    assert int(offsets.max()) == high
    values = {}
    for s, t, n in at.steps:
        j = int(offsets[s, t, n])
        values[s, t, n] = torch.zeros((), dtype=torch.float64)
        if t + j < 5:
            p = one_of(at.parameters, s)
            later = at.features(s, t + j, n) @ p["inverse.later.weight"]
            prediction = head(p, "inverse", at.features(s, t, n), at.vector(s, t, n), later)
            values[s, t, n] = error(prediction, data.target[t, n], data.shape.symbolic)
    loss = term.loss(at.trace, data, at.schedule)
    torch.testing.assert_close(loss, at.schedule.auxiliary * at.literal(values), rtol=0, atol=1e-12)


def test_in_the_release_offsets_are_cut_at_the_end_and_told_to_the_head() -> None:
    data, term = vectors(5, 3), Inverse(ends="cut")
    at = scene([term], data, NARROW)
    drawn = 1 + (at.schedule.uniform(STREAMS["inverse"], 5, 3) * 4).long()
    values = {}
    for s, t, n in at.steps:
        p, j = one_of(at.parameters, s), min(int(drawn[s, t, n]), 4 - t)
        values[s, t, n] = torch.zeros((), dtype=torch.float64)
        if t < 4:
            extra = at.features(s, t + j, n) @ p["inverse.later.weight"]
            extra = extra + p["inverse.offset"][j] @ p["inverse.told.weight"]
            prediction = head(p, "inverse", at.features(s, t, n), at.vector(s, t, n), extra)
            values[s, t, n] = error(prediction, data.target[t, n], False)
    loss = term.loss(at.trace, data, at.schedule)
    torch.testing.assert_close(loss, at.schedule.auxiliary * at.literal(values), rtol=0, atol=1e-12)
