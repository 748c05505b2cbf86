"""Runs on symbolic tasks: a machine is judged exactly, and a memory beside the code refuses its rate."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from carrier_twin import TINY, lively

from certify.errors import UserError
from certify.zoo import build
from diacritic.measure.scores import Requirement, scores
from diacritic.measure.symbolic_run import construction, examine_symbolic
from diacritic.measure.verdict import Subject, Verdict
from diacritic.memory import sole_carrier
from diacritic.memory.kinds import memory_of
from diacritic.memory.module import one_run
from diacritic.memory.shape import Architecture, Shape
from diacritic.rollout.exact import closed_loop
from diacritic.rollout.occupancy import teacher_forced
from diacritic.rollout.trained_machines import machines
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.learner import learner
from diacritic.training.objectives.imitation import Imitation
from diacritic.training.preset import preset
from diacritic.training.symbolic import from_model

MODEL = build("memory-chain", bits=1, delay=3)
SHAPE = Shape(len(MODEL.graph.observations), len(MODEL.graph.actions), True)
REQUIREMENT = Requirement.of(MODEL)
SUBJECT = Subject("0123", "memory-chain", "plain", 0, "every history")


def random_run(architecture: Architecture) -> Verdict:
    layers = memory_of(architecture).weights(SHAPE, architecture) | Imitation().weights(SHAPE, architecture)
    weights = one_run(lively(layers, [1], torch.float32), 0)
    return examine_symbolic(SUBJECT, REQUIREMENT, SHAPE, architecture, weights)


def test_a_trained_run_is_sufficient_and_attributed() -> None:
    plan = Plan(learner("plain"), preset("carousel"), (Run(0, rate=3e-3),), 400, TINY)
    cohort = Cohort(plan, from_model(MODEL))
    cohort.advance(400)
    verdict = examine_symbolic(SUBJECT, REQUIREMENT, SHAPE, plan.carrier, one_run(cohort.parameters, 0))
    assert (verdict.sufficient.answer, verdict.sole.answer) == ("yes", "yes")
    assert verdict.profile.required == [0.0, 0.0, 1.0, 1.0]
    assert all(control.passed is not False for control in verdict.controls)
    assert "success 1.000, exact" in [control.text for control in verdict.controls]


def test_rates_are_those_of_the_machine() -> None:
    layers = sole_carrier.weights(SHAPE, TINY) | Imitation().weights(SHAPE, TINY)
    parameters = lively(layers, [1], torch.float32)
    machine = machines(parameters, TINY, MODEL)[0].greedy()
    verdict = examine_symbolic(SUBJECT, REQUIREMENT, SHAPE, TINY, one_run(parameters, 0))
    assert verdict.profile.rate == [score.rate for score in scores(teacher_forced(machine, MODEL))]
    success = next(control.data for control in verdict.controls if control.name == "closed loop")
    assert success == closed_loop(machine, MODEL).success
    assert verdict.sufficient.answer == "no"


@pytest.mark.parametrize(
    ("architecture", "text"),
    [
        (replace(TINY, path="bypass"), "a continuous state persists beside the code"),
        (replace(TINY, memory="gaussian"), "its memory is 'gaussian', not a code"),
        (replace(TINY, identification=4), "a second carrier persists beside the code"),
    ],
)
def test_what_persists_beside_the_code_refuses_its_rate(architecture: Architecture, text: str) -> None:
    actual = random_run(architecture)
    assert actual.surplus.because == "the code is not all that persists; a rate of it is refused"
    assert actual.sole.answer == "no"
    assert [control.text for control in actual.controls if control.name == "construction"] == [text]
    assert any(control.name == "readout" and "no rate is claimed" in control.text for control in actual.controls)


def test_a_gru_is_judged_by_its_behaviour() -> None:
    architecture = Architecture(memory="gru", state_size=8)
    weights = one_run(lively(memory_of(architecture).weights(SHAPE, architecture), [1], torch.float32), 0)
    verdict = examine_symbolic(SUBJECT, REQUIREMENT, SHAPE, architecture, weights)
    assert verdict.sole.because == "construction: its memory is 'gru', not a code"
    assert np.allclose([rate for rate in verdict.profile.rate if rate is not None], 0)  # there is no code


def test_matched_side_information_reads_its_symbol() -> None:
    architecture = replace(TINY, side="symbol")
    shape = replace(SHAPE, symbols=SHAPE.observation)
    layers = memory_of(architecture).weights(shape, architecture) | Imitation().weights(shape, architecture)
    verdict = examine_symbolic(
        SUBJECT, REQUIREMENT, shape, architecture, one_run(lively(layers, [1], torch.float32), 0)
    )
    assert construction(architecture).passed is True
    assert verdict.surplus.answer == "not assessed"


def test_another_task_and_full_history_are_refused() -> None:
    weights = one_run(lively(sole_carrier.weights(SHAPE, TINY), [1], torch.float32), 0)
    with pytest.raises(UserError, match="0123: was trained on another task than this one with"):
        examine_symbolic(SUBJECT, Requirement.of(build("gap")), SHAPE, TINY, weights)
    with pytest.raises(UserError, match="'history' keeps everything"):
        examine_symbolic(SUBJECT, REQUIREMENT, SHAPE, Architecture(memory="history"), weights)
