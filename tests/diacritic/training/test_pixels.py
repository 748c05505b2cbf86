"""Training on frames: the authors' carrier is the loop, draws leave nothing out, and it runs from end to end."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from carrier_twin import NARROW, TINY, assert_engine_agrees, gradients, lively, schedule_at, vectors

from diacritic.demos.record import record
from diacritic.files.demos import Demos
from diacritic.measure.trace import teacher_forced
from diacritic.memory import pixels, sole_carrier
from diacritic.memory.layers import Parameters
from diacritic.memory.shape import Architecture
from diacritic.rollout.policies import Policies
from diacritic.tasks.registry import make as make_task
from diacritic.training import parallel, unrolled
from diacritic.training.cohort import Plan, Run
from diacritic.training.data import Data
from diacritic.training.demonstrations import prepare
from diacritic.training.learner import learner
from diacritic.training.objectives.rate import Rate
from diacritic.training.preset import preset
from diacritic.training.released import released
from diacritic.training.supervision import supervise
from diacritic.training.trace import Trace
from diacritic.training.train import train

TASK = make_task("two-cues", gap=1, first_gap=1)


def _seen(T: int, N: int, seed: int = 0) -> Data:
    data, made = vectors(T, N, seed), torch.Generator().manual_seed(seed)
    frames = torch.randint(0, 256, (T * N, 64, 64, 3), generator=made, dtype=torch.uint8)
    return replace(data, shape=replace(data.shape, frames=True), frames=frames)


@pytest.mark.parametrize("camera", ["added", "beside"])
@pytest.mark.parametrize("name", ["plain", "event-agnostic", "task-informed"])
def test_the_engine_with_frames_is_the_loop(camera: str, name: str) -> None:
    def engine(parameters: Parameters, carrier: Architecture, data: Data, weight: torch.Tensor) -> Trace:
        return unrolled.trace(parameters, carrier, data, weight, parallel.tokens(data))

    architecture = replace(NARROW, camera=camera)
    assert_engine_agrees(engine, "full", name, architecture, _seen(3, 2), [1, 2], released)


def test_episodes_that_are_drawn_are_as_among_all() -> None:
    """As on CUDA, where each run encodes the frames of its own draws alone."""
    data, drawn = _seen(3, 4), torch.tensor([[2, 0], [1, 3]])
    parameters = lively(sole_carrier.weights(data.shape, NARROW), [1, 2])
    shown, some = parallel.tokens(data), torch.full((2, 2), 0.5, dtype=torch.float64)
    whole = unrolled.trace(parameters, NARROW, data, data.weight.expand(2, -1), shown)
    own = unrolled.trace(parameters, NARROW, data, some, shown, drawn=drawn)
    for name in ("step_code", "step_features", "step_embedding"):
        for run in range(2):
            expected = getattr(whole, name)[run][:, drawn[run]]
            torch.testing.assert_close(getattr(own, name)[run], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "name",
    ["plain", "plain+bfs", "event-agnostic", "event-agnostic-all-recorded", "task-informed", "sysid", "join"],
)
def test_learners_lose_nothing_where_undrawn_episodes_are_left_out(name: str) -> None:
    """Losses and gradients of runs that see their draws, and one episode more that weighs nothing."""
    data, drawn = _seen(4, 4), torch.tensor([[2, 0, 3], [1, 3, 0]])
    chosen = released(learner(name))
    layers = sole_carrier.weights(data.shape, NARROW)
    for term in chosen.terms:
        layers |= term.weights(data.shape, NARROW)
    parameters = {key: value.requires_grad_() for key, value in lively(layers, [1, 2]).items()}
    own = torch.tensor([[0.75, 0.25, 0.0], [0.5, 0.5, 0.0]], dtype=torch.float64)
    weight = torch.zeros(2, 4, dtype=torch.float64).scatter(1, drawn, own)
    shown, schedule, results = parallel.tokens(data), schedule_at(2), []
    for given, some in ((weight, None), (own, drawn)):
        trace = unrolled.trace(parameters, NARROW, data, given, shown, drawn=some)
        losses = torch.stack([term.loss(trace, data, schedule) for term in chosen.terms])
        results.append((losses, gradients(losses, parameters)))
    (losses, flow), (own_losses, own_flow) = results
    torch.testing.assert_close(own_losses, losses, rtol=1e-10, atol=1e-12)
    for key, gradient in flow.items():
        torch.testing.assert_close(own_flow[key], gradient, rtol=1e-8, atol=1e-10, msg=lambda text, key=key: key + text)


@pytest.mark.parametrize("low", [torch.float32, torch.bfloat16])
def test_frames_are_encoded_once_where_products_may_be_rounded(
    low: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = _seen(2, 3).to("cpu", torch.float32)
    parameters = lively(sole_carrier.weights(data.shape, NARROW), [1, 2], torch.float32)
    shown, weight, asked = parallel.tokens(data), data.weight.expand(2, -1), []
    exact = unrolled.trace(parameters, NARROW, data, weight, shown)

    def watched(parameters: Parameters, frames: torch.Tensor, rough: bool = False) -> torch.Tensor:
        asked.append(rough)
        return features(parameters, frames, rough)

    features = pixels.features
    monkeypatch.setattr(pixels, "features", watched)
    rounded = unrolled.trace(parameters, NARROW, data, weight, shown, low)
    assert asked == [True]
    assert not torch.equal(rounded.features, exact.features)
    torch.testing.assert_close(rounded.features.float(), exact.features, rtol=0.05, atol=0.05)


def test_the_prior_reads_the_numbers_alone() -> None:
    data = _seen(2, 3)
    term = Rate()
    layers = sole_carrier.weights(data.shape, NARROW) | term.weights(data.shape, NARROW)
    assert layers["prior.hidden.weight"].shape[0] == data.shape.observation
    parameters = lively(layers, [1])
    logits = []
    for frames in (data.frames, 255 - data.frames if data.frames is not None else None):
        other = replace(data, frames=frames)
        trace = unrolled.trace(parameters, NARROW, other, data.weight.expand(1, -1), parallel.tokens(other))
        logits.append((trace.prior_logits("prior"), trace.features))
    assert torch.equal(logits[0][0], logits[1][0])
    assert not torch.equal(logits[0][1], logits[1][1])


@pytest.fixture(scope="module")
def demos() -> Demos:
    demos = record(TASK, 12, seed=4)[0]
    frames = np.random.default_rng(0).integers(0, 256, (demos.steps, 12, 64, 64, 3), np.uint8)
    return replace(demos, frames=frames)


@pytest.mark.parametrize(("name", "engine"), [("event-agnostic", "fast"), ("plain", "reference"), ("scaffold", "fast")])
def test_the_release_learns_from_a_recording_with_frames(demos: Demos, name: str, engine: str) -> None:
    """Eleven numbers beside each frame; what was trained plays as the engine computed it."""
    how, prepared = preset("release"), prepare(*demos.split(8), TASK)
    assert prepared.data.shape.observation == 11
    data = supervise(prepared.data, learner(name), (0, 1), steps=1, how=how)
    small = replace(how, changes=(*how.changes, ("width", 16)), restarts=2, scaffold_updates=(1, 3))
    plan = Plan(learner(name), small, (Run(0), Run(1)), 4, Architecture(codes=TINY.codes), 8, engine)
    cohort = train(plan, data)
    assert torch.isfinite(cohort.losses).all()
    assert not cohort.optimiser.diverged.any()
    weights = {key: value.detach() for key, value in cohort.parameters.items()}
    assert weights["observe.out.weight"].shape == (2, 32, 32)
    assert weights["prior.hidden.weight"].shape == (2, 11, 16)
    assert all((cohort.optimiser.views(cohort.optimiser.square)[f"pooled.{k}.weight"] > 0).any() for k in range(3))
    player = Policies(weights, cohort.plan.carrier, prepared.scale)
    assert player.pixels
    trace = teacher_forced(player, demos.take(np.arange(8)), TASK)
    assert np.array_equal(trace.codes, cohort.trace().step_code.numpy())
