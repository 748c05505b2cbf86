"""Tasks as they are designed: required bits, deciding classes, and the model that they make."""

import numpy as np
import pytest

from certify import certify
from diacritic.report.design import Design, configurations, designed
from diacritic.tasks.franka.tasks import make_task
from diacritic.tasks.pointmass import PointMass


def in_phase(bits: tuple[float, ...], steps: range) -> set[float]:
    return {round(bits[t], 6) for t in steps}


@pytest.mark.parametrize(
    ("name", "waiting", "carrying"),
    [("two-cues", 2, 1), ("full-reveal", 2, 1), ("readout-2", 2, 1), ("readout-3", 3, 3)],
)
def test_required_bits_of_the_carried_tasks(name: str, waiting: float, carrying: float) -> None:
    task = make_task(name)
    bits = Design.of(task).required
    assert in_phase(bits, task.windows["gap1"]) == {waiting}
    assert in_phase(bits, task.windows["gap2"]) == {carrying}
    assert in_phase(bits, task.phase_steps("to_scan")) == {0}
    assert bits[-1] == 0


def test_required_bits_of_masses() -> None:
    hidden, weighing = make_task("hidden-mass"), make_task("weighing")
    bits = Design.of(hidden).required
    assert in_phase(bits, hidden.windows["gap1"]) == {0}
    assert bits[hidden.decisions["slot"]] > 0
    bits = Design.of(weighing).required
    assert in_phase(bits, weighing.windows["gap1"]) == {2}
    assert in_phase(bits, weighing.phase_steps("place")) == {0}


def test_the_model_of_a_design_requires_what_the_design_says() -> None:
    task = PointMass(first_wait=1, wait=1)
    answer = certify(designed(task))
    np.testing.assert_allclose([step.upper for step in answer.steps], Design.of(task).required, atol=1e-9)
    assert len(configurations(task)["gate"]) == 4


def test_every_decision_has_its_class() -> None:
    task = PointMass(first_wait=1, wait=1)
    decides = Design.of(task).decides
    for name, t in task.decisions.items():
        assert decides[t] == name
