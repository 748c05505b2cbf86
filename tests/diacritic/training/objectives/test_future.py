"""Event-agnostic supervision: offsets, masks and annealing, against a loop over steps."""

from dataclasses import replace
from itertools import product

import pytest
import torch
from carrier_twin import NARROW, TINY, Scene, error, gradients, head, one_of, scene, schedule_at, symbols, vectors
from torch import Tensor

from certify.errors import UserError
from diacritic.training import tables
from diacritic.training.data import Data
from diacritic.training.objectives.future import FutureBehaviour
from diacritic.training.schedule import STREAMS


def _wanted(data: Data, target: str, s: int, t: int, n: int, j: int) -> Tensor:
    if target == "recorded":
        return data.target[t + j, n]
    assert data.forecast is not None
    return data.forecast[s % len(data.forecast), t, n, j - 1]


def _at(at: Scene, target: str, s: int, t: int, n: int, j: int) -> Tensor:
    """ℓ at offset j, nothing beyond the end."""
    if t + j >= at.data.horizon:
        return torch.zeros((), dtype=torch.float64)
    p = one_of(at.parameters, s)
    prediction = head(p, "future", at.features(s, t, n), at.vector(s, t, n), p["future.offset"][j])
    return error(prediction, _wanted(at.data, target, s, t, n, j), at.data.shape.symbolic)


@pytest.mark.parametrize("target", ["forecast", "recorded"])
@pytest.mark.parametrize("data", [vectors(5, 3), symbols(5, 3)])
def test_one_drawn_offset_for_each_episode_and_step(data: Data, target: str) -> None:
    term = FutureBehaviour(target)  # pyright: ignore[reportArgumentType]
    at = scene([term], data)
    offsets = 1 + (at.schedule.uniform(STREAMS["offset"], 5, 3) * 4).long()
    assert set(offsets.flatten().tolist()) == {1, 2, 3, 4}
    values = {(s, t, n): _at(at, target, s, t, n, int(offsets[s, t, n])) for s, t, n in at.steps}
    loss = term.loss(at.trace, data, at.schedule)
    torch.testing.assert_close(loss, at.schedule.auxiliary * at.literal(values), rtol=0, atol=1e-12)


@pytest.mark.parametrize("tabled", [False, True])
def test_every_draw_of_a_demonstration_has_offsets_of_its_own(tabled: bool) -> None:
    """Equal demonstrations are one episode with a count; the literal loop goes over the draws one by one."""
    data, draws = symbols(5, 3), 7
    term = FutureBehaviour("recorded", each_draw=True)
    at = scene([term], data)
    counts = torch.tensor([[4, 0, 3], [1, 5, 1]])
    trace = replace(at.trace, episode_weight=counts.double() / draws, draws=draws)
    if tabled:
        rows = tables.trace(at.parameters, TINY, data, tables.prepare(data), trace.episode_weight, full=True)
        trace = replace(rows, draws=draws)
    offsets = 1 + (at.schedule.uniform(STREAMS["offset"], 5, draws) * 4).long()
    total = [torch.zeros((), dtype=torch.float64) for _ in range(2)]
    for s in range(2):
        episodes = torch.arange(3).repeat_interleave(counts[s])
        for t, d in product(range(5), range(draws)):
            total[s] = total[s] + _at(at, "recorded", s, t, int(episodes[d]), int(offsets[s, t, d])) / (5 * draws)
    loss, wanted = term.loss(trace, data, at.schedule), at.schedule.auxiliary * torch.stack(total)
    torch.testing.assert_close(loss, wanted, rtol=0, atol=1e-12)
    expected = gradients(wanted.sum(), at.parameters)
    for name, gradient in gradients(loss.sum(), at.parameters).items():
        torch.testing.assert_close(gradient, expected[name], rtol=0, atol=1e-12)


def test_offsets_are_drawn_anew_at_every_step_and_in_every_run() -> None:
    draws = [schedule_at(2, step).integers(STREAMS["offset"], 9, 30, 20) for step in (0, 1)]
    assert not torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0][0], draws[0][1])
    counts = torch.stack([(draws[0] == k).sum() for k in range(9)])
    assert counts.min() > 1200 / 9 * 0.6


@pytest.mark.parametrize(
    ("anneal", "shares"),
    [((0.6, 0.8), (1, 1, 0.5, 0, 0)), ((0.4, 0.6), (1, 1, 0, 0, 0)), ((1, 1), (1, 1, 1, 1, 1))],
)
def test_the_weight_is_held_and_brought_to_nothing(anneal: tuple[float, float], shares: tuple[float, ...]) -> None:
    data = symbols(5, 3)
    term = FutureBehaviour("recorded", anneal)
    at = scene([term], data)
    for step, share in zip((0, 40, 70, 80, 99), shares, strict=True):
        now = schedule_at(2, step, 100)
        actual, whole = (one.loss(at.trace, data, now) for one in (term, FutureBehaviour("recorded", (1, 1))))
        torch.testing.assert_close(actual, share * whole, rtol=1e-5, atol=1e-6)


def test_runs_have_forecasts_of_their_own_where_there_are_some() -> None:
    data = vectors(5, 3)
    assert data.forecast is not None
    term = FutureBehaviour()
    pair = data.forecast, -data.forecast
    both = replace(data, forecast=torch.cat(pair))
    at = scene([term], data)
    own = [term.loss(at.trace, replace(data, forecast=part), at.schedule) for part in pair]
    loss = term.loss(at.trace, both, at.schedule)
    assert torch.equal(loss, torch.stack([own[0][0], own[1][1]]))


def test_without_a_forecast_it_says_so() -> None:
    data = replace(vectors(5, 3), forecast=None)
    at = scene([FutureBehaviour()], data)
    with pytest.raises(UserError, match=r"data\.forecast: the term 'future behaviour' needs it"):
        FutureBehaviour().loss(at.trace, data, at.schedule)


def test_in_the_release_an_offset_is_an_input_beside_the_others_and_numbers_are_summed() -> None:
    data, term = vectors(5, 3), FutureBehaviour(numbers="sum")
    at = scene([term], data, NARROW)
    offsets = 1 + (at.schedule.uniform(STREAMS["offset"], 5, 3) * 4).long()
    values = {}
    for s, t, n in at.steps:
        p, j = one_of(at.parameters, s), int(offsets[s, t, n])
        values[s, t, n] = torch.zeros((), dtype=torch.float64)
        if t + j < 5:
            parts = torch.cat([at.features(s, t, n), at.vector(s, t, n), p["future.offset"][j]])
            names = ("observation", "code", "told")
            matrix = torch.cat([p[f"future.{name}.weight"] for name in names])
            hidden = (parts @ matrix + p["future.observation.bias"]).relu()
            prediction = hidden @ p["future.out.weight"] + p["future.out.bias"]
            values[s, t, n] = (prediction - _wanted(data, "forecast", s, t, n, j)).square().sum()
    loss = term.loss(at.trace, data, at.schedule)
    torch.testing.assert_close(loss, at.schedule.auxiliary * at.literal(values), rtol=0, atol=1e-12)
