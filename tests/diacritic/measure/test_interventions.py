"""Interventions name the carrier: the code passes; a bypass, an object's attribute and a leak are each found out."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from measure_twin import DECISION, Bare, Bypassed, Forgetful, Keeper, Memory, Reader, Sly, cue_episodes, literal_shares
from rollout_twin import random_machine

from certify import Model, certify
from certify.errors import UserError
from certify.zoo import build
from diacritic.measure.interventions import Attribution, Effect, MachinePolicy, Policy, Trial, attribute, model_episodes
from diacritic.measure.plugin import conditional_entropy
from diacritic.rollout.machine import from_certified

EPISODES = cue_episodes()


def tried(policy: Policy) -> Attribution:
    return attribute(policy, EPISODES, [DECISION])


def shares(trial: Trial) -> tuple[float, ...]:
    actual = [trial.swap, trial.shuffle, trial.reset, trial.freeze]
    swap, *others = [effect for effect in actual if effect is not None]
    return swap.partner, *(effect.own for effect in others)


def test_a_code_that_carries_passes() -> None:
    actual = tried(Keeper())
    assert actual.passed is True
    assert [(trial.after, trial.decision) for trial in actual.trials] == [(1, 3), (2, 3)]
    for trial in actual.trials:
        assert (trial.pairs, trial.exact, trial.decided) == (8, True, 1.0)
        assert shares(trial) == (1.0, 1.0, 0.0, 1.0)
        assert trial.swap is not None
        assert trial.swap.partner + trial.swap.own == 1


def test_a_bypass_fails_all_three() -> None:
    actual = tried(Bypassed())
    assert actual.passed is False
    assert shares(actual.trials[0]) == (0.0, 0.0, 1.0, 1.0)
    assert actual.trials[0].failures == (
        "step 4, changed after 2: swapped codes swap 0% of the decisions",
        "step 4, changed after 2: another past with the same code changes 100% of them",
        "step 4, changed after 2: 100% of the pairs are still distinguished without a code",
    )


def test_what_hides_in_the_object_is_moved_by_another_past() -> None:
    (trial, _) = tried(Sly()).trials
    assert trial.swap is not None
    assert trial.shuffle is not None
    assert (trial.swap.partner, trial.shuffle.partner) == (0.0, 1.0)


def test_what_the_observation_carries_stays_with_the_episode() -> None:
    actual = tried(Reader())
    assert actual.passed is False
    assert shares(actual.trials[0]) == (0.0, 1.0, 1.0, 1.0)  # another past changes nothing: it is no memory at all


def test_where_nothing_is_decided_there_is_nothing_to_attribute() -> None:
    actual = tried(Forgetful())
    assert actual.passed is None
    assert actual.failures == ()
    assert [trial.decided for trial in actual.trials] == [0.0, 0.0]
    assert attribute(Keeper(), EPISODES, [1]).trials == ()


def test_a_bare_array_is_all_of_the_memory() -> None:
    assert tried(Bare()).passed is True


def test_half_a_bypass_fails() -> None:
    """Two of four episodes, the heavier ones, are decided by a continuous state."""

    class Half(Bypassed):
        def look(self, state: Memory, observation: np.ndarray) -> Memory:
            lit = observation[:, 0] < 4
            after = super().look(state, observation)
            assert after.hidden is not None
            hidden = np.where(lit & (observation[:, 0] < 2), np.nan, after.hidden)  # nuisance 0: by the code
            return replace(after, code=np.where(lit, observation[:, 0] % 2, state.code), hidden=hidden)

        def choose(self, state: Memory, observation: np.ndarray) -> np.ndarray:
            assert state.hidden is not None
            return np.where(np.isnan(state.hidden), state.code, state.hidden).astype(int)

    weights = np.array([0.05, 0.05, 0.45, 0.45])
    attribution = attribute(Half(), replace(EPISODES, weights=weights), [DECISION])
    assert attribution.passed is False
    assert attribution.trials[0].swap is not None
    assert attribution.trials[0].swap.partner == pytest.approx(0.1)


def test_what_noise_could_tell_apart_is_not_attributed() -> None:
    class Partly(Keeper):
        def choose(self, state: Memory, observation: np.ndarray) -> np.ndarray:
            return np.where(np.arange(len(observation)) % 4 == 1, state.code, 0)

    attribution = attribute(Partly(), EPISODES, [DECISION], least=0.5)
    assert [trial.decided for trial in attribution.trials] == [0.5, 0.5]  # episode 1 against 0 and 2, both ways
    assert attribution.passed is None
    assert attribute(Partly(), EPISODES, [DECISION], least=0.49).trials[0].swap is not None


@pytest.mark.parametrize(
    ("pairs", "exact", "kept", "crossed", "failed"),
    [
        (16, False, 1.0, 0.0, True),
        (16, False, 0.25, 0.25, False),  # decided by lot
        (16, False, 0.35, 0.1, False),  # so may this be
        (512, False, 0.35, 0.1, True),
        (512, False, 0.35, 0.3, False),
        (16, True, 0.35, 0.1, True),
        (16, True, 0.05, 0.0, False),
    ],
)
def test_decisions_by_lot_tell_nothing_apart(
    pairs: int, exact: bool, kept: float, crossed: float, failed: bool
) -> None:
    erased = Effect(crossed, kept)
    trial = Trial("slot", 0, 1, pairs, exact, 1.0, Effect(1.0, 0.0), Effect(0.0, 1.0), erased, Effect(0.0, 1.0))
    said = f"slot: {kept - crossed:.0%} of the pairs are still distinguished without a code"
    assert trial.failures == ((said,) if failed else ())


@pytest.mark.parametrize("name", ["gap", "cue-corridor", "passive-t-maze", "signpost-corridor"])
def test_certified_machines_pass(name: str) -> None:
    model = build(name)
    machine = certify(model, seconds=10).machine
    assert machine is not None
    attribution = attribute(MachinePolicy(from_certified(machine, model)), *_decided(model))
    assert attribution.passed is True
    assert all(trial.exact and trial.decided == 1 for trial in attribution.trials)


@given(st.integers(0, 10**6), st.integers(1, 5))
def test_the_literal_twin_agrees(seed: int, codes: int) -> None:
    model = build("gap", gap1=1, gap2=1)
    policy = MachinePolicy(random_machine(model, codes, seed).greedy())
    episodes, decisions = _decided(model)
    weights = np.random.default_rng(seed).dirichlet(np.ones(len(episodes.weights)))
    episodes = replace(episodes, weights=weights)
    for trial in attribute(policy, episodes, decisions).trials:
        wanted = literal_shares(policy, episodes, trial.after, trial.decision)
        assert trial.decided == pytest.approx(wanted["decided"] / wanted["pairs"])
        if wanted["decided"]:
            expected = [wanted[name] / wanted["decided"] for name in ("swap", "shuffle", "reset", "freeze")]
            assert shares(trial) == pytest.approx(tuple(expected))
        else:
            assert trial.swap is None


def test_many_pairs_are_drawn_by_weight() -> None:
    weights = np.array([0.4, 0.4, 0.1, 0.1])
    attribution = attribute(Keeper(), replace(EPISODES, weights=weights), [DECISION], most=7)
    assert attribution.passed is True
    assert [(trial.pairs, trial.exact) for trial in attribution.trials] == [(7, False), (7, False)]
    exact = attribute(Keeper(), EPISODES, [DECISION], most=8)
    assert exact.trials[0].exact


def test_bad_input_is_refused_in_one_line() -> None:
    with pytest.raises(UserError, match="decisions: step 4 lies outside the 4 steps"):
        attribute(Keeper(), EPISODES, [4])

    class Nameless(Keeper):
        def begin(self, batch: int) -> Memory:
            return Memory(None)  # pyright: ignore[reportArgumentType]

        def look(self, state: Memory, observation: np.ndarray) -> Memory:
            return state

        def choose(self, state: Memory, observation: np.ndarray) -> np.ndarray:
            return observation[:, 1]

    with pytest.raises(UserError, match="policy: its state Memory has no field code or embedding"):
        attribute(Nameless(), EPISODES, [DECISION])


def _decided(model: Model) -> tuple:
    episodes = model_episodes(model)
    laws = zip(episodes.laws, episodes.symbols, strict=True)
    return episodes, [t for t, (g, o) in enumerate(laws) if conditional_entropy(g, o, episodes.weights) > 1e-9]
