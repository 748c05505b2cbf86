"""After training on a recording: what counts as a decision, what is forgotten, and which runs are left as they are."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from certify.errors import UserError
from diacritic.measure.plugin import conditional_entropy
from diacritic.memory.shape import Architecture
from diacritic.training import compress_recorded
from diacritic.training.certified import adopt
from diacritic.training.cohort import Cohort, Plan, Run, start
from diacritic.training.compress_recorded import (
    PREVIOUS,
    RISE,
    agreement,
    decided,
    forgotten,
    recording_traces,
)
from diacritic.training.data import Data
from diacritic.training.fit_transition import Effort, Noise, fit_transition
from diacritic.training.forgetting import REACHED, WORSE, ExpertTrace, Forgotten, inconsistent_share
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.recorded import from_recording
from diacritic.training.transition_dataset import transition_dataset

SMALL = Architecture(codes=6, code_size=6, width=24)
EFFORT = Effort(steps=300, batch=64)
STEPS, N = 5, 48


def recording(leak: bool = False) -> Data:
    """Two binary cues at the first step: one decides action 3, the other action 5; a leak shows both always."""
    draw = np.random.default_rng(0)
    cue = np.arange(N) % 4
    symbols = np.tile(np.arange(STEPS)[:, None], (1, N))
    symbols[0] = STEPS + cue
    classes = np.zeros((STEPS, N), np.int64)
    classes[2], classes[4] = 1 + cue // 2, 3 + cue % 2
    shown = np.eye(STEPS + 4)[symbols]
    shown[..., STEPS:] += leak * np.eye(4)[cue]
    actions = np.stack([(classes == 2) * 2.0 - (classes == 1) * 2.0, (classes == 4) * 2.0 - (classes == 3) * 2.0], -1)
    seen, acted = ((x + 0.02 * draw.standard_normal(x.shape)).astype(np.float32) for x in (shown, actions))
    return from_recording(seen, acted, symbols, classes)[0]


def trained(data: Data, codes: torch.Tensor) -> Cohort:
    """A cohort that has the given codes [S, T, N]."""
    plan = Plan(learner("plain"), preset("carousel"), tuple(map(Run, range(len(codes)))), 10, SMALL)
    fit = fit_transition(start(plan, data), SMALL, data, transition_dataset(data, codes, 6), Effort(300))
    cohort = adopt(plan, data, fit)
    assert torch.equal(cohort.trace().step_code, codes)
    return cohort


def hoarded() -> torch.Tensor:
    return (torch.arange(N) % 4).expand(2, STEPS, N)


def rates(cohort: Cohort, run: int) -> list[float]:
    codes, symbols = cohort.trace().step_code[run].numpy(), cohort.data.symbol
    assert symbols is not None
    return [conditional_entropy(c, o) for c, o in zip(codes, symbols.numpy(), strict=True)]


def test_a_run_keeps_what_its_later_decisions_need_and_no_more() -> None:
    cohort = trained(recording(), hoarded())
    assert rates(cohort, 0) == pytest.approx([0, 2, 2, 2, 2])
    after = forgotten(cohort, EFFORT)
    assert after.changed == [True, True]
    assert after.codes == [4, 4]
    assert rates(after.cohort, 0) == rates(after.cohort, 1) == pytest.approx([0, 2, 2, 1, 1])
    before, now = recording_traces(cohort)[0], recording_traces(after.cohort)[0]
    np.testing.assert_array_equal(before.behaviour, now.behaviour)
    notes = json.loads(json.dumps(after.notes))
    assert notes["updates"] == EFFORT.steps
    assert min(notes["reached"]) >= REACHED
    assert all(new <= old * (1 + WORSE) + RISE for old, new in notes["loss"])
    with torch.no_grad():
        losses = [one.plan.learner.terms[0].loss(one.trace(), one.data, one.schedule) for one in (cohort, after.cohort)]
    assert (losses[0] - losses[1]).abs().min() > 1e-5
    np.testing.assert_allclose(notes["loss"], torch.stack(losses, 1).numpy(), atol=2e-6)


def test_a_run_that_does_not_land_keeps_its_weights() -> None:
    cohort = trained(recording(), hoarded())
    after = forgotten(cohort, replace(EFFORT, steps=1))
    assert after.changed == [False, False]
    assert all(torch.equal(value, cohort.parameters[name]) for name, value in after.cohort.parameters.items())


def test_a_run_whose_code_does_not_settle_its_decisions_keeps_its_weights() -> None:
    cohort = trained(recording(leak=True), torch.stack([torch.zeros_like(hoarded()[0]), hoarded()[0]]))
    after = forgotten(cohort, EFFORT)
    assert after.inconsistent[0] == pytest.approx(0.5)
    assert after.inconsistent[1] == 0
    assert after.changed == [False, True]
    assert torch.equal(after.cohort.parameters["codebook"][0], cohort.parameters["codebook"][0])
    assert not torch.equal(after.cohort.parameters["codebook"][1], cohort.parameters["codebook"][1])


def contrary(cohort: Cohort) -> Cohort:
    """The same cohort, but its first run does the opposite."""
    parameters = {name: value.detach().clone() for name, value in cohort.parameters.items()}
    for name in parameters:
        if name.startswith("act.out."):
            parameters[name][0] *= -1
    return Cohort(cohort.plan, cohort.given, parameters=parameters)


def test_a_run_that_decided_wrongly_keeps_its_weights() -> None:
    after = forgotten(contrary(trained(recording(), hoarded())), EFFORT)
    assert after.right == pytest.approx([0, 1])
    assert after.changed == [False, True]


def test_a_run_that_would_decide_otherwise_keeps_its_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    cohort = trained(recording(), hoarded())

    def contradict(given: Cohort, *_: Any, **__: Any) -> Forgotten:
        return Forgotten(contrary(given), [True, True], [None, None], 1, [1.0, 1.0], [(0.0, 0.0)] * 2)

    monkeypatch.setattr(compress_recorded, "forget", contradict)
    after = forgotten(cohort)
    assert after.right == pytest.approx([1, 1])
    assert after.same == pytest.approx([0, 1])
    assert after.changed == [False, True]
    assert all(torch.equal(value, cohort.parameters[name]) for name, value in after.cohort.parameters.items())


def test_decisions_are_the_nearest_of_the_means_under_a_symbol() -> None:
    draw = np.random.default_rng(3)
    symbols, classes = draw.integers(0, 3, (4, 30)), draw.integers(0, 3, (4, 30))
    classes[1] = symbols[1]  # one class under each symbol: nothing is decided
    actions, expert = draw.standard_normal((4, 30, 2)), draw.standard_normal((4, 30, 2))
    actual = decided(actions, expert, symbols, classes)
    assert not actual[1].any()
    for t in (0, 2, 3):
        for n in range(30):
            means: dict[int, np.ndarray] = {}
            for c in range(3):
                mine = [expert[t, m] for m in range(30) if symbols[t, m] == symbols[t, n] and classes[t, m] == c]
                if mine:
                    means[c] = np.mean(mine, 0)
            near = min(means, key=lambda c: float(np.linalg.norm(actions[t, n] - means[c])))
            assert actual[t, n] == (1 + near if len(means) > 1 else 0)


def test_inconsistency_and_agreement_are_those_of_the_worst_step() -> None:
    one = np.zeros((2, 4), np.int64)
    behaviour = np.array([[1, 1, 1, 2], [1, 1, 2, 2]])
    codes = np.array([[0, 0, 0, 0], [0, 0, 1, 1]])
    trace = ExpertTrace(codes, one, one, behaviour, np.full(4, 2.0))
    assert inconsistent_share(trace) == pytest.approx(0.25)
    assert agreement(trace, behaviour) == 1
    assert agreement(trace, np.ones_like(behaviour)) == pytest.approx(0.5)


@pytest.mark.parametrize("lacking", ["symbol", "classes"])
def test_only_recordings_with_symbols_and_classes_can_be_watched(lacking: str) -> None:
    plan = Plan(learner("plain"), preset("carousel"), (Run(0),), 10, SMALL)
    with pytest.raises(UserError, match="no symbols or no classes"):
        recording_traces(Cohort(plan, replace(recording(), **{lacking: None})))


def revising(cohort: Cohort, name: str = "plain+revision") -> Cohort:
    """The same cohort with a learner that revises its codes."""
    plan = replace(cohort.plan, learner=learner(name))
    trained = Cohort(plan, cohort.given, "cpu", {name: value.detach() for name, value in cohort.parameters.items()})
    trained.resume_at(plan.steps)
    return trained


@pytest.mark.parametrize("name", ["plain+revision", "plain+robust-revision"])
def test_a_run_that_confuses_its_demonstrations_gets_the_codes_that_they_ask_for(name: str) -> None:
    """One run never encoded the second cue, the other encoded nothing; both decide as the expert afterwards."""
    confused = torch.stack([hoarded()[0] // 2, torch.zeros_like(hoarded()[0])])
    cohort = trained(recording(), confused)
    assert max(forgotten(cohort, EFFORT).right) < REACHED
    after = forgotten(revising(cohort, name), EFFORT)
    assert after.changed == [True, True]
    assert after.codes == [4, 4]
    assert rates(after.cohort, 0) == rates(after.cohort, 1) == pytest.approx([0, 2, 2, 1, 1])


def test_only_runs_that_cannot_be_fitted_as_they_are_start_from_a_fresh_carrier(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cohort, tried = revising(trained(recording(), torch.zeros_like(hoarded()))), []
    fit = compress_recorded.forget

    def second_run_in_vain(given: Cohort, *more: Any, **settings: Any) -> Forgotten:
        tried.append(([run.seed for run in given.plan.runs], settings.get("fresh", True)))
        done = fit(given, *more, **settings)
        return done if settings.get("fresh", True) else replace(done, changed=[done.changed[0], False])

    plain = forgotten(cohort, EFFORT)
    assert plain.changed == [True, True]
    monkeypatch.setattr(compress_recorded, "forget", second_run_in_vain)
    after = forgotten(cohort, EFFORT)
    assert tried == [([0, 1], False), ([1], True)]
    assert after.changed == [True, True]
    assert after.steps == 2 * EFFORT.steps
    assert rates(after.cohort, 1) == pytest.approx([0, 2, 2, 1, 1])
    every = fit(cohort, recording_traces(cohort), EFFORT, worse=RISE, merged=after.merged)
    for name, value in after.cohort.parameters.items():
        assert torch.equal(value[0], plain.cohort.parameters[name][0])
        assert torch.equal(value[1], every.cohort.parameters[name][1])  # as if both had started again
    assert not torch.equal(after.cohort.parameters["codebook"][1], plain.cohort.parameters["codebook"][1])


def test_a_run_that_fails_again_is_fitted_for_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    cohort, tried = revising(trained(recording(), torch.zeros_like(hoarded()))), []
    fit = compress_recorded.forget

    def second_run_needs_time(given: Cohort, own: Any, effort: Effort, **settings: Any) -> Forgotten:
        runs = [run.seed for run in given.plan.runs]
        tried.append((runs, effort.steps))
        done = fit(given, own, effort, **settings)
        return replace(done, changed=[seed == 0 or effort.steps > EFFORT.steps for seed in runs])

    monkeypatch.setattr(compress_recorded, "forget", second_run_needs_time)
    after = forgotten(cohort, EFFORT)
    assert tried == [([0, 1], 300), ([1], 300), ([1], 1200)]
    assert (after.changed, after.steps) == ([True, True], 1800)
    assert rates(after.cohort, 1) == pytest.approx([0, 2, 2, 1, 1])
    tried.clear()
    cohort.resume_at(0)
    forgotten(cohort, EFFORT)
    assert tried == [([0, 1], 300), ([1], 1200)]  # one that was never trained is fresh already


def test_only_a_robust_revision_judges_under_noise_and_fits_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    cohort, asked = trained(recording(), torch.zeros_like(hoarded())), []

    def ask(given: Cohort, own: Any, effort: Effort, **settings: Any) -> Forgotten:
        noise = settings["noise"]
        asked.append((effort.steps, effort.imitation, None if noise is None else noise.previous))
        raise InterruptedError

    monkeypatch.setattr(compress_recorded, "forget", ask)
    for name in ("plain+forgetting", "plain+revision", "plain+robust-revision"):
        with pytest.raises(InterruptedError):
            forgotten(revising(cohort, name))
    assert asked == [(2000, 1, None), (2000, 1, None), (5000, 100, PREVIOUS)]
    with pytest.raises(InterruptedError):
        forgotten(revising(cohort, "plain+robust-revision"), EFFORT, Noise(torch.zeros(1), 7.0))
    assert asked[-1] == (EFFORT.steps, 1, 7.0)
