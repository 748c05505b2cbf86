"""Policies against the requirement: what they carry too much, what they lack, and what they get wrong."""

import re
from collections.abc import Hashable
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from certify_twin import Document, Twin, documents
from hypothesis import given, settings
from hypothesis import strategies as st

from certify import Model, UserError, certify
from certify.sources import policy as module
from certify.sources.policy import MachinePolicy, PolicyReport, machine_of
from certify.sources.pomdp import Controller, classic
from certify.zoo.registry import build

GAP = build("gap")  # start, two cues, three waits, decide on the first, three waits, decide on the second
REQUIRED = [0, 0, 1, 2, 2, 2, 2, 1, 1, 1, 1]


class Remembers:
    """Solves the gap toy from whatever past observations `keep` leaves it."""

    def __init__(self, keep: tuple[str, ...] = ("start", "cue1", "cue2", "wait", "decide1", "decide2")) -> None:
        self.keep = keep

    def reset(self) -> None:
        self.past: tuple[str, ...] = ()

    def act(self, observation: str) -> str:
        if observation.startswith(self.keep):
            self.past = (*self.past, observation)
        cues = dict.fromkeys(("cue1", "cue2"), "0") | dict(seen.split("=") for seen in self.past if "cue" in seen)
        return {"decide1": f"take {cues['cue1']}", "decide2": f"put {cues['cue2']}"}.get(observation, "wait")


class Exposed(Remembers):
    """The same, showing its memory."""

    @property
    def state(self) -> Any:
        return self.past


def test_the_minimal_machine_has_no_surplus_and_misses_nothing() -> None:
    answer = certify(GAP)
    report = machine_of(MachinePolicy(answer.machine), GAP)
    assert report.reproduces
    assert report.wrong == (0,) * 11
    assert report.differences == ()
    assert report.incomplete is None
    assert report.machine == answer.machine
    assert report.state is not None
    for told in (report.behaviour, report.state):
        assert told.bits == tuple(REQUIRED)
        assert told.surplus == told.missed == (0,) * 11
        assert told.surplus_pairs == told.missed_pairs == ()
    assert report.required == tuple((bits, bits) for bits in REQUIRED)
    assert report.text().startswith("gap: reproduces the expert on all 78 histories\n")


def test_a_policy_that_keeps_everything_has_surplus_in_its_state_alone() -> None:
    report = machine_of(Exposed(), GAP)
    assert report.reproduces
    assert report.behaviour.surplus == report.behaviour.missed == (0,) * 11
    assert report.state is not None
    assert report.state.bits == (0, 1, 2, 3, 3, 3, 3, 3, 3, 3, 3)
    assert report.state.surplus == (0, 2, 4, 4, 4, 4, 4, 12, 12, 12, 12)
    assert report.state.missed == (0,) * 11
    assert report.incomplete is None
    assert [len(level) for level in report.machine.states] == [2, 4, 8, 8, 8, 8, 8, 8, 8, 8, 8]
    first = report.state.surplus_pairs[0]
    assert first.text() == "step 2: (start z=0 -wait-> cue1=0) and (start z=1 -wait-> cue1=0)"
    assert len(report.state.surplus_pairs) == module.MOST_EXAMPLES
    assert "surplus by state, step 2: (start z=0" in report.text()
    opaque = machine_of(Remembers(), GAP)
    assert opaque.state is None
    assert opaque.behaviour == report.behaviour
    assert [len(level) for level in opaque.machine.states] == [2, 2, 4, 4, 4, 4, 4, 2, 2, 2, 2]
    assert "surplus by" not in opaque.text()


def test_a_forgetful_policy_misses_what_it_needs() -> None:
    report = machine_of(Exposed(("cue2",)), GAP, "forgetful")
    assert not report.reproduces
    assert (report.wrong_histories, report.histories) == (4, 78)
    assert report.wrong == tuple(Fraction(1, 2) if t == 6 else 0 for t in range(11))
    assert {(d.t, d.expert, d.policy) for d in report.differences} == {(7, "take 1", "take 0")}
    assert report.state is not None
    # from step 4 on, histories with different first cues share no continuation beyond the expert's decision on it
    assert report.behaviour.missed == (0, 0, 8, 16, 16, 16, 16, 0, 0, 0, 0)
    assert report.state.missed == (0, 0, 8, 8, 8, 8, 8, 0, 0, 0, 0)
    for told in (report.behaviour, report.state):
        pair = told.missed_pairs[0]
        assert (pair.t, pair.continuation) == (3, "-wait-> wait -wait-> wait -wait-> wait -wait-> decide1")
        assert pair.laws == ("take 0", "take 1")
    assert report.state.bits == (0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1)
    assert report.state.surplus == (0,) * 11
    text = report.text()
    assert text.startswith("forgetful: differs from the expert on 4 of 78 histories\n")
    assert "differs at step 7, after start z=0 -wait-> cue1=1" in text
    assert "missed by state, step 3: (" in text


