"""Forgetting: merged codes in closed form, through noise, on a cohort with surplus; and what it never gives up."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from certify import Model
from certify.core.requirement import Requirement
from certify.errors import UserError
from certify.zoo import build
from diacritic.measure.plugin import conditional_entropy
from diacritic.measure.scores import scores
from diacritic.measure.trace import sufficient
from diacritic.memory.shape import Architecture
from diacritic.rollout.occupancy import teacher_forced
from diacritic.rollout.trained_machines import machines
from diacritic.training.certified import adopt
from diacritic.training.cohort import Cohort, Plan, Run, start
from diacritic.training.data import Data, from_arrays
from diacritic.training.fit_transition import Effort, fit_transition
from diacritic.training.forgetting import REACHED, ExpertTrace, cohort_traces, forget, learned_states, merge_codes
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.symbolic import from_model
from diacritic.training.transition_dataset import transition_dataset


def two_decisions(noise: float = 0.0, episodes: int = 400) -> ExpertTrace:
    """Cues a (two values) and b (two values) at the start; a decides at step 2, b at step 4; the code keeps (a, b)."""
    draw = np.random.default_rng(0)
    a, b = draw.integers(0, 2, episodes), draw.integers(0, 2, episodes)
    codes = np.tile(2 * a + b, (5, 1))
    symbols = np.tile(np.array([[0], [1], [2], [3], [4]]), (1, episodes))
    symbols[0] = 10 + 2 * a + b
    behaviour = np.zeros_like(codes)
    behaviour[2], behaviour[4] = 1 + a, 1 + b
    wrong = draw.random(codes.shape) < noise
    codes = np.where(wrong, draw.integers(0, 4, codes.shape), codes)
    return ExpertTrace(codes, symbols, np.zeros_like(codes), behaviour, np.full(episodes, 1 / episodes))


def rates(codes: np.ndarray, trace: ExpertTrace) -> list[float]:
    return [conditional_entropy(c, o, trace.weight) for c, o in zip(codes, trace.symbols, strict=True)]


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_what_no_later_decision_uses_is_merged(noise: float) -> None:
    trace = two_decisions(noise)
    assert rates(trace.codes, trace)[2:4] == pytest.approx([2, 2], abs=0.05)
    merged = merge_codes(trace, 4)
    assert merged is not None
    assert rates(merged.codes, trace) == pytest.approx([0, 2, 2, 1, 1], abs=0.05)
    assert merged.count == 4
    assert merged.followed >= 1 - 4 * noise
    left = [conditional_entropy(b, c, trace.weight) for b, c in zip(trace.behaviour, merged.codes, strict=True)]
    assert max(left) < 0.01  # every decision can still be read from the code


def test_merged_codes_are_a_function_of_code_and_word() -> None:
    trace = two_decisions(0.02)
    merged = merge_codes(trace, 4)
    assert merged is not None
    seen: dict[tuple[int, int], int] = {}
    for t in range(1, 5):
        for before, word, now in zip(merged.codes[t - 1], trace.words[t], merged.codes[t], strict=True):
            assert seen.setdefault((int(before), int(word)), int(now)) == now


def test_states_have_their_most_frequent_behaviour() -> None:
    trace = two_decisions(0.02)
    states = learned_states(trace)
    last = [k for k, step in enumerate(states.step) if step == 4]
    assert [states.behaviour[k] for k in last] == [1, 2, 1, 2]
    assert sum(states.mass[k] for k in last) == pytest.approx(1)


def test_too_many_codes_are_not_squeezed() -> None:
    assert merge_codes(two_decisions(), 3) is None


def test_arrays_that_do_not_fit_are_named() -> None:
    good = two_decisions()
    with pytest.raises(UserError, match="symbols: have shape"):
        ExpertTrace(good.codes, good.symbols[:2], good.previous, good.behaviour, good.weight)
    with pytest.raises(UserError, match="expected one number for 400 episodes"):
        ExpertTrace(good.codes, good.symbols, good.previous, good.behaviour, good.weight[:3])


def hoarders(model: Model, data: Data) -> Cohort:
    """Two runs that keep apart all episodes of a chain until its end, where two bits are more than is asked."""
    shape = Architecture(codes=8, code_size=8, width=32)
    plan = Plan(learner("plain"), preset("carousel"), (Run(0), Run(1)), 100, shape)
    context = torch.unique(data.observation_index[0], return_inverse=True)[1]
    codes = context.expand(2, data.horizon, -1)
    fit = fit_transition(start(plan, data), plan.carrier, data.to("cpu"), transition_dataset(data.to("cpu"), codes, 8))
    return adopt(plan, data, fit)


def surplus(cohort: Cohort, model: Model, requirement: Requirement) -> float:
    pair = machines(cohort.parameters, cohort.plan.carrier, model)
    steps = [step for machine in pair for step in scores(teacher_forced(machine.greedy(), model), requirement)]
    return max(step.rate - (step.requirement or 0) for step in steps)


@pytest.mark.parametrize("fresh", [True, False])
def test_a_cohort_forgets_its_surplus_and_stays_sufficient(fresh: bool) -> None:
    model = build("memory-chain", bits=2, delay=4)
    requirement, data = Requirement.of(model), from_model(model)
    cohort = hoarders(model, data)
    assert surplus(cohort, model, requirement) == pytest.approx(1)
    after = forget(cohort, fresh=fresh)
    assert after.changed == [True, True]
    assert [merging and merging.count for merging in after.merged] == [4, 4]
    assert surplus(after.cohort, model, requirement) == pytest.approx(0, abs=1e-9)
    assert sufficient(after.cohort, model, requirement, "external") == [True, True]


def test_a_run_that_would_lose_keeps_its_weights() -> None:
    model = build("memory-chain", bits=2, delay=4)
    cohort = hoarders(model, from_model(model))
    after = forget(cohort, effort=Effort(steps=1))
    assert after.changed == [False, False]
    assert all(torch.equal(value, cohort.parameters[name]) for name, value in after.cohort.parameters.items())


def test_a_run_that_does_not_land_keeps_its_weights_whatever_it_costs() -> None:
    model = build("memory-chain", bits=2, delay=4)
    after = forget(hoarders(model, from_model(model)), effort=Effort(steps=1), worse=float("inf"))
    assert max(after.reached) < REACHED
    assert after.changed == [False, False]


def test_a_loss_that_rises_by_more_than_is_allowed_keeps_the_weights() -> None:
    model = build("memory-chain", bits=2, delay=4)
    cohort = hoarders(model, from_model(model))
    assert forget(cohort, worse=-10.0).changed == [False, False]  # nothing improves by so much


def test_a_choice_among_equals_is_no_behaviour() -> None:
    model = build("stochastic-expert")
    data = from_model(model)
    plan = Plan(learner("plain"), preset("carousel"), (Run(0), Run(1)), 100, Architecture(codes=4))
    first, second = cohort_traces(Cohort(plan, data))
    random = (data.target.amax(-1) < 1).numpy()
    assert random.any()
    assert (first.behaviour[random] == second.behaviour[random]).all()
    assert (first.behaviour[random] >= data.shape.action).all()
    assert (first.behaviour[~random] < data.shape.action).all()


def test_recordings_need_their_own_arrays() -> None:
    model = build("memory-chain", bits=2, delay=4)
    cohort = hoarders(model, from_model(model))
    assert len(cohort_traces(cohort)) == 2
    cohort.data = replace(cohort.data, symbol=None)
    with pytest.raises(UserError, match="give `ExpertTrace` arrays"):
        cohort_traces(cohort)


def test_a_recording_forgets_by_its_arrays() -> None:
    trace = two_decisions(episodes=40)
    draw = torch.Generator().manual_seed(1)
    shown = torch.nn.functional.one_hot(torch.from_numpy(trace.symbols), 14).double()
    shown += 0.02 * torch.randn(shown.shape, generator=draw, dtype=torch.float64)
    done = torch.from_numpy(trace.behaviour).double().unsqueeze(-1) - 1
    data = from_arrays(shown, done)
    shape = Architecture(codes=6, code_size=6, width=24)
    plan = Plan(learner("plain"), preset("carousel"), (Run(0),), 10, shape)
    codes = torch.from_numpy(trace.codes).unsqueeze(0)
    given = data.to("cpu")
    cohort = adopt(
        plan, data, fit_transition(start(plan, data), shape, given, transition_dataset(given, codes, 6), Effort(400))
    )
    assert torch.equal(cohort.trace().step_code, codes)
    after = forget(cohort, [trace], Effort(400))
    assert after.changed == [True]
    actual = after.cohort.trace().step_code[0].numpy()
    assert rates(actual, trace)[3:] == pytest.approx([1, 1], abs=0.05)
