"""Policies step by step against the trace of training: the same codes and actions on the same episodes."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from carrier_twin import lively

from certify.errors import UserError
from diacritic.memory import pixels, sole_carrier
from diacritic.memory.layers import Parameters
from diacritic.memory.scale import Scale
from diacritic.memory.shape import Architecture, Shape
from diacritic.rollout.policies import Policies, stack_scales
from diacritic.training.cohort import Cohort, Plan, Run, initial_weights
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.recorded import from_recording

T, N, RUNS, SYMBOLS = 7, 5, 2, 4
DRAW = np.random.default_rng(2)
OBSERVATIONS = DRAW.normal(3, 2, (T, N, 27)).astype(np.float32)
ACTIONS = DRAW.normal(-1, 0.2, (T, N, 4)).astype(np.float32)
SEEN = DRAW.integers(0, SYMBOLS, (T, N))


def cohort_of(name: str, how: str = "carousel") -> tuple[Cohort, Scale]:
    """Random, lively runs of a learner at the end of training."""
    data, scale = from_recording(OBSERVATIONS, ACTIONS, SEEN, SEEN)
    data = replace(data, shape=replace(data.shape, symbols=SYMBOLS, classes=SYMBOLS))
    runs = tuple(Run(seed) for seed in range(RUNS))
    plan = Plan(learner(name), preset(how), runs, 10, Architecture(codes=6, code_size=3, width=8))
    cohort = Cohort(plan, data, parameters=lively(initial_weights(plan, data), range(RUNS), torch.float32))
    cohort.resume_at(plan.steps)
    return cohort, scale


def watched(policies: Policies, symbols: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Codes and actions of policies that watch the recorded episodes, [S, T, N, …]."""
    policies.begin(N)
    actual = []
    for t in range(T):
        shown = np.repeat(OBSERVATIONS[t][None], RUNS, 0)
        before = np.repeat(ACTIONS[t - 1][None], RUNS, 0) if t else None
        actual.append(policies.step(shown, before, np.repeat(SEEN[t][None], RUNS, 0) if symbols else None))
    return np.stack([codes for codes, _ in actual], 1), np.stack([actions for _, actions in actual], 1)


@pytest.mark.parametrize(
    "name", ["plain", "scaffold", "bypass", "non-persistent", "dual", "matched", "hierarchical", "full-history"]
)
@pytest.mark.parametrize("how", ["carousel", "release"])
def test_codes_are_those_of_training(name: str, how: str) -> None:
    cohort, scale = cohort_of(name, how)
    codes, _ = watched(Policies(cohort.parameters, cohort.plan.carrier, scale))
    with torch.no_grad():
        expected = cohort.trace().step_code.numpy()
    assert max(len(np.unique(run)) for run in expected) > 1
    np.testing.assert_array_equal(codes, expected)


def test_actions_of_a_gru_are_those_of_training_in_the_robots_units() -> None:
    cohort, scale = cohort_of("gru-8")
    _, actions = watched(Policies(cohort.parameters, cohort.plan.carrier, scale))
    with torch.no_grad():
        expected = cohort.trace().actions
    assert expected is not None
    actual = scale.shrink(torch.from_numpy(actions))
    torch.testing.assert_close(actual, expected.view(RUNS, T, N, 4), atol=1e-5, rtol=1e-4)


def test_actions_of_a_carrier_read_its_code() -> None:
    """Imitation's loss on the recorded actions is what the policies' own actions give."""
    cohort, scale = cohort_of("plain")
    _, actions = watched(Policies(cohort.parameters, cohort.plan.carrier, scale))
    error = (scale.shrink(torch.from_numpy(actions)) - cohort.data.target).square().mean((1, 2, 3))
    with torch.no_grad():
        expected = cohort.plan.learner.terms[0].loss(cohort.trace(), cohort.data, cohort.schedule)
    torch.testing.assert_close(error, expected)


def test_each_run_reads_through_its_own_scale() -> None:
    cohort, scale = cohort_of("plain")
    other = Scale(*(2 * value + 0.1 for value in vars(scale).values()))
    both = Policies(cohort.parameters, cohort.plan.carrier, stack_scales([scale, other]))
    codes, actions = watched(both)
    for run, own in enumerate((scale, other)):
        alone_codes, alone = watched(Policies(cohort.parameters, cohort.plan.carrier, own))
        np.testing.assert_array_equal(codes[run], alone_codes[run])
        np.testing.assert_allclose(actions[run], alone[run], rtol=1e-6)


def test_a_symbol_never_recorded_is_no_symbol() -> None:
    cohort, scale = cohort_of("matched")
    policies = Policies(cohort.parameters, cohort.plan.carrier, scale)
    one_hot = policies._one_hot(np.array([[0, 3, -1, 9]]))
    assert one_hot is not None
    assert one_hot.sum(-1).tolist() == [[1, 1, 0, 0]]


def test_a_control_that_reads_symbols_needs_a_binner() -> None:
    cohort, scale = cohort_of("matched")
    with pytest.raises(UserError, match="binner: this control reads the symbol"):
        watched(Policies(cohort.parameters, cohort.plan.carrier, scale), symbols=False)


def test_frames_that_all_runs_share_are_encoded_as_one_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    shape, carrier = Shape(11, 4, frames=True), preset("release").architecture(Architecture())
    layers = sole_carrier.weights(shape, carrier)
    for term in learner("plain").terms:
        layers |= term.weights(shape, carrier)
    scale = Scale(torch.zeros(11), torch.ones(11), torch.zeros(4), torch.ones(4))
    policies = Policies(lively(layers, range(RUNS), torch.float32), carrier, scale)
    frames, asked, features = DRAW.integers(0, 256, (N, 64, 64, 3), np.uint8), [], pixels.features

    def watched(parameters: Parameters, frames: torch.Tensor, rough: bool = False) -> torch.Tensor:
        asked.append(tuple(frames.shape[:-3]))
        return features(parameters, frames, rough)

    monkeypatch.setattr(pixels, "features", watched)
    seen = np.repeat(DRAW.normal(size=(1, N, 11)), RUNS, 0)
    results = []
    for given in (np.repeat(frames[None], RUNS, 0), np.broadcast_to(frames, (RUNS, *frames.shape))):
        policies.begin(N)
        results.append(policies.step(seen, None, None, given))
    assert asked == [(RUNS, N), (N,)]
    np.testing.assert_array_equal(results[1][0], results[0][0])
    np.testing.assert_allclose(results[1][1], results[0][1], rtol=1e-4, atol=1e-5)
    assert not np.allclose(results[0][1][0], results[0][1][1])
    alone = Policies({name: value[:1] for name, value in policies.parameters.items()}, carrier, scale)
    alone.begin(N)
    codes, actions = alone.step(seen[:1], None, None, np.broadcast_to(frames, (1, *frames.shape)))  # not writable
    np.testing.assert_array_equal(codes[0], results[0][0][0])
    np.testing.assert_allclose(actions[0], results[0][1][0], rtol=1e-4, atol=1e-5)
