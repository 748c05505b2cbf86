"""KISS2 machines as models: by hand, back from our own export, and every refusal with its line."""

import math
from fractions import Fraction
from pathlib import Path

import pytest

from certify.core.floors import Floor, floors
from certify.core.graph import Graph
from certify.core.joint import best_machine
from certify.core.model import Model
from certify.core.relations import compatibility, strong_classes
from certify.errors import UserError
from certify.machines.exports import to_kiss2
from certify.machines.kiss import load_kiss2, read_kiss2
from certify.machines.machine import Machine
from certify.zoo import build

# says 1 as soon as the last three letters were 1 0 1; a and d behave alike
DETECTOR = """# finds 101
.i 1
.o 1
.p 8
.s 4
.r a
0 a a 0
1 a b 0
0 b c 0
1 b b 0
0 c d 0
1 c b 1
0 d d 0
1 d b 0
.e
"""


def required(model: Model) -> list[Floor]:
    return floors(model.graph, compatibility(model.graph), strong_classes(model.graph))


def machine_of(model: Model) -> Machine:
    relations = compatibility(model.graph)
    joint = best_machine(model.graph, relations, required(model))
    return Machine.from_cells(joint.graph, joint.cells)


def shares(graph: Graph, t: int) -> dict[tuple[str, str], Fraction]:
    """P(observation, action) at step t."""
    level, shares = graph.levels[t - 1], {}
    for observation, law, mass in zip(level.observation, level.law, level.mass, strict=True):
        key = graph.observations[observation], graph.law_text(int(law))
        shares[key] = shares.get(key, 0) + Fraction(int(mass), level.total)
    return shares


def binary_entropy(p: float) -> float:
    return -p * math.log2(p) - (1 - p) * math.log2(1 - p)


def test_a_sequence_detector_by_hand() -> None:
    model = read_kiss2(DETECTOR, horizon=4, name="detector")
    assert (model.name, model.horizon) == ("detector", 4)
    assert shares(model.graph, 1) == {("0", "0"): Fraction(1, 2), ("1", "0"): Fraction(1, 2)}
    assert shares(model.graph, 3) == {
        ("0", "0"): Fraction(1, 2),
        ("1", "0"): Fraction(3, 8),
        ("1", "1"): Fraction(1, 8),
    }
    actual = required(model)
    assert [floor.states for floor in actual] == [1, 2, 2, 2]
    # under a 0, whether a 1 came just before; under a 1, whether 1 0 came before it, which the output shows
    said = binary_entropy(1 / 4) / 2
    assert [floor.upper for floor in actual] == pytest.approx([0, 0.5, 0.5 + said, said])
    assert all(floor.proved for floor in actual)


def test_a_long_horizon_stays_small() -> None:
    model = read_kiss2(DETECTOR, horizon=300)
    assert max(level.size for level in model.graph.levels) <= 6
    assert required(model)[150].upper == pytest.approx(0.5 + binary_entropy(1 / 4) / 2)


def test_the_horizon_is_an_argument_or_a_comment_or_the_number_of_states() -> None:
    assert read_kiss2(DETECTOR).horizon == 4
    assert read_kiss2("# horizon 7\n" + DETECTOR).horizon == 7
    assert read_kiss2("# horizon 7\n" + DETECTOR, horizon=3).horizon == 3
    assert read_kiss2(".i 1\n.o 1\n- only only 1\n").horizon == 2


def test_weights_are_renormalised_over_the_letters_of_a_state() -> None:
    weights = "# weight 00 1/2\n# weight 01 0.25\n# weight 11 0\n"
    rows = "00 a b 0\n01 a b 1\n11 a b 1\n01 b b 0\n1- b b 1\n"
    graph = read_kiss2(weights + ".i 2\n.o 1\n" + rows, 2).graph
    assert shares(graph, 1) == {("00", "0"): Fraction(2, 3), ("01", "1"): Fraction(1, 3)}
    assert shares(graph, 2) == {("01", "0"): Fraction(1, 5), ("10", "1"): Fraction(4, 5)}


def test_bits_that_do_not_matter_stand_for_every_letter_and_equal_rows_may_overlap() -> None:
    wide = read_kiss2(".i 2\n.o 1\n-- a a 1\n1- a a 1\n")
    plain = read_kiss2(".i 2\n.o 1\n00 a a 1\n01 a a 1\n10 a a 1\n11 a a 1\n")
    assert wide.digest == plain.digest


def test_the_reset_state_decides_where_words_start() -> None:
    rows = "0 a a 0\n1 b b 1\n"
    assert set(shares(read_kiss2(".i 1\n.o 1\n" + rows).graph, 1)) == {("0", "0")}
    assert set(shares(read_kiss2(".i 1\n.o 1\n.r b\n" + rows).graph, 1)) == {("1", "1")}


def test_a_state_without_rows_ends_the_word() -> None:
    graph = read_kiss2(".i 1\n.o 1\n0 a stop 0\n1 a a 1\n", 3).graph
    assert shares(graph, 3) == {("end", "end"): Fraction(3, 4), ("0", "0"): Fraction(1, 8), ("1", "1"): Fraction(1, 8)}


