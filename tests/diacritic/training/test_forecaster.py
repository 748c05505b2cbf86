"""The forecaster: its targets, what it learns on a task of two cues, and wrong forecasts on purpose."""

import gc
import weakref

import pytest
import torch
from torch import Tensor

from certify.errors import UserError
from diacritic.memory import full_history
from diacritic.memory.layers import linear
from diacritic.memory.shape import Shape
from diacritic.training import forecaster
from diacritic.training.data import Data
from diacritic.training.forecaster import Form
from diacritic.training.preset import preset
from diacritic.training.randomness import initial

T = 8
CUE, FIRST, LAST = 2, 4, 7  # the cue's second bit shows at step 2; its bits are used at steps 4 and 7
QUICK = Form(rate=2e-3)
VECTORS, SYMBOLS = Shape(3, 3, horizon=T), Shape(3, 3, symbolic=True, horizon=T)


def _data(shape: Shape, observations: Tensor, previous: Tensor, actions: Tensor, frames: Tensor | None = None) -> Data:
    """Episodes [T, N, ·] as they are."""
    steps, episodes = actions.shape[:2]
    row = torch.arange(steps * episodes).view(steps, episodes)
    tables = observations.flatten(0, 1), row, previous.flatten(0, 1), row
    shown = None if frames is None else frames.flatten(0, 1)
    return Data(shape, *tables, torch.full((episodes,), 1 / episodes), actions, frames=shown)


def _two_cues(second: tuple[int, ...] = (0, 1)) -> tuple[Tensor, Tensor, Tensor]:
    """An episode for each pair of bits: b1 shows at step 0, b2 at step 2; actions are wait, left and right."""
    pairs = torch.tensor([(one, two) for one in (0, 1) for two in second])
    return _episodes(pairs[:, 0], pairs[:, 1])


