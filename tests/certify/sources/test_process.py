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
