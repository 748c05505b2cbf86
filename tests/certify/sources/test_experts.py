"""Experts from the files of other programs."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from certify.errors import UserError
from certify.sources.experts import load_expert, read_alpha, read_fsc, read_policy_graph, read_policyx
from certify.sources.pomdp import classic
from certify.sources.process import load_process, load_world
from certify.stationary.answer import certify_forever
from certify.stationary.beliefs import AlphaVectors
from certify.stationary.exports import to_fsc
from certify.stationary.world import Controller, World

TIGER = World.from_problem(classic("tiger"))  # actions listen, open-left, open-right; hear-left, hear-right
GRAPH = "0 0 1 2\n1 1 0 0\n2 2 0 0\n"
ALPHA = "0\n1 1\n\n1\n-100 10\n\n2\n10 -100\n"
POLICYX = """<?xml version="1.0"?><Policy><AlphaVector vectorLength="2" numObsValue="1" numVectors="3">
<Vector action="0" obsValue="0">1 1</Vector>
<Vector action="1" obsValue="0">-100 10</Vector>
<Vector action="2" obsValue="0">10 -100</Vector>
</AlphaVector></Policy>"""


def test_a_policy_graph_of_pomdp_solve():
    controller = read_policy_graph(GRAPH, TIGER)
    answer = certify_forever(TIGER.process(controller))
    assert answer.certified
    assert answer.codes is not None
    assert answer.codes.count == 2


def test_the_first_node_is_the_vector_that_is_best_at_the_start(tmp_path: Path):
    (tmp_path / "tiger.pg").write_text("0 1 1 1\n1 0 1 1\n")
    (tmp_path / "tiger.alpha").write_text("1\n-100 10\n\n0\n1 1\n")
    controller = load_expert(tmp_path / "tiger.pg", TIGER)
    assert isinstance(controller, Controller)
    assert controller.begin("start") == 1


def test_alpha_vectors_of_both_programs_are_one_rule():
    rules = read_alpha(ALPHA, TIGER), read_policyx(POLICYX, TIGER)
    assert rules[0] == rules[1]
    assert rules[0].best({0: Fraction(1, 2), 1: Fraction(1, 2)}) == 0
    assert rules[0].best({0: Fraction(1)}) == 2


def test_a_rule_on_beliefs_acts_in_a_world_from_a_file(tmp_path: Path):
    path = tmp_path / "tiger.policyx"
    path.write_text(POLICYX)
    world = Path(load_world.__code__.co_filename).parent / "data" / "tiger.pomdp"
    answer = certify_forever(load_process(world, path))
    assert answer.certified
    assert answer.regime == 1


def test_a_controller_of_paynt_is_ours_again():
    answer = certify_forever(TIGER.process(read_policy_graph(GRAPH, TIGER)))
    back = TIGER.process(read_fsc(to_fsc(answer.machine), TIGER))
    again = certify_forever(back)
    assert again.rates is not None
    assert answer.rates is not None
    assert again.rates.mean.upper == answer.rates.mean.upper
    assert again.relation.count == answer.relation.count


def test_a_controller_of_paynt_that_draws_its_actions():
    laws = [{"0": 0.25, "1": 0.75}]
    document = {"num_nodes": 1, "action_function": [laws * 3], "update_function": [[0] * 3]}
    controller = read_fsc(json.dumps(document), TIGER)
    assert controller.act((0, "hear-left")) == {"listen": Fraction(1, 4), "open-left": Fraction(3, 4)}


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.txt", "", "expected an expert: .json"),
        ("a.pg", "0 0 1\n", "line 1: expected a node, an action and 2 next nodes"),
        ("a.pg", "0 9 1 1\n", "line 1: expected an action below 3"),
        ("a.alpha", "", "has no alpha vectors"),
        ("a.alpha", "0\n1 2 3\n", "line 2: expected 2 values, not 3"),
        ("a.alpha", "x\n1 2\n", "line 1: expected an action below 3"),
        ("a.policyx", "<Policy>", "not XML"),
        ("a.policyx", "<Policy/>", "has no alpha vectors"),
        ("a.policyx", '<P><Vector action="0" obsValue="3">1 2</Vector></P>', "partly observed"),
        ("a.json", '{"action_function": []}', "num_nodes: expected a whole number"),
        ("a.json", '{"num_nodes": 1, "action_function": []}', "action_function: has no row for node 0"),
        (
            "a.json",
            '{"num_nodes": 1, "action_function": [[7, 0, 0]], "update_function": [[0, 0, 0]]}',
            "expected actions by their number, below 3",
        ),
        (
            "a.json",
            '{"num_nodes": 1, "action_function": [[0, 0, 0]], "update_function": [[4, 0, 0]]}',
            "expected a node below 1",
        ),
        (
            "a.json",
            '{"num_nodes": 1, "action_function": [[{"0": 0.5}, 0, 0]], "update_function": [[0, 0, 0]]}',
            "the probabilities sum to 0.5",
        ),
    ],
)
def test_refusals_name_the_place(name: str, text: str, reason: str, tmp_path: Path):
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError) as refusal:
        load_expert(tmp_path / name, TIGER)
    assert reason in str(refusal.value)
    assert name in str(refusal.value)


def test_files_that_cannot_be_read(tmp_path: Path):
    for path in (tmp_path, tmp_path / "missing.pg"):
        with pytest.raises(UserError, match="cannot be read"):
            load_expert(path, TIGER)
    with pytest.raises(UserError, match="expected a world"):
        load_world(tmp_path / "world.txt")


def test_ties_go_to_the_first_vector():
    rule = AlphaVectors((("a", {0: Fraction(1)}), ("b", {0: Fraction(1)})))
    assert rule.best({0: Fraction(1)}) == 0
