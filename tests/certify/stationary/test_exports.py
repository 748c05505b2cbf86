"""Machines for other programs, and the names of their cells."""

import json
from fractions import Fraction

import pytest

from certify.errors import UserError
from certify.machines.kiss import read_kiss2
from certify.stationary.answer import Effort, StationaryAnswer, certify_forever
from certify.stationary.exports import export, to_drn, to_fsc, to_kiss2
from certify.stationary.machine import StationaryMachine
from certify.stationary.naming import cell_names
from certify.stationary.process import Process
from certify.stationary.zoo import TASKS, build


def answered(name: str, **parameters: int) -> StationaryAnswer:
    return certify_forever(build(name, **parameters), Effort(seconds=0.0, window=0))


@pytest.mark.parametrize(
    ("name", "cell"),
    [("delayed-cue", "hall [turn1 at fork]"), ("counter", "0 [say2]"), ("n-back", "0 [say0, say1 at 0]")],
)
def test_cells_are_named_by_the_decisions_they_stand_for(name: str, cell: str):
    assert cell in cell_names(answered(name).machine).values()


@pytest.mark.parametrize("name", TASKS)
def test_every_cell_has_its_own_name(name: str):
    names = cell_names(answered(name).machine)
    assert len(set(names.values())) == len(names)


def test_cells_that_nothing_tells_apart_are_numbered():
    one = {"a": Fraction(1)}
    twins = StationaryMachine(2, {"o": 0}, {(0, "a", "o"): 1, (1, "a", "o"): 0}, {("o", 0): one, ("o", 1): one})
    assert set(cell_names(twins).values()) == {"o [#0]", "o [#1]"}


@pytest.mark.parametrize("name", ["counter", "repeated-cues", "hallway", "tiger"])
def test_a_controller_for_paynt_plays_as_the_machine_does(name: str):
    """Every history of up to seven steps that the machine can meet."""
    machine = answered(name).machine
    fsc = json.loads(to_fsc(machine))
    seen, acts = fsc["observation_labels"], fsc["action_labels"]
    waiting = [(0, o, machine.first[o], 0) for o in machine.first]
    for node, observation, code, depth in waiting:
        z = seen.index(observation)
        assert {acts[int(a)]: p for a, p in fsc["action_function"][node][z].items()} == machine.laws[observation, code]
        for (source, action, after), target in machine.moves.items():
            possible = source == code and action in machine.laws[observation, code] and (after, target) in machine.laws
            if possible and depth < 6:
                waiting.append((fsc["update_function"][node][z], after, target, depth + 1))


def test_a_machine_that_draws_its_actions_is_not_a_controller_of_paynt():
    half = {"a": Fraction(1, 2), "b": Fraction(1, 2)}
    machine = StationaryMachine(1, {"o": 0}, {(0, "a", "o"): 0, (0, "b", "o"): 0}, {("o", 0): half})
    with pytest.raises(UserError, match="draws its actions"):
        to_fsc(machine)


def test_kiss2_is_read_back():
    text = to_kiss2(answered("counter", modulus=3).machine)
    assert ".s 4" not in text  # start, and a state for each class
    assert read_kiss2(text, horizon=3).horizon == 3


def test_a_chain_in_drn_has_exact_rows_that_sum_to_one():
    answer = answered("delayed-cue", mean=7)
    text = export(answer.machine, answer.process, "chain.drn")
    rows: list[Fraction] = []
    for line in text.split("@model\n")[1].splitlines():
        if line.startswith("state"):
            rows.append(Fraction(0))
        elif " : " in line:
            rows[-1] += Fraction(line.split(" : ")[1])
    assert rows == [1] * len(rows)
    assert f"@nr_states\n{len(rows)}\n" in text
    assert "6/7" in text


def test_labels_and_rewards_by_hidden_state():
    process: Process = build("delayed-cue")
    text = to_drn(answered("delayed-cue").machine, process, lambda x: [f"x{x}"], {"gain": lambda x: Fraction(x, 3)})
    assert "@reward_models\ngain\n" in text
    assert "state 2 [1/3] observation_1 code_" in text
    assert " x1\n" in text
