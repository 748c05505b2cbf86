"""Scripts do to a single policy what `attribute` does to a batch; what does not repeat itself is refused."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rollout_twin import random_machine
from third_party_policies import Clinging, Closed, Open, Sly, Tables

from certify.errors import UserError
from certify.zoo import build
from diacritic.measure.audit_task import SymbolicAuditTask
from diacritic.measure.interventions import MachinePolicy, attribute, model_episodes
from diacritic.measure.policy_adapters import adapt
from diacritic.measure.scripted_policy import (
    Lost,
    PastScripts,
    ScriptedPolicy,
    SetState,
    StateScripts,
    boundary,
    decider,
    whole_episodes,
)

MODEL = build("gap", gap1=1, gap2=1)
TASK = SymbolicAuditTask(MODEL)
SCRIPTS = whole_episodes(TASK.episodes)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 5))
def test_scripts_agree_with_the_batch(seed: int, codes: int) -> None:
    """The same machine as a stranger with names, one episode at a time, and as a batch of codes."""
    machine = random_machine(MODEL, codes, seed).greedy()
    weights = np.random.default_rng(seed).dirichlet(np.ones(len(SCRIPTS)))
    wanted = attribute(MachinePolicy(machine), replace(model_episodes(MODEL), weights=weights), TASK.decisions)
    scripted = ScriptedPolicy(adapt(Tables(machine, MODEL)), TASK)
    listed = replace(TASK.episodes, weights=weights)
    assert attribute(StateScripts(), listed, TASK.decisions, decider(scripted, TASK.decide)) == wanted


def shares(policy: Any, form: StateScripts | PastScripts) -> list[tuple[float, ...]]:
    scripted = ScriptedPolicy(adapt(policy), TASK)
    attribution = attribute(form, TASK.episodes, TASK.decisions, decider(scripted, TASK.decide))
    effects = [(t.swap, t.shuffle, t.reset, t.freeze) for t in attribution.trials]
    return [tuple(e.partner if k == 0 else e.own for k, e in enumerate(row) if e is not None) for row in effects]


def test_each_place_of_memory_is_told_from_the_others() -> None:
    assert set(shares(Open(), StateScripts())) == {(1.0, 1.0, 0.0, 1.0)}
    assert set(shares(Sly(), StateScripts())) == {(0.0, 0.0, 1.0, 1.0)}
    assert set(shares(Closed(), PastScripts())) == {(1.0, 1.0, 0.0, 1.0)}  # a whole past moves all there is


def test_a_put_writes_the_state_of_another_script() -> None:
    scripted = ScriptedPolicy(adapt(Open()), TASK)
    one, two = SCRIPTS[0], SCRIPTS[-1]
    mixed = (*one[:4], SetState(two[:4]), *one[4:])
    names = TASK.model.graph.actions
    assert names[scripted.action(one)] == "put 0"
    assert names[scripted.action(mixed)] == "put 1"
    assert names[scripted.action((*one[:4], SetState(()), *one[4:]))] == "put 0"  # none yet counts as the first
    assert scripted.state(two[:4]).tolist() == [2, 2, 2]
    assert scripted.code(one) is None


def test_a_policy_that_an_intervention_loses_decides_nothing() -> None:
    class Brittle(Open):
        def act(self, observation: str) -> str:
            if observation.startswith("decide") and not self.state[1]:
                raise KeyError("no cue")
            return super().act(observation)

    scripted = ScriptedPolicy(adapt(Brittle()), TASK)
    lost = (*SCRIPTS[0][:4], SetState(()), *SCRIPTS[0][4:])
    with pytest.raises(Lost, match="policy: failed at step 6 of an episode: 'no cue'"):
        scripted.action(lost)
    scripts = np.empty(2, object)
    scripts[:] = [SCRIPTS[0], lost]
    assert decider(scripted, TASK.decide)(scripts, 6).tolist() == [scripted.action(SCRIPTS[0]), -1]


def test_what_survives_a_reset_is_found_and_played_round() -> None:
    actual = boundary(adapt(Clinging()), TASK, SCRIPTS)
    assert actual.leaks
    assert not boundary(adapt(Open()), TASK, SCRIPTS).leaks
    scripted = ScriptedPolicy(adapt(Clinging()), TASK, afresh=True)
    assert {scripted.state(script[:1])[2] for script in SCRIPTS} == {0}  # each script is played by a fresh copy


class Dice(Open):
    def act(self, observation: str) -> str:
        self.state[0] = np.random.random()
        return super().act(observation)


class Bolted(Clinging):
    def __deepcopy__(self, memo: dict[int, Any]) -> "Bolted":
        raise TypeError("not to be copied")


@pytest.mark.parametrize(
    ("policy", "said"),
    [(Dice(), "two copies of it do not agree"), (Bolted(), "it cannot be copied to tell which")],
    ids=["dice", "bolted"],
)
def test_what_does_not_repeat_itself_is_refused(policy: Any, said: str) -> None:
    with pytest.raises(UserError, match=rf"policy: does not repeat itself after reset\(\): .*{said}"):
        boundary(adapt(policy), TASK, SCRIPTS)


def test_a_late_change_of_mind_is_noticed() -> None:
    class Tiring(Open):
        tired = False

        def act(self, observation: str) -> str:
            return "wait" if self.tired else super().act(observation)

    scripted = ScriptedPolicy(adapt(policy := Tiring()), TASK)
    scripted.action(SCRIPTS[0])
    policy.tired = True
    with pytest.raises(UserError, match="after the same 5 steps it does something else"):
        scripted.action((*SCRIPTS[0][:6], SetState(()), SCRIPTS[0][6]))


def test_a_state_that_is_not_finite_is_refused() -> None:
    class Divergent(Open):
        def act(self, observation: str) -> str:
            self.state = self.state * np.nan if observation == "decide1" else self.state
            return "wait"

    scripted = ScriptedPolicy(adapt(Divergent()), TASK)
    with pytest.raises(UserError, match=r"policy\.state: is not finite after 5 steps"):
        scripted.action(SCRIPTS[0])
