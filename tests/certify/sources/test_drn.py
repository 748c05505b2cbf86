"""Worlds in Storm's explicit format."""

from fractions import Fraction
from pathlib import Path

import pytest

from certify.errors import UserError
from certify.sources.drn import load_drn, read_drn
from certify.stationary.answer import certify_forever
from certify.stationary.world import Controller

FORK = """// a cue, then a fork that hides it
@type: POMDP
@value_type: rational
@parameters

@reward_models
steps
@nr_states
5
@nr_choices
7
@model
state 0 {0} [1] init
//[s=0]
\taction go [0]
\t\t1 : 1/3
\t\t2 : 2/3
state 1 {1} [1/2]
\taction left [1]
\t\t3 : 1
\taction right [0]
\t\t4 : 0.25
\t\t0 : 0.75
state 2 {1} [1/2]
\taction left [1]
\t\t4 : 1
\taction right [0]
\t\t3 : 1
state 3 {2} [0] goal
\taction __NOLABEL__ [0]
\t\t3 : 1
state 4 {2} [0]
\taction __NOLABEL__ [0]
\t\t4 : 1
"""


def test_states_actions_labels_and_rewards_are_exact():
    explicit = read_drn(FORK, "fork")
    world = explicit.world
    assert world.observations == ("z0", "z1", "z2")
    assert world.actions == ("go", "left", "right", "0")
    assert world.transitions[0][0] == {1: Fraction(1, 3), 2: Fraction(2, 3)}
    assert world.transitions[2][1] == {4: Fraction(1, 4), 0: Fraction(3, 4)}
    assert world.transitions[3][3] == {}, "a state that every action keeps ends the episode"
    assert explicit.labels[3] == ("goal",)
    assert explicit.rewards["steps"][1] == {"left": Fraction(3, 2), "right": Fraction(1, 2)}


def test_a_controller_acts_in_it_and_its_rewards_are_found_again():
    explicit = read_drn(FORK)
    laws = {"z0": "go", "z1": {"left": "1/2", "right": "1/2"}, "z2": "0"}
    process = explicit.world.process(Controller.table(laws))
    answer = certify_forever(process)
    assert answer.codes is not None
    assert answer.codes.count == 1
    states = {process.hidden[x][0]: x for x in range(process.size)}
    assert explicit.reward_of("steps", process, states[1]) == 1
    assert explicit.labels_of(process, states[3]) == ["goal"]
    assert explicit.labels_of(process, states[0]) == []


def test_an_action_that_a_state_does_not_have_is_refused():
    laws = {"z0": "left", "z1": "left", "z2": "0"}
    with pytest.raises(UserError, match="takes 'left' at 'z0', where it cannot be taken"):
        read_drn(FORK).world.process(Controller.table(laws))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("@model", "", "line 1: expected a DRN file"),
        ("POMDP", "MDP", "expected a POMDP"),
        ("1/3", "1/0", "line 16: expected a rational"),
        ("1/3", "1/2", "state 0: action go: not a distribution"),
        ("2 : 2/3", "9 : 2/3", "not a distribution of the 5 states"),
        ("state 1", "state 7", "line 18: expected state 1"),
        ("state 1 {1}", "state 1", "line 18: expected a state with its observation"),
        (" init", "", "no state is labelled init"),
        ("1 : 1/3", "one : 1/3", "line 16: expected 'STATE : PROBABILITY'"),
    ],
)
def test_refusals_name_the_place(old: str, new: str, reason: str, tmp_path: Path):
    path = tmp_path / "fork.drn"
    path.write_text(FORK.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UserError, match=reason.replace("(", r"\(")):
        load_drn(path)


def test_a_missing_file():
    with pytest.raises(UserError, match="cannot be read"):
        load_drn("missing.drn")
