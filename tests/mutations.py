"""Seeded damage to files: bytes flipped and cut, fields of documents removed, retyped, or made huge."""

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

ODD = [
    None,
    True,
    -1,
    0,
    3.5,
    10**30,
    float("nan"),
    float("inf"),
    "",
    "../x",
    "\x1b[31m",
    [],
    [[]],
    {},
    {"a": 1},
    [None],
]


def damaged(content: bytes, count: int, seed: int = 0) -> Iterator[bytes]:
    """The content with one to four bytes changed, or cut, or repeated."""
    draw = random.Random(seed)
    for _ in range(count):
        changed = bytearray(content)
        for _ in range(draw.randint(1, 4)):
            changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
        kind = draw.randrange(6)
        at = draw.randrange(len(changed))
        yield bytes(changed[:at]) if kind == 0 else bytes(changed + changed[at:]) if kind == 1 else bytes(changed)


def retyped(document: Any, count: int, seed: int = 0) -> Iterator[Any]:
    """The document with one entry, at any depth, removed or replaced by something odd."""
    draw = random.Random(seed)
    for _ in range(count):
        changed = copy.deepcopy(document)
        holder, key = draw.choice(list(_entries(changed)))
        if draw.random() < 0.2:
            del holder[key]
        else:
            holder[key] = draw.choice(ODD)
        yield changed


def texts(document: Any, count: int, seed: int = 0) -> Iterator[bytes]:
    """Half retyped documents, half damaged bytes."""
    for changed in retyped(document, count // 2, seed):
        yield json.dumps(changed).encode()
    yield from damaged(json.dumps(document).encode(), count - count // 2, seed)


def _entries(document: Any) -> Iterator[tuple[Any, Any]]:
    keys = list(document) if isinstance(document, dict) else range(len(document))
    for key in keys:
        yield document, key
        if isinstance(document[key], dict | list) and document[key]:
            yield from _entries(document[key])