def _episodes(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    observations = torch.zeros(T, len(first), 3)
    observations[0, :, 0] = 2.0 * first - 1
    observations[CUE, :, 1] = 2.0 * second - 1
    observations[[FIRST, LAST], :, 2] = 1.0
    actions = torch.zeros(T, len(first), dtype=torch.int64)
    actions[FIRST], actions[LAST] = first + 1, second + 1
    law = torch.nn.functional.one_hot(actions, 3).float()
    return observations, torch.cat([torch.zeros_like(law[:1]), law[:-1]]), law


def test_every_offset_is_the_future_and_nothing_beyond() -> None:
    targets = forecaster.every_offset(T)
    asked = {(t, int(targets.when[t, 0, j])) for t in range(T) for j in range(T - 1) if targets.asked[t, 0, j]}
    assert asked == {(t, u) for t in range(T) for u in range(t + 1, T)}
    assert all(
        int(targets.when[t, 0, j]) == t + j + 1 for t in range(T) for j in range(T - 1) if targets.asked[t, 0, j]
    )


def test_decisions_are_asked_from_the_reveal_until_reached() -> None:
    targets = forecaster.decisions(T, torch.tensor([FIRST, LAST]), since=CUE)
    assert targets.asked[:, 0, 0].nonzero().flatten().tolist() == [2, 3]
    assert targets.asked[:, 0, 1].nonzero().flatten().tolist() == [2, 3, 4, 5, 6]
    assert (targets.when[:, 0] == torch.tensor([FIRST, LAST])).all()
    of_each = forecaster.decisions(T, torch.tensor([[3], [5]]))
    assert of_each.asked[:, :, 0].sum(0).tolist() == [3, 5]


def test_recorded_targets_are_the_actions_of_their_steps() -> None:
    actions = torch.arange(T * 4 * 2, dtype=torch.float64).view(T, 4, 2)
    targets = forecaster.every_offset(T)
    got = forecaster.recorded(actions, targets)
    for t in range(T):
        for j in range(T - 1 - t):
            assert torch.equal(got[t, :, j], actions[t + j + 1])
    each = forecaster.decisions(T, torch.tensor([[1], [2], [3], [4]]))
    assert torch.equal(forecaster.recorded(actions, each)[0, :, 0], torch.stack([actions[n + 1, n] for n in range(4)]))


def test_it_learns_conditional_means_of_every_offset() -> None:
    data, targets = _data(VECTORS, *_two_cues((0, 0, 0, 1))), forecaster.every_offset(T)
    trained = forecaster.train_forecaster(data, targets, [0, 1], 150, QUICK)
    got = forecaster.forecast(trained, data, targets)
    want = forecaster.recorded(data.target, targets).clone()
    # b1 is known from the first step; b2 is one coin, three to one, until its cue
    unknown = (targets.when == LAST) & (torch.arange(T).view(-1, 1, 1) < CUE) & targets.asked
    want[unknown.expand(-1, 8, -1)] = torch.tensor([0.0, 0.75, 0.25])
    worst = ((got - want).abs().amax(-1) * targets.asked).amax()
    assert worst < 0.15, worst


def test_it_learns_the_probabilities_of_pending_symbols() -> None:
    data, targets = _data(SYMBOLS, *_two_cues()), forecaster.decisions(T, torch.tensor([FIRST, LAST]))
    trained = forecaster.train_forecaster(data, targets, [3], 120, QUICK)
    got, actions = forecaster.forecast(trained, data, targets)[0], data.target
    torch.testing.assert_close(got.sum(-1), torch.ones(T, 4, 2))
    assert ((got[1, :, 0] - actions[FIRST]).abs() < 0.1).all()
    assert ((got[3, :, 1] - actions[LAST]).abs() < 0.1).all()
    assert ((got[1, :, 1] - torch.tensor([0.0, 0.5, 0.5])).abs() < 0.2).all()


def test_the_releases_forecaster_takes_the_gradient_of_summed_errors_of_drawn_episodes() -> None:
    """Its first update, spelled out: 256 draws, a sum over outputs, no clipping, Adam at 1e-3."""
    observations, previous, actions = _two_cues()
    targets, how = forecaster.every_offset(T), forecaster.form(preset("release"))
    assert (how.rate, how.clip, how.batch, how.redrawn, how.numbers) == (1e-3, None, 256, True, "sum")
    assert forecaster.form(preset("release"), frames=True).batch == 64
    assert forecaster.form(preset("carousel")) == Form()
    layers = forecaster.weights(VECTORS, targets, how)
    assert layers["forecast.hidden.weight"].shape == (32, 128)
    assert layers["block0.expand.weight"].shape == (128, 256)
    begun = {name: value.requires_grad_() for name, value in initial(layers, [5]).items()}
    drawn = forecaster._draw(4, torch.tensor([5]), torch.tensor(0), 256)[0]
    seen, did = (torch.nn.functional.pad(x, (0, 5)) for x in (observations[:, drawn], previous[:, drawn]))
    state = linear(begun, "state", full_history.encode(begun, seen, did)[0].flatten(0, 1))
    raw = linear(begun, "forecast.out", torch.relu(linear(begun, "forecast.hidden", state))).view(T, 256, -1)
    total = torch.zeros(())
    for t in range(T):
        for j in range(T - 1 - t):
            error = raw[t, :, 3 * j : 3 * j + 3] - actions[t + j + 1, drawn]
            total = total + error.square().sum() / (T * 256)
    total.backward()
    trained = forecaster.train_forecaster(_data(VECTORS, observations, previous, actions), targets, [5], 1, how)
    for name, value in begun.items():
        slope = torch.zeros_like(value) if value.grad is None else value.grad
        wanted = value - 1e-3 * slope / (slope.abs() + 1e-8)
        sure = slope.abs() > 1e-5  # a sign that rounding does not decide
        torch.testing.assert_close(trained[name][sure], wanted[sure], rtol=0, atol=1e-5)


def _short(seeds: list[int], batch: int) -> dict[str, Tensor]:
    data = _data(SYMBOLS, *_two_cues())
    return forecaster.train_forecaster(data, forecaster.every_offset(T), seeds, 4, Form(batch=batch))


@pytest.mark.parametrize("batch", [4, 3])  # all episodes, or each run's own draw
def test_a_cohort_is_its_runs_alone(batch: int) -> None:
    together, alone = _short([1, 2, 3], batch), _short([2], batch)
    for name, value in together.items():
        torch.testing.assert_close(value[1:2], alone[name], rtol=1e-3, atol=2e-4)
        assert not torch.equal(value[1], value[2]), name


@pytest.mark.parametrize("batch", [4, 3])
def test_updates_in_pieces_are_those_at_once(batch: int) -> None:
    pieces = forecaster.Forecasters(_data(SYMBOLS, *_two_cues()), forecaster.every_offset(T), [1, 2], Form(batch=batch))
    for steps in (1, 2, 0, 1):
        pieces.advance(steps)
    for name, value in _short([1, 2], batch).items():
        assert torch.equal(pieces.parameters[name], value), name


def test_nothing_is_left_of_forecasters_that_nobody_holds() -> None:
    """A captured graph that waits for the garbage collector holds memory, and may be freed during another capture."""
    forecasters = forecaster.Forecasters(_data(SYMBOLS, *_two_cues()), forecaster.every_offset(T), [1])
    forecasters.advance(1)
    updates = weakref.ref(forecasters._updates)
    gc.disable()
    try:
        del forecasters
        assert updates() is None
    finally:
        gc.enable()


def test_batches_are_drawn_evenly_and_by_seed() -> None:
    keys = torch.tensor([1, 2])
    drawn = torch.stack([forecaster._draw(3, keys, torch.tensor(step), 64) for step in range(50)], 1)
    counts = torch.stack([run.flatten().bincount(minlength=3) for run in drawn]) / 3200
    torch.testing.assert_close(counts, torch.full((2, 3), 1 / 3), rtol=0, atol=0.04)
    assert not torch.equal(drawn[0], drawn[1])


def test_images_are_read_where_there_are_frames() -> None:
    frames = torch.zeros(3, 4, 64, 64, 3, dtype=torch.uint8)
    frames[0, 2:] = 255
    low = torch.zeros(3, 4, 1)
    actions = torch.zeros(3, 4, 1)
    actions[2, 2:] = 1.0
    targets = forecaster.decisions(3, torch.tensor([2]))
    shape = Shape(1, 1, horizon=3, frames=True)
    data = _data(shape, low, low, actions, frames)
    trained = forecaster.train_forecaster(data, targets, [0], 30, QUICK)
    got = forecaster.forecast(trained, data, targets)[0, 0, :, 0, 0]
    torch.testing.assert_close(got, actions[2, :, 0], rtol=0, atol=0.2)


def test_misled_episodes_get_the_forecast_of_another_class() -> None:
    classes = torch.arange(40) % 4
    named = torch.arange(40.0).view(1, 1, 40, 1, 1).expand(2, 3, 40, 2, 1)
    wrong = forecaster.mislead(named, classes, 0.2, [5, 6])
    source = wrong[:, 0, :, 0, 0].long()
    assert torch.equal(wrong, source.view(2, 1, 40, 1, 1).expand_as(wrong).float())  # one donor for a whole episode
    moved = source != torch.arange(40)
    assert moved.sum(1).tolist() == [8, 8]
    assert (classes[source][moved] != classes.expand(2, -1)[moved]).all()
    assert not torch.equal(moved[0], moved[1])
    assert torch.equal(forecaster.mislead(named[1:], classes, 0.2, [6]), wrong[1:])


def test_bad_input_is_named() -> None:
    observations, previous, actions = _two_cues()
    targets = forecaster.every_offset(T)
    with pytest.raises(UserError, match=r"data\.observation_index: points outside the 28 rows"):
        forecaster.train_forecaster(_data(SYMBOLS, observations[1:], previous, actions), targets, [0])
    observations[3, 1, 0] = torch.nan
    with pytest.raises(UserError, match=r"data\.observation: holds a value that is not finite"):
        forecaster.train_forecaster(_data(SYMBOLS, observations, previous, actions), targets, [0])
    with pytest.raises(ValueError, match="decision steps: must be in 1 … 7"):
        forecaster.decisions(T, torch.tensor([8]))
    with pytest.raises(ValueError, match="all are reached by step 5"):
        forecaster.decisions(T, torch.tensor([3, 5]), since=5)
    with pytest.raises(ValueError, match="all episodes are of one class"):
        forecaster.mislead(torch.zeros(1, T, 4, 1, 1), torch.zeros(4), 0.1, [0])
    with pytest.raises(ValueError, match="between 0 and 1"):
        forecaster.mislead(torch.zeros(1, T, 4, 1, 1), torch.arange(4), 5, [0])
