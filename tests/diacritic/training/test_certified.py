"""The certified learner: sufficient, minimal at every step, and what it refuses."""

import pytest
import torch

from certify.core.requirement import Requirement
from certify.errors import UserError
from certify.zoo import build
from diacritic.measure.scores import scores
from diacritic.measure.trace import sufficient
from diacritic.memory.certified_codes import certified_labels
from diacritic.memory.shape import Architecture
from diacritic.rollout.occupancy import teacher_forced
from diacritic.rollout.trained_machines import machines
from diacritic.training.certified import CERTIFIED, train_certified
from diacritic.training.cohort import Plan, Run
from diacritic.training.preset import preset
from diacritic.training.symbolic import from_model


def plan(codes: int = 6) -> Plan:
    shape = Architecture(codes=codes, code_size=8, width=32)
    return Plan(CERTIFIED, preset("carousel"), (Run(0), Run(1)), 1000, shape)


@pytest.mark.parametrize(
    ("name", "parameters"), [("memory-chain", {"bits": 2, "delay": 12}), ("gap", {"gap2": 3}), ("re-reveal", {})]
)
def test_it_is_sufficient_and_carries_not_a_bit_too_much(name: str, parameters: dict[str, int]) -> None:
    model = build(name, **parameters)
    requirement = Requirement.of(model)
    labels = certified_labels(model, requirement)
    cohort, fit = train_certified(plan(), from_model(model), labels)
    assert labels.minimal
    assert not fit.diverged.any()
    assert sufficient(cohort, model, requirement, "external") == [True, True]
    for machine in machines(cohort.parameters, cohort.plan.carrier, model):
        for step in scores(teacher_forced(machine.greedy(), model), requirement):
            assert step.rate == pytest.approx(step.requirement, abs=1e-9)


def test_drawn_demonstrations_of_a_merged_model_will_do() -> None:
    model = build("running-parity")
    cohort, fit = train_certified(plan(), from_model(model, 40), certified_labels(model))
    assert fit.reached.tolist() == pytest.approx([1, 1])
    assert cohort.step == cohort.plan.steps


def test_too_few_codes_and_foreign_episodes_are_one_line() -> None:
    model = build("memory-chain", bits=2, delay=4)
    with pytest.raises(UserError, match="3 are too few; this machine needs 4"):
        train_certified(plan(3), from_model(model), certified_labels(model))
    data = from_model(model)
    data.observation_index[0] = data.observation_index[2]  # no episode begins in the dark
    with pytest.raises(UserError, match="step 1: is not a history of the certified model"):
        train_certified(plan(), data, certified_labels(model))


def test_the_same_seed_gives_the_same_run() -> None:
    model = build("passive-t-maze", L=3)
    first, second = (train_certified(plan(), from_model(model), certified_labels(model))[0] for _ in range(2))
    assert all(torch.equal(value, second.parameters[name]) for name, value in first.parameters.items())
