"""The two tables, what they refuse, and certified machines written into them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rollout_twin import random_machine

from certify import UserError, certify
from certify.zoo import build
from diacritic.rollout.machine import CodeMachine, from_certified, packed, unpacked

MOVE = np.zeros((3, 4, 6), np.int64)
ACT = np.full((2, 4, 5), 0.2)


def test_sizes_come_from_the_tables() -> None:
    machine = CodeMachine(MOVE, ACT)
    assert (machine.codes, machine.observations, machine.actions) == (2, 4, 5)


@pytest.mark.parametrize(
    ("move", "act", "message"),
    [
        (MOVE[:2], ACT, r"move: expected integers of shape \[3, 4, 6\], not int64 \[2, 4, 6\]"),
        (MOVE.astype(float), ACT, "move: expected integers"),
        (MOVE - 1, ACT, "move: the entry -1 is not a code; expected 0…1"),
        (MOVE + 2, ACT, "move: the entry 2 is not a code; expected 0…1"),
        (MOVE, ACT[0], "act: expected shape"),
        (MOVE, ACT * 2, r"act\[0, 0\]: the row is not a distribution"),
        (MOVE, np.where(np.arange(5) == 1, np.nan, ACT), r"act\[0, 0\]: the row is not a distribution"),
        (MOVE, ACT + np.array([0.4, -0.4, 0, 0, 0]), r"act\[0, 0\]: the row is not a distribution"),
    ],
)
def test_bad_tables_are_refused_in_one_line(move: np.ndarray, act: np.ndarray, message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        CodeMachine(move, act)
    assert "\n" not in str(error.value)


def test_single_precision_rows_are_normalised() -> None:
    act = np.random.default_rng(0).dirichlet(np.ones(5), (2, 4)).astype(np.float32).astype(np.float64)
    assert abs(act.sum(axis=2) - 1).max() > 1e-9
    assert np.allclose(CodeMachine(MOVE, act).act.sum(axis=2), 1, atol=1e-15)


def test_greedy_takes_the_lowest_of_equals() -> None:
    act = ACT.copy()
    act[1, 2] = [0, 0.1, 0.4, 0.4, 0.1]
    greedy = CodeMachine(MOVE, act).greedy()
    assert greedy.act[0, 0].tolist() == [1, 0, 0, 0, 0]
    assert greedy.act[1, 2].tolist() == [0, 0, 1, 0, 0]


def test_another_models_machine_is_refused() -> None:
    machine = random_machine(build("gap"), 4, 0)
    with pytest.raises(UserError, match="machine: it knows 9 observations, but the model has"):
        machine.check(build("reveal"))


def test_a_certified_machine_keeps_its_moves_and_laws() -> None:
    model = build("stochastic-expert")
    machine = certify(model).machine
    tables, graph = from_certified(machine, model), model.graph
    seen = {graph.observations[k]: k for k in range(len(graph.observations))}
    done = {graph.actions[k]: k for k in range(len(graph.actions))}
    for first in machine.start:
        state, code = machine.begin(first), tables.begin(np.array([seen[first]]))
        for observation in ("dark", "choose"):
            state = machine.advance(state, "wait", observation)
            code = tables.advance(code, np.array([seen[observation]]), np.array([done["wait"]]))
            law = tables.act[code[0], seen[observation]]
            assert {name: law[k] for name, k in done.items() if law[k]} == {a: float(p) for a, p in state.law.items()}


@given(codes=st.integers(1, 20), seed=st.integers(0, 1000))
def test_a_machine_is_the_same_after_a_line_of_text(codes: int, seed: int) -> None:
    model = build("memory-chain", bits=2, delay=4)
    machine = random_machine(model, codes, seed).greedy()
    actual = unpacked(packed(machine), model)
    np.testing.assert_array_equal(actual.move, machine.move)
    np.testing.assert_array_equal(actual.act, machine.act)


def test_text_that_is_no_machine_is_refused() -> None:
    model = build("memory-chain", bits=2, delay=4)
    text = packed(random_machine(model, 3, 0).greedy())
    for wrong, message in (
        ("no machine", "is not a line of base64 text"),
        (text[4:], "bytes are not a machine with 7 observations and 2 actions"),
        ("", "0 bytes are not a machine"),
        (text[:-4] + "////", "chooses action 255 of 2"),
    ):
        with pytest.raises(UserError, match=message):
            unpacked(wrong, model)
    with pytest.raises(UserError, match="do not fit into bytes; 256 are possible"):
        packed(CodeMachine(np.zeros((301, 1, 2), np.int64), np.ones((300, 1, 1))))