def test_a_needless_difference_in_behaviour_is_surplus() -> None:
    class Fidgets(Remembers):
        def act(self, observation: str) -> str:
            due = super().act(observation)
            return "fidget" if observation == "decide2" and "start z=1" in self.past else due

    report = machine_of(Fidgets(), GAP)
    assert report.wrong[-1] == Fraction(1, 2)
    assert report.differences[0].policy == "fidget"
    assert report.behaviour.surplus == (0, 2, 4, 4, 4, 4, 4, 8, 8, 8, 8)
    assert report.behaviour.missed == (0, 0, 0, 2, 2, 2, 2, 4, 4, 4, 4)


def test_an_exposed_state_may_be_less_than_the_memory() -> None:
    class Partial(Remembers):
        state = 0

    report = machine_of(Partial(), GAP)
    assert report.reproduces
    assert report.state is not None
    assert report.state.missed == (0, 0, 8, 24, 24, 24, 24, 16, 16, 16, 16)
    assert report.incomplete == "step 7: a state holds histories of different law"
    assert f"the exposed state is not all of its memory: {report.incomplete}" in report.text()
    assert [len(level) for level in report.machine.states] == [2, 2, 4, 4, 4, 4, 4, 2, 2, 2, 2]


# ---- any model, any policy, against every pair one by one


class Table:
    """An arbitrary function of the whole history, with an arbitrary state."""

    def __init__(self, seed: int, labels: int) -> None:
        self.seed, self.labels = seed, labels

    def reset(self) -> None:
        self.past: tuple[str, ...] = ()

    def act(self, observation: str, previous: str | None) -> str:
        self.past = (*self.past, *([previous] if previous else []), observation)
        return "ab"[self.mix(2)]

    def mix(self, base: int) -> int:
        return sum((k + self.seed) * ord(letter) for k, letter in enumerate("".join(self.past))) % base

    @property
    def state(self) -> int:
        return self.mix(self.labels)


@settings(max_examples=100, deadline=None)
@given(documents(), st.integers(0, 50), st.integers(1, 3))
def test_distinctions_pair_by_pair(document: Document, seed: int, labels: int) -> None:
    twin, policy = Twin(document), Table(seed, labels)
    acts: dict[tuple[str, ...], str] = {}
    states: dict[tuple[str, ...], Hashable] = {}
    for history in (h for level in twin.levels for h in level):
        policy.reset()
        for k, observation in enumerate(history[::2]):
            acts[history] = policy.act(observation, history[2 * k - 1] if k else None)
        states[history] = policy.state

    def alike(t: int, h: tuple[str, ...], k: tuple[str, ...]) -> bool:
        common = twin.levels[t][h].support & twin.levels[t][k].support
        return acts[h] == acts[k] and all(alike(t + 1, (*h, *u), (*k, *u)) for u in common)

    report = machine_of(policy, Model.from_episodes(document))
    assert report.state is not None
    for t, level in enumerate(twin.levels):
        counts = {"behaviour": [0, 0], "state": [0, 0]}
        for h, k in combinations(level, 2):
            if h[-1] == k[-1]:
                required = (h, k) not in twin.compatible[t]
                for by, made in (("behaviour", not alike(t, h, k)), ("state", states[h] != states[k])):
                    counts[by][required] += required != made
        for told in (report.behaviour, report.state):
            assert [told.surplus[t], told.missed[t]] == counts[told.by]
        assert report.state.bits[t] == pytest.approx(twin.entropy(t, lambda h: states[h]))
        wrong = [facts.mass for h, facts in level.items() if facts.law != {(acts[h], Fraction(1))}]
        assert report.wrong[t] == sum(wrong)
    assert report.reproduces == all(
        facts.law == {(acts[h], Fraction(1))} for level in twin.levels for h, facts in level.items()
    )
    assert_machine_behaves(report, twin, acts)


def assert_machine_behaves(report: PolicyReport, twin: Twin, acts: dict[tuple[str, ...], str]) -> None:
    """The machine of the report does what the policy does, after every history."""
    for history in twin.levels[-1]:
        state = report.machine.begin(history[0])
        for t in range(twin.horizon):
            assert state.law == {acts[history[: 2 * t + 1]]: 1}
            if t + 1 < twin.horizon:
                state = report.machine.advance(state, history[2 * t + 1], history[2 * t + 2])


# ---- other models


