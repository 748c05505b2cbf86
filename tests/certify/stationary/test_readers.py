"""Documents of strangers: whatever is done to one, a reader accepts it or refuses it in one line."""

import copy
import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from certify.errors import UserError, inert
from certify.stationary.answer import Effort, certify_forever
from certify.stationary.machine import StationaryMachine, right_for_ever
from certify.stationary.process import Process
from certify.stationary.world import Controller
from certify.stationary.zoo import build

CONTROLLER = {
    "format": "certify-controller/1",
    "first": {"o": "n"},
    "law": {"n": {"a": "1/2", "b": "1/2"}, "m": {"a": "1"}},
    "moves": [["n", "a", "o", "m"], ["n", "b", "o", {"n": "1/2", "m": "1/2"}], ["m", "o", "n"]],
}
ODD: list[Any] = [None, True, -1, 0.5, 10**30, "", "1/0", "\ud800", "x" * 5000, [], {}, [[]], {"a": {}}, "1e999"]


def damaged(document: Any, rng: random.Random) -> str:
    """The document with a value replaced, removed or doubled, or with bytes flipped or cut off."""
    document = copy.deepcopy(document)
    if rng.random() < 0.4:
        text = json.dumps(document)
        at = rng.randrange(len(text))
        return text[:at] if rng.random() < 0.3 else text[:at] + chr(rng.randrange(1, 300)) + text[at + 1 :]
    holder: Any = document
    key: Any = rng.choice(list(document))
    while isinstance(holder[key], dict | list) and holder[key] and rng.random() < 0.8:
        holder = holder[key]
        key = rng.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    kind = rng.randrange(3)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, list):
        holder.append(copy.deepcopy(rng.choice(holder)))
    else:
        holder[key] = rng.choice(ODD)
    return json.dumps(document)


def use_process(text: str) -> None:
    process = Process.from_json(text)
    assert process.digest
    certify_forever(process, Effort(nodes=50, posteriors=50, window=0, horizon=0, steps=2, seconds=0.0))


def use_machine(text: str) -> None:
    machine = StationaryMachine.from_json(text)
    machine.to_json().encode()
    right_for_ever(machine, build("repeated-cues"))


MACHINE = json.loads(certify_forever(build("repeated-cues")).machine.to_json())
READERS: list[tuple[Any, Callable[[str], Any]]] = [
    (json.loads(build("delayed-cue").to_json()), use_process),
    (CONTROLLER, Controller.from_json),
    (MACHINE, use_machine),
]


@pytest.mark.parametrize(("document", "read"), READERS, ids=["process", "controller", "machine"])
def test_damaged_documents_are_read_or_refused(document: Any, read: Callable[[str], Any]):
    rng = random.Random(0)
    refusals: list[str] = []
    for _ in range(500):
        text = damaged(document, rng)
        try:
            read(text)
        except UserError as error:
            refusals.append(inert(str(error)))
    assert len(refusals) > 150
    assert all(len(line.splitlines()) == 1 for line in refusals)
