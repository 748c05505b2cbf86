"""Damaged files for readers: bytes and fields are changed by a seed, and only a `UserError` may come of it."""

import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from certify.errors import UserError

MUTANTS = 500
_DIGITS = "9" * 5000
_VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    0.5,
    10**30,
    int("9" * 4000),
    "",
    "1/0",
    "1e999",
    "-1e-999",
    "NaN",
    f"1/{'7' * 3999}",
    _DIGITS,
    "\x1b[2J\u202e\u2028[bold]",
    "\ud800",
    "x" * 100_000,
    [],
    {},
    [[]],
    [1, 2, 3],
    {"x": {"x": []}},
]
_TOKENS = b"0 1 -1 * : # \n \0 999999 1e999 1/3 uniform \xff -".split(b" ")


def damaged_bytes(content: bytes, seed: int) -> Iterator[bytes]:
    """Copies with bits flipped, parts lost, doubled, swapped or replaced."""
    rng = random.Random(seed)
    for _ in range(MUTANTS):
        data = bytearray(content)
        for _ in range(rng.choice((1, 1, 1, 2, 5))):
            begin = rng.randrange(len(data) + 1)
            end = min(len(data), begin + rng.choice((1, 1, 4, 30)))
            match rng.randrange(6):
                case 0 if begin < len(data):
                    data[begin] ^= 1 << rng.randrange(8)
                case 1:
                    del data[begin:]
                case 2:
                    del data[begin:end]
                case 3:
                    data[begin:begin] = data[begin:end]
                case 4:
                    data[begin:end] = rng.choice(_TOKENS)
                case _:
                    data[begin:end] = rng.randbytes(end - begin)
        yield bytes(data)


def damaged_documents(document: Any, seed: int) -> Iterator[str]:
    """JSON texts with a field removed, renamed, repeated, retyped or made huge."""
    rng = random.Random(seed)
    for _ in range(MUTANTS):
        mutant = copy.deepcopy(document)
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            fields = list(_fields(mutant))
            if fields:
                _damage(*rng.choice(fields), fields, rng)
        yield json.dumps(mutant)


def _fields(value: Any) -> Iterator[tuple[Any, Any]]:
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from _fields(value[key])


def _damage(container: Any, key: Any, fields: list[tuple[Any, Any]], rng: random.Random) -> None:
    match rng.randrange(5):
        case 0:
            del container[key]
        case 1 if isinstance(container, dict):
            container[rng.choice((f"{key}s", "\x1b[2J", "y" * 10_000, ""))] = container.pop(key)
        case 1:
            container.insert(rng.randrange(len(container)), copy.deepcopy(container[key]))
        case 2:
            other, position = rng.choice(fields)
            container[key] = copy.deepcopy(other[position])
        case _:
            container[key] = copy.deepcopy(rng.choice(_VALUES))


def check_reader(read: Callable[[Any], object], mutants: Iterator[Any]) -> None:
    """Every mutant is read, or refused in one short line; both must happen, or the test shows nothing."""
    refusals, accepted = list[str](), 0
    for mutant in mutants:
        try:
            read(mutant)
        except UserError as error:
            refusals.append(str(error))
        else:
            accepted += 1
    assert len(refusals) + accepted >= MUTANTS
    assert refusals
    assert accepted
    assert max(map(len, refusals)) < 2_000
