"""Worlds of `.pomdp` files with controllers, as processes."""

import json
from pathlib import Path

import pytest

from certify.errors import UserError
from certify.sources import pomdp
from certify.sources.process import load_process
from certify.stationary.answer import certify_forever

WORLD = Path(pomdp.__file__).parent / "data" / "tiger.pomdp"
WAIT = {
    "format": "certify-controller/1",
    "first": "n",
    "law": {"n": {"listen": "1"}},
    "moves": [["n", "hear-left", "n"], ["n", "hear-right", "n"]],
}


def test_a_world_and_a_controller_become_a_process(tmp_path: Path):
    controller = tmp_path / "wait.json"
    controller.write_text(json.dumps(WAIT), encoding="utf-8")
    answer = certify_forever(load_process(WORLD, controller))
    assert answer.certified
    assert answer.codes is not None
    assert answer.codes.count == 1


def test_a_table_of_observations_or_of_states_is_an_expert(tmp_path: Path):
    path = tmp_path / "table.json"
    heard = {"start": "listen", "hear-left": "open-right", "hear-right": {"open-left": "1"}}
    path.write_text(json.dumps({"format": "certify-policy/1", "by": "observation", "law": heard}), encoding="utf-8")
    assert certify_forever(load_process(WORLD, path)).regime == 1
    seen = {"tiger-left": "open-right", "tiger-right": "open-left"}
    path.write_text(json.dumps({"format": "certify-policy/1", "by": "state", "law": seen}), encoding="utf-8")
    answer = certify_forever(load_process(WORLD, path))
    assert answer.regime == 2
    assert answer.certified


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ({"by": "node", "law": {}}, "by: expected 'observation', or 'state'"),
        ({"by": "state", "law": {"tiger-left": 1}}, "law.tiger-left: expected text"),
        ({"by": "state", "law": {"tiger-left": "listen"}}, "no law for the state 'tiger-right'"),
        ({"by": "observation", "law": {"start": "listen"}}, "no move from 'start' after 'listen' and 'hear-left'"),
        ({"by": "observation", "law": {"start": {"listen": "1/2"}}}, "sum to 1/2"),
        ({"by": "state"}, 'the key "law" is missing'),
    ],
)
def test_bad_tables_are_named(document: dict[str, object], reason: str, tmp_path: Path):
    path = tmp_path / "table.json"
    path.write_text(json.dumps({"format": "certify-policy/1", **document}), encoding="utf-8")
    with pytest.raises(UserError, match=reason):
        load_process(WORLD, path)


@pytest.mark.parametrize(
    ("world", "controller", "reason"),
    [
        (str(WORLD), "missing.json", "missing.json: cannot be read"),
        ("missing.pomdp", __file__, "missing.pomdp: cannot be read"),
        (str(WORLD), __file__, "expected an expert: .json"),
    ],
)
def test_bad_files_are_named(world: str, controller: str, reason: str):
    with pytest.raises(UserError, match=reason):
        load_process(world, controller)
