"""A symbolic task to audit policies on: the exact closed loop, the right actions, and what is asked of the state."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rollout_twin import random_machine
from third_party_policies import Open, Tables

from certify import Model, certify
from certify.errors import UserError
from certify.zoo import build
from diacritic.measure import audit_task
from diacritic.measure.audit_task import SymbolicAuditTask
from diacritic.measure.policy_adapters import adapt
from diacritic.measure.scripted_policy import ScriptedPolicy
from diacritic.rollout.exact import closed_loop
from diacritic.rollout.machine import from_certified
from diacritic.tasks.world import RecordedWorld


@settings(max_examples=20)
@given(st.sampled_from(["gap", "stochastic-expert", "lost-cue"]), st.integers(0, 10**6), st.integers(1, 5))
def test_the_closed_loop_is_that_of_the_machine(name: str, seed: int, codes: int) -> None:
    model = build(name)
    machine = random_machine(model, codes, seed).greedy()
    task = SymbolicAuditTask(model)
    rollout = task.closed_loop(ScriptedPolicy(adapt(Tables(machine, model)), task))
    assert rollout == pytest.approx(closed_loop(machine, model).success)


@pytest.mark.parametrize("name", ["gap", "reveal", "stochastic-expert"])
def test_a_certified_machine_succeeds(name: str) -> None:
    model = build(name)
    machine = from_certified(certify(model).machine, model).greedy()
    task = SymbolicAuditTask(model)
    actual = task.behave(ScriptedPolicy(adapt(Tables(machine, model)), task))
    assert actual.finding.answer == "yes"
    assert [control.passed for control in actual.controls] == [True, True]


def test_without_dynamics_the_recorded_world_answers() -> None:
    plain = Model.from_json(build("gap").to_json())  # the episodes alone
    assert plain.dynamics is None
    task = SymbolicAuditTask(plain)
    assert RecordedWorld(plain).starts()
    assert task.closed_loop(ScriptedPolicy(adapt(Open()), task)) == pytest.approx(1)


def test_a_wrong_decision_is_counted_where_it_is_made() -> None:
    class Stubborn(Open):
        def act(self, observation: str) -> str:
            return "take 0" if observation == "decide1" else super().act(observation)

    task = SymbolicAuditTask(build("gap"))
    actual = task.behave(ScriptedPolicy(adapt(Stubborn()), task))
    assert actual.finding.answer == "no"
    assert actual.controls[0].data == {"step 7": 0.5}
    assert actual.controls[0].text == "right throughout with probability 0.500; wrong at step 7 (50.0%)"
    assert actual.controls[1].data == pytest.approx(0.5)


def test_what_is_asked_follows_the_staircase() -> None:
    task = SymbolicAuditTask(build("gap", R1=4, R2=4))
    asked = {
        window: [(item.variable, item.required) for item in task.labels(window, steps[len(steps) // 2])]
        for window, steps in task.stretches.items()
    }
    first, second, start = ("seen at step 2", True), ("seen at step 3", True), ("seen at step 1", False)
    assert asked == {
        "step 3": [first, start],
        "steps 4–7": [first, second, start],
        "steps 8–11": [second, start, ("seen at step 2", False)],
    }
    loose = SymbolicAuditTask(build("three-histories"))
    assert [len(list(loose.labels(w, s[0]))) for w, s in loose.stretches.items()] == [0, 1]  # Γ_2 does not exist


def test_actions_come_as_names_numbers_or_scores() -> None:
    task = SymbolicAuditTask(build("gap"))
    names = [task.model.graph.actions[k] for k in range(5)]
    assert task.understand(names[3]) == task.understand(3) == task.understand(np.array([3])) == 3
    assert task.understand(np.eye(5)[[3]]) == 3


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("jump", "does 'jump', which is not an action of the task: wait"),
        (5, "its action is 5; expected a name, a number 0…4, or 5 finite scores"),
        (np.zeros(4), "its action is float64 of 4 entries; expected"),
        (np.full(5, np.nan), "its action is float64 of 5 entries; expected"),
        (None, "its action is float64 of 0 entries; expected"),
    ],
)
def test_other_actions_are_refused(raw: Any, said: str) -> None:
    with pytest.raises(UserError, match=f"policy: {said}"):
        SymbolicAuditTask(build("gap")).understand(raw)


def test_too_large_a_task_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_task, "MOST_EPISODES", 7)
    with pytest.raises(UserError, match=r"gap: has 8 episodes, and .* 7 at most; give a smaller instance"):
        SymbolicAuditTask(build("gap"))


def test_too_many_branches_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_task, "BRANCH_LIMIT", 3)
    gap = SymbolicAuditTask(build("gap"))
    actual = gap.behave(ScriptedPolicy(adapt(Open()), gap))
    assert actual.controls[1].passed is None
    assert actual.finding.because == "on the expert's histories every action is the expert's with probability 1.000"
