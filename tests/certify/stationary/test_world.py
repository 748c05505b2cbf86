"""Worlds, controllers and processes: building, reading, refusing."""

import json
from fractions import Fraction

import pytest

from certify.errors import UserError
from certify.sources.pomdp import classic
from certify.stationary.answer import certify_forever
from certify.stationary.process import Process
from certify.stationary.world import Controller, Privileged, World
from certify.stationary.zoo import TASKS, build

LAWS = {"0": {"listen": 1}, "L": {"listen": 1}, "R": {"listen": 1}, "l": {"open-right": 1}, "r": {"open-left": 1}}
LISTEN_TWICE: dict[str, object] = {
    "format": "certify-controller/1",
    "first": "0",
    "law": LAWS,
    "moves": [
        ["0", "hear-left", "L"],
        ["0", "hear-right", "R"],
        ["L", "hear-left", "l"],
        ["L", "hear-right", "0"],
        ["R", "hear-right", "r"],
        ["R", "hear-left", "0"],
        *([n, "open-right" if n == "l" else "open-left", o, "0"] for n in "lr" for o in ("hear-left", "hear-right")),
    ],
}


def tiger() -> World:
    return World.from_problem(classic("tiger"))


def test_a_pomdp_file_with_a_controller_is_answered_for_ever():
    controller = Controller.from_json(json.dumps(LISTEN_TWICE))
    answer = certify_forever(tiger().process(controller))
    assert answer.regime == 1
    assert answer.certified
    assert answer.process.observations[0] == "start"
    assert answer.codes is not None
    assert answer.codes.count == 3  # as much heard on both sides, or once more on one of them


def test_a_reactive_table_needs_no_memory():
    laws = {"start": "listen", "hear-left": "open-right", "hear-right": {"open-left": "1/3", "listen": "2/3"}}
    answer = certify_forever(tiger().process(Controller.table(laws)))
    assert answer.rates is not None
    assert answer.rates.mean.bits == 0
    assert answer.codes is not None
    assert answer.codes.count == 1


def test_a_randomised_controller_hides_its_node():
    first = {"start": "a"}
    laws = {"a": {"listen": 1}, "b": {"open-left": 1}}
    moves = {(n, o): {"a": "1/2", "b": "1/2"} for n in "ab" for o in ("hear-left", "hear-right")}
    answer = certify_forever(tiger().process(Controller(first, laws, moves)))
    assert answer.regime == 3  # posteriors of the tiger never repeat, yet no window of them matters
    assert answer.certified
    assert answer.rates is not None
    assert answer.rates.mean.bits == 0  # P(A | H) is the same coin after every history
    assert answer.mixed[:3] == ("start", "listen", "hear-left")


def test_a_privileged_expert_acts_on_the_state():
    expert = Privileged({"tiger-left": "open-right", "tiger-right": "open-left"})
    answer = certify_forever(tiger().process(expert))
    assert answer.regime == 2
    assert answer.certified


def test_a_world_may_end_and_show_something_first():
    world = World(
        ("left", "right"),
        ("go", "stop"),
        ("dark", "lit"),
        {0: Fraction(1, 2), 1: Fraction(1, 2)},
        [[{1: Fraction(1)}, {0: Fraction(1)}], [{}, {}]],
        [[{0: Fraction(1)}, {1: Fraction(1)}]] * 2,
        [{0: Fraction(1)}, {1: Fraction(1)}],
    )
    process = world.process(Controller.table({"dark": "go", "lit": "stop"}))
    assert process.ends
    assert process.observations == ("dark", "lit")
    answer = certify_forever(process)
    assert answer.rates is not None
    assert answer.rates.profile[1].bits == 0


@pytest.mark.parametrize("name", TASKS)
def test_a_process_survives_its_document(name: str):
    process = build(name)
    again = Process.from_json(process.to_json())
    assert again.digest == process.digest
    assert again.after == process.after or again.actions != process.actions
    assert Process.from_json(again.to_json()) == again


def edited(**changes: object) -> str:
    return json.dumps({**json.loads(build("delayed-cue").to_json()), **changes})


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ("[]", "expected an object"),
        ("{}", "certify-process/1"),
        ("{", "not JSON"),
        (edited(states={}), "states: expected a list"),
        (edited(start=[[0, "1/2"]]), "start: not a distribution"),
        (edited(start=[[99, "1"]]), r"start\[0\]: expected \[state, probability\]"),
        (edited(start=[[True, "1"]]), r"start\[0\]: expected \[state, probability\]"),
        (edited(start=[["0", "1"]]), r"start\[0\]: expected \[state, probability\]"),
        (edited(start=[[0, "1/2"], [0, "1/2"]]), r"start\[1\]: state 0 is listed twice"),
        (edited(start=[[0, 0.5], [1, float("nan")]]), r"start\[1\]: expected a rational"),
        (edited(states=[{"obs": 3, "law": {"a": 1}}], start=[[0, 1]]), r"states\[0\].obs: expected text"),
        (edited(states=[{"obs": "o", "law": {"a": 2}}], start=[[0, 1]]), r"states\[0\].law: not a distribution"),
        (edited(states=[{"obs": "o", "law": {"a": -1, "b": 2}}], start=[[0, 1]]), "not a distribution"),
        (edited(states=[{"obs": "o", "law": {"a": 1}, "moves": {"b": [[0, 1]]}}], start=[[0, 1]]), "leave it out"),
        (edited(states=[{"obs": "o", "law": {"a": 1}, "move": {}}], start=[[0, 1]]), 'unknown key "move"'),
        ('{"format": "certify-process/1", "states": [], "states": [], "start": []}', "given twice"),
    ],
)
def test_bad_processes_are_refused_in_one_line(document: str, reason: str):
    with pytest.raises(UserError, match=reason) as caught:
        Process.from_json(document)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"format": "x"}, "format: expected 'certify-controller/1'"),
        ({"law": {"0": {"listen": 1}}}, "controller.law: no law for the node"),
        ({"law": {**LAWS, "0": {"sing": 1}}}, "takes 'sing'"),
        ({"moves": []}, "controller.moves: no move from '0'"),
        ({"moves": [["0"]]}, r"moves\[0\]: expected \[node, action"),
        ({"moves": [["0", "x", "L"], ["0", "x", "L"]]}, r"moves\[1\]: the same move"),
        ({"first": {"elsewhere": "0"}}, "controller.first: no node for the first observation 'start'"),
        ({"first": 3}, "first: expected text"),
        ({"extra": 3}, 'unknown key "extra"'),
    ],
)
def test_bad_controllers_are_refused_in_one_line(changes: dict[str, object], reason: str):
    with pytest.raises(UserError, match=reason):
        tiger().process(Controller.from_json(json.dumps(LISTEN_TWICE | changes)))