def test_a_merged_model_is_unfolded() -> None:
    tiger = classic("tiger")
    laws = {-2: "open-right", 2: "open-left"}

    def count(node: int, action: str, observation: str) -> int:
        return 0 if action != "listen" else node + (1 if observation == "hear-right" else -1)

    model = tiger.model(Controller(0, lambda n: laws.get(n, "listen"), count), 5)
    assert any(np.any(level.paths > 1) for level in model.graph.levels)

    class Counts:
        def reset(self) -> None:
            self.state = 0

        def act(self, observation: str, previous: str | None = None) -> str:
            if previous is not None:
                self.state = count(self.state, previous, observation)
            return laws.get(self.state, "listen")

    report = machine_of(Counts(), model)
    assert report.reproduces
    assert report.histories == 31
    assert report.state is not None
    assert report.state.missed == (0,) * 5
    assert all(
        bits is not None and bits >= low for bits, (low, _) in zip(report.state.bits, report.required, strict=True)
    )


def test_a_random_expert_is_not_reproduced_by_a_certain_policy() -> None:
    model = build("stochastic-expert")

    class Left:
        def reset(self) -> None: ...

        def act(self, observation: str) -> str:
            return "L" if observation == "choose" else "wait"

    report = machine_of(Left(), model)
    assert report.wrong == (0, 0, 1)
    assert report.differences[0].expert == "L 7/10, R 3/10"
    with pytest.raises(UserError, match="acts at random, so it is not a deterministic policy"):
        machine_of(MachinePolicy(certify(model).machine), model)


def test_too_many_histories_are_refused() -> None:
    parity = Model.from_generative(
        40,
        {(0, 0): "1/2", (1, 1): "1/2"},
        lambda t, state: f"bit {state[0]}",
        lambda t, state: f"say {state[1]}",
        lambda t, state, action: {(bit, state[1] ^ bit): "1/2" for bit in (0, 1)},
        "parity",
    )
    with pytest.raises(UserError, match=re.escape(f"parity: has {2**40:,} histories; a policy is driven along 10,000")):
        machine_of(Remembers(), parity)


# ---- policies that are none


def test_what_is_no_policy_is_refused() -> None:
    class Mute:
        def reset(self) -> None: ...

    mute: Any = Mute()
    with pytest.raises(UserError, match=r"^policy: needs reset\(\) and act\(observation\)"):
        machine_of(mute, GAP)


def test_a_policy_that_does_not_reset_is_refused() -> None:
    class Leaks(Remembers):
        past = ()

        def reset(self) -> None: ...

        def act(self, observation: str) -> str:
            return f"{super().act(observation)} {len(self.past)}"

    with pytest.raises(UserError, match=r"^policy: does not repeat itself: after start z=0 it does wait 1, then"):
        machine_of(Leaks(), GAP)


def test_a_state_that_does_not_repeat_itself_is_refused() -> None:
    class Counts(Remembers):
        state = 0

        def act(self, observation: str) -> str:
            self.state += 1
            return super().act(observation)

    with pytest.raises(UserError, match=r"does not repeat itself: after .* it is in state 1, then 12"):
        machine_of(Counts(), GAP)


def test_an_error_of_the_policy_names_the_history() -> None:
    class Breaks(Remembers):
        def act(self, observation: str) -> str:
            return {}[observation] if observation == "cue2=1" else super().act(observation)

    with pytest.raises(UserError, match=r"^policy after start z=0 -wait-> cue1=0 -wait-> cue2=1: act failed: 'cue2=1'"):
        machine_of(Breaks(), GAP)


@pytest.mark.parametrize(
    "show",
    [
        lambda past: np.array([ord(letter) for letter in "".join(past)]),
        lambda past: [len(past), [*past]],
        lambda past: {"past": [*past]},
    ],
    ids=["array", "list", "dict"],
)
def test_states_are_compared_by_value(show: Any) -> None:
    class Shows(Remembers):
        @property
        def state(self) -> Any:
            return show(self.past)

    report, plain = machine_of(Shows(), GAP), machine_of(Exposed(), GAP)
    assert report.state is not None
    assert plain.state is not None
    assert report.state.surplus == plain.state.surplus


@pytest.mark.parametrize("state", [object(), {1, 2}], ids=["object", "set"])
def test_states_without_a_value_are_refused(state: Any) -> None:
    class Shows(Remembers):
        pass

    shows: Any = Shows()
    shows.state = state
    with pytest.raises(UserError, match=r"^policy.state: is a \w+, which has no value to compare; expose a tuple"):
        machine_of(shows, GAP)


def test_actions_are_read_as_symbols_are() -> None:
    steps = [{"obs": o, "action_law": {"1": 1}, "action": "1"} for o in ("a", "b")]
    model = Model.from_episodes([{"weight": 1, "steps": steps}])

    class One:
        def reset(self) -> None: ...

        def act(self, observation: str) -> Any:
            return np.int64(1)

    assert machine_of(One(), model).reproduces
