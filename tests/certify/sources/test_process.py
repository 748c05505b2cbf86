"""Worlds of `.pomdp` files with controllers, as processes."""

import json
from pathlib import Path

import pytest

from certify.sources import pomdp
from certify.sources.process import load_process, main
from certify.stationary.answer import certify_forever
from certify.stationary.process import Process

WORLD = Path(pomdp.__file__).parent / "data" / "tiger.pomdp"
WAIT = {
    "format": "certify-controller/1",
    "first": "n",
    "law": {"n": {"listen": "1"}},
    "moves": [["n", "hear-left", "n"], ["n", "hear-right", "n"]],
}


def test_a_world_and_a_controller_become_a_process(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    controller = tmp_path / "wait.json"
    controller.write_text(json.dumps(WAIT), encoding="utf-8")
    process = load_process(WORLD, controller)
    answer = certify_forever(process)
    assert answer.certified
    assert answer.codes is not None
    assert answer.codes.count == 1
    assert main([str(WORLD), str(controller)]) == 0
    assert Process.from_json(capsys.readouterr().out).digest == process.digest


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "expected WORLD.pomdp CONTROLLER.json"),
        ([str(WORLD), "missing.json"], "missing.json: cannot be read"),
        (["missing.pomdp", __file__], "missing.pomdp: cannot be read"),
        ([str(WORLD), __file__], "not JSON"),
    ],
)
def test_refusals_are_one_line(arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert reason in error
    assert len(error.splitlines()) == 1
