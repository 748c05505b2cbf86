"""Scripts do to a single policy what `attribute` does to a batch; what does not repeat itself is refused."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from foreign_twin import Clinging, Closed, Open, Sly, Tables
from hypothesis import given, settings
from hypothesis import strategies as st
from rollout_twin import random_machine

from certify.errors import UserError
from certify.zoo import build
from diacritic.measure.audit_task import SymbolicSetting
from diacritic.measure.interventions import MachinePolicy, attribute, model_episodes
from diacritic.measure.policy_adapters import adapt
from diacritic.measure.scripted_policy import Lost, Put, Replayed, Scripted, Stage, boundary, decider, whole_episodes

MODEL = build("gap", gap1=1, gap2=1)
SETTING = SymbolicSetting(MODEL)
SCRIPTS = whole_episodes(SETTING.episodes)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 5))
def test_scripts_agree_with_the_batch(seed: int, codes: int) -> None:
    """The same machine as a stranger with names, one episode at a time, and as a batch of codes."""
    machine = random_machine(MODEL, codes, seed).greedy()
    weights = np.random.default_rng(seed).dirichlet(np.ones(len(SCRIPTS)))
    wanted = attribute(MachinePolicy(machine), replace(model_episodes(MODEL), weights=weights), SETTING.decisions)
    stage = Stage(adapt(Tables(machine, MODEL)), SETTING)
    listed = replace(SETTING.episodes, weights=weights)
    assert attribute(Scripted(), listed, SETTING.decisions, decider(stage, SETTING.decide)) == wanted


def shares(policy: Any, form: Scripted | Replayed) -> list[tuple[float, ...]]:
    stage = Stage(adapt(policy), SETTING)
    found = attribute(form, SETTING.episodes, SETTING.decisions, decider(stage, SETTING.decide))
    effects = [(t.swap, t.shuffle, t.reset, t.freeze) for t in found.trials]
    return [tuple(e.partner if k == 0 else e.own for k, e in enumerate(row) if e is not None) for row in effects]


def test_each_place_of_memory_is_told_from_the_others() -> None:
    assert set(shares(Open(), Scripted())) == {(1.0, 1.0, 0.0, 1.0)}
    assert set(shares(Sly(), Scripted())) == {(0.0, 0.0, 1.0, 1.0)}
    assert set(shares(Closed(), Replayed())) == {(1.0, 1.0, 0.0, 1.0)}  # a whole past moves all there is


def test_a_put_writes_the_state_of_another_script() -> None:
    stage = Stage(adapt(Open()), SETTING)
    one, two = SCRIPTS[0], SCRIPTS[-1]
    mixed = (*one[:4], Put(two[:4]), *one[4:])
    names = SETTING.model.graph.actions
    assert names[stage.action(one)] == "put 0"
    assert names[stage.action(mixed)] == "put 1"
    assert names[stage.action((*one[:4], Put(()), *one[4:]))] == "put 0"  # none yet counts as the first
    assert stage.state(two[:4]).tolist() == [2, 2, 2]
    assert stage.code(one) is None


def test_a_policy_that_an_intervention_loses_decides_nothing() -> None:
    class Brittle(Open):
        def act(self, observation: str) -> str:
            if observation.startswith("decide") and not self.state[1]:
                raise KeyError("no cue")
            return super().act(observation)

    stage = Stage(adapt(Brittle()), SETTING)
    lost = (*SCRIPTS[0][:4], Put(()), *SCRIPTS[0][4:])
    with pytest.raises(Lost, match="policy: failed at step 6 of an episode: 'no cue'"):
        stage.action(lost)
    scripts = np.empty(2, object)
    scripts[:] = [SCRIPTS[0], lost]
    assert decider(stage, SETTING.decide)(scripts, 6).tolist() == [stage.action(SCRIPTS[0]), -1]


def test_what_survives_a_reset_is_found_and_played_round() -> None:
    found = boundary(adapt(Clinging()), SETTING, SCRIPTS)
    assert found.leaks
    assert not boundary(adapt(Open()), SETTING, SCRIPTS).leaks
    stage = Stage(adapt(Clinging()), SETTING, afresh=True)
    assert {stage.state(script[:1])[2] for script in SCRIPTS} == {0}  # each script is played by a fresh copy


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
        boundary(adapt(policy), SETTING, SCRIPTS)


def test_a_late_change_of_mind_is_noticed() -> None:
    class Tiring(Open):
        tired = False

        def act(self, observation: str) -> str:
            return "wait" if self.tired else super().act(observation)

    stage = Stage(adapt(policy := Tiring()), SETTING)
    stage.action(SCRIPTS[0])
    policy.tired = True
    with pytest.raises(UserError, match="after the same 5 steps it does something else"):
        stage.action((*SCRIPTS[0][:6], Put(()), SCRIPTS[0][6]))


def test_a_state_that_is_not_finite_is_refused() -> None:
    class Divergent(Open):
        def act(self, observation: str) -> str:
            self.state = self.state * np.nan if observation == "decide1" else self.state
            return "wait"

    stage = Stage(adapt(Divergent()), SETTING)
    with pytest.raises(UserError, match=r"policy\.state: is not finite after 5 steps"):
        stage.action(SCRIPTS[0])
