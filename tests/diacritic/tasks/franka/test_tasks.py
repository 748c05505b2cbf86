"""What each task requires, certified from its symbols; parameters that cannot be; stratification."""

from typing import Any

import numpy as np
import pytest

from certify import Answer, UserError, certify
from diacritic.need.requirement import designed_model
from diacritic.tasks.franka.task import FrankaTask
from diacritic.tasks.franka.tasks import TASKS, Weighing, make_task


def profile(task: FrankaTask, answer: Answer) -> dict[str, set[float | None]]:
    """The certified requirement by phase, gaps only, and after the last decision."""
    rates = {name: {answer.steps[t].rate for t in window} for name, window in task.windows.items()}
    last = max(task.decisions.values())
    return rates | {"end": {step.rate for step in answer.steps[last + 1 :]}}


@pytest.mark.parametrize(
    ("name", "parameters", "expected"),
    [
        ("two-cues", {}, {"gap1": {2.0}, "gap2": {1.0}, "end": {0.0}}),
        ("two-cues", {"gap": 20}, {"gap1": {2.0}, "gap2": {1.0}, "end": {0.0}}),
        ("two-cues", {"classes": 4}, {"gap1": {4.0}, "gap2": {2.0}, "end": {0.0}}),
        ("full-reveal", {"modes": 4}, {"gap1": {2.0}, "gap2": {1.0}, "end": {0.0}}),
        ("full-reveal", {"modes": 128}, {"gap1": {2.0}, "gap2": {1.0}, "end": {0.0}}),
        ("readout-2", {"modes": 32}, {"gap1": {2.0}, "gap2": {1.0}, "end": {0.0}}),
        ("readout-2", {"modes": 128}, {"gap1": {2.0}, "gap2": {1.0}, "end": {0.0}}),
        ("readout-3", {"modes": 32}, {"gap1": {3.0}, "gap2": {3.0}, "end": {0.0}}),
    ],
)
def test_requirement_of_displayed_tasks(name: str, parameters: dict[str, int], expected: dict[str, set[float]]) -> None:
    task = make_task(name, **parameters)
    answer = certify(designed_model(task))
    assert profile(task, answer) == expected
    assert all(step.a2 and step.a4 and step.transitive for step in answer.steps)
    assert all(answer.steps[t].instantaneous == 0 for window in task.windows.values() for t in window)


@pytest.mark.parametrize("modes", [32, 128])
@pytest.mark.parametrize("name", ["readout-2", "readout-3"])
def test_history_of_readout_in_transport(name: str, modes: int) -> None:
    """H(H_t|Ō_t) = log₂ M + 1: the mode has been seen, the coin has been tossed, and neither is visible."""
    task = make_task(name, modes=modes)
    answer = certify(designed_model(task))
    for t in task.windows["gap2"]:
        assert answer.steps[t].history == pytest.approx(np.log2(modes) + 1)


@pytest.mark.parametrize(
    ("name", "parameters", "most"), [("two-cues", {}, 8), ("two-cues", {"classes": 4}, 32), ("full-reveal", {}, 64)]
)
def test_histories_per_level(name: str, parameters: dict[str, int], most: int) -> None:
    assert max(step.histories for step in certify(designed_model(make_task(name, **parameters))).steps) == most


def test_hidden_mass_needs_nothing_while_grasping() -> None:
    task = make_task("hidden-mass", modes=8)
    answer = certify(designed_model(task))
    grasp, carry = task.phase_steps("grasp"), task.windows["gap2"]
    assert {answer.steps[t].rate for t in grasp} == {0.0}
    assert {answer.steps[t].strong for t in grasp} == {1.0}
    assert [t for t, step in enumerate(answer.steps) if not step.a4] == [carry[0] - 1]
    assert all(step.transitive for step in answer.steps)
    assert [answer.steps[t].rate for t in (carry[-1], task.decisions["slot"])] == [1.0, 2.0]


def test_weighing_forgets_what_the_next_lift_will_show() -> None:
    task = make_task("weighing", gap=20)
    answer = certify(designed_model(task))
    decision, lowered = task.decisions["side"], task.reveals[-1] + 1
    assert {answer.steps[t].rate for t in range(lowered, decision + 1)} == {2.0}
    assert {step.rate for step in answer.steps[decision + 1 :]} == {0.0}
    again = next(t for t in task.sag_steps if t > decision)
    assert [t for t, step in enumerate(answer.steps) if not step.a4] == [again - 1]
    assert answer.steps[again - 1].strong == 2.0
    assert all(step.transitive for step in answer.steps)


@pytest.mark.parametrize(
    ("name", "parameters", "where"),
    [
        ("two-cues", {"gap": 0}, "two-cues.gap"),
        ("two-cues", {"first_gap": 0}, "two-cues.first_gap"),
        ("two-cues", {"classes": 8}, "two-cues.classes"),
        ("two-cues", {"leak": 9}, "two-cues.leak"),
        ("two-cues", {"jitter": 0.05}, "two-cues.jitter"),
        ("full-reveal", {"modes": 24}, "full-reveal.modes"),
        ("full-reveal", {"modes": 1024}, "full-reveal.modes"),
        ("readout-3", {"modes": 4}, "readout.modes"),
        ("readout-2", {"place_by": "third"}, "readout.place_by"),
        ("hidden-mass", {"modes": 2}, "hidden-mass.modes"),
        ("hidden-mass", {"gap": 1}, "hidden-mass.gap"),
        ("weighing", {"gap": 0}, "weighing.gap"),
        ("weighing", {"hold": 0}, "weighing.hold"),
        ("two-cues", {"gaps": 3}, "two-cues.gaps"),
        ("three-cues", {}, "task"),
    ],
)
def test_impossible_parameters_are_refused_in_one_line(name: str, parameters: dict[str, Any], where: str) -> None:
    with pytest.raises(UserError) as refused:
        make_task(name, **parameters)
    assert refused.value.where == where
    assert "\n" not in str(refused.value)


def test_aliases_and_parameters() -> None:
    for name in TASKS:
        task = make_task(name)
        assert type(task)(**task.parameters) == task
        assert task.known_name == name


def test_many_hidden_values_are_drawn_in_rounds_and_few_independently() -> None:
    rounds = {"weighing": {}, "readout-2": {}, "full-reveal": {"modes": 128}, "hidden-mass": {"modes": 512}}
    for name, parameters in rounds.items():
        task = make_task(name, **parameters)
        first, levels = next(iter(task.hidden.items()))
        assert np.ptp(np.bincount(task.draw(1024, 0)[first], minlength=levels)) == 0
        assert task.least_episodes == 1024
    for name in ("two-cues", "full-reveal", "hidden-mass"):
        task = make_task(name)
        drawn = task.draw(512, 0)
        assert np.ptp(np.bincount(drawn[next(iter(task.hidden))])) > 1
        assert np.bincount(drawn["hover"]).min() > 200
        assert task.least_episodes == 512
        assert np.ptp(np.bincount(task.draw(128, 0)[next(iter(task.hidden))])) == 0  # of few, every value as often
    assert make_task("two-cues", gap=20).least_episodes == 576


def test_masses_are_the_papers() -> None:
    heavy = make_task("hidden-mass", modes=512).masses({"mass": np.arange(512)})
    np.testing.assert_allclose(heavy, np.linspace(0.05, 2.0, 512))
    light = make_task("two-cues").masses({"theta": np.array([0, 31])})
    np.testing.assert_allclose(light, [0.05, 0.30])
    np.testing.assert_allclose(Weighing().masses({"mass": np.arange(4)}), [0.1, 0.9, 1.7, 2.5])