def test_comments_wire_names_windows_lines_and_either_end_are_read() -> None:
    text = ".i 1\r\n.o 1\r\n.ilb x\r\n.ob y\r\n0 a a 1 # stay\r\n# rest\r\n.end\r\n\r\n# bye\r\n"
    assert read_kiss2(text).digest == read_kiss2(".i 1\n.o 1\n0 a a 1").digest


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("passive-t-maze", {}),
        ("gap", {}),
        ("memory-chain", {"bits": 2, "delay": 5}),
        ("re-reveal", {}),
        ("lost-cue", {}),
        ("modulo-counter", {"horizon": 5}),
        ("stochastic-expert", {}),
        ("signpost-corridor", {"W": 3}),
        ("three-histories", {}),
    ],
)
def test_our_own_export_needs_as_many_states_when_read_back(name: str, parameters: dict[str, int]) -> None:
    model = build(name, **parameters)
    again = read_kiss2(to_kiss2(machine_of(model)), model.horizon)
    assert [floor.states for floor in required(again)] == [floor.states for floor in required(model)]
    # the machine has chosen among what is compatible, so what comes back has classes in any case
    assert all(relation.transitive for relation in compatibility(again.graph))


def test_a_file_is_named_after_itself(tmp_path: Path) -> None:
    path = tmp_path / "detector.kiss2"
    path.write_text(DETECTOR)
    model = load_kiss2(path)
    assert model.name == "detector"
    assert model.digest == read_kiss2(DETECTOR).digest


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read: No such file"):
        load_kiss2(tmp_path / "none.kiss2")
    (tmp_path / "latin.kiss2").write_bytes(b".i 1\n# caf\xe9\n")
    with pytest.raises(UserError, match="not UTF-8 text"):
        load_kiss2(tmp_path / "latin.kiss2")
    (tmp_path / "marked.kiss2").write_bytes(b"\xef\xbb\xbf" + DETECTOR.encode())
    assert load_kiss2(tmp_path / "marked.kiss2").horizon == 4


def test_a_horizon_below_one_is_refused() -> None:
    with pytest.raises(UserError, match="horizon: expected a whole number of steps"):
        read_kiss2(DETECTOR, horizon=0)


HEAD = ".i 2\n.o 1\n"  # two lines


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("", 1, "without a row"),
        (HEAD + ".e\n# nothing\n", 3, "without a row"),
        (HEAD + "00 a b\n", 3, "expected 'input state next output', not 3 words"),
        (HEAD + "00 a b 1 1\n", 3, "not 5 words"),
        (".i 2\n00 a b 1\n", 2, "before .o"),
        (".o 1\n\n00 a b 1\n", 3, "before .i"),
        (HEAD + "0 a b 1\n", 3, "expected 2 input bits of 0, 1 or -, not '0'"),
        (HEAD + "0x a b 1\n", 3, "input bits"),
        (HEAD + "00 a b 11\n", 3, "expected 1 output bits"),
        (HEAD + "00 a b 2\n", 3, "output bits"),
        (HEAD + "00 a b 1\n01 a b -\n", 4, "the output '-' is not specified"),
        (HEAD + "00 a b 1\n01 a * 1\n", 4, "the next state '\\*' is not specified"),
        (HEAD + "00 a b 1\n01 a - 1\n", 4, "the next state '-' is not specified"),
        (HEAD + "00 * b 1\n", 3, "the present state '\\*' is not specified"),
        (HEAD + "0- a b 1\n00 a a 1\n", 4, "something else under input 00 in line 3"),
        (HEAD + "0- a b 1\n-1 a b 0\n", 4, "something else under input 01 in line 3"),
        (".i 19\n.o 1\n" + "-" * 19 + " a a 1\n", 3, "more than 262,144 inputs"),
        (HEAD + ".x 1\n", 3, "unknown directive '.x'"),
        (".i\n", 1, ".i takes one value, not 0"),
        (".i two\n", 1, "whole number, 1 to 999999, not 'two'"),
        (".o 0\n", 1, ".o takes a whole number"),
        (".i " + "9" * 5000, 1, ".i takes a whole number"),
        (HEAD + ".i 2\n", 3, ".i is given a second time"),
        (HEAD + ".r a\n.r a\n", 4, ".r is given a second time"),
        (HEAD + ".p 2\n00 a a 1\n", 3, ".p announces 2 rows, but there are 1"),
        (HEAD + ".s 1\n00 a b 1\n", 3, ".s announces 1 states, but there are 2"),
        (HEAD + ".r c\n00 a b 1\n", 3, "the reset state 'c' is in no row"),
        (HEAD + "00 a a 1\n.e\n01 a a 1\n", 5, "more after the end"),
        (HEAD + "# horizon\n00 a a 1\n", 3, "expected '# horizon N'"),
        (HEAD + "# horizon 0\n00 a a 1\n", 3, "expected '# horizon N'"),
        (HEAD + "# horizon 2\n# horizon 3\n00 a a 1\n", 4, "second time, after line 3"),
        (HEAD + "# weight 00\n00 a a 1\n", 3, "expected '# weight INPUT RATIONAL'"),
        (HEAD + "# weight 00 half\n00 a a 1\n", 3, "expected a rational"),
        (HEAD + "# weight 00 -1\n00 a a 1\n", 3, "the weight -1 is negative"),
        (HEAD + "# weight 00 1\n# weight 00 2\n00 a a 1\n", 4, "second weight, after line 3"),
        (HEAD + "# weight 01 1\n00 a a 1\n", 3, "input '01' is specified in no row"),
        ("# weight 00 0\n" + HEAD + "01 a b 1\n00 b a 1\n", 5, "every input that state 'b' specifies has weight 0"),
    ],
)
def test_every_refusal_names_its_line(text: str, line: int, reason: str) -> None:
    with pytest.raises(UserError, match=reason) as caught:
        read_kiss2(text)
    assert caught.value.where == f"line {line}"
