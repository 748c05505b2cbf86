"""Forty tasks whose answers can be worked out by hand: bits of every step, and without a clock at a random step.

A row says what each step needs; where the bits without a clock are easy to see as well, they stand beside.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from certify import Model, certify

Step = Callable[[Any, tuple[str, ...]], tuple[str, Any]]
Row = tuple[Model, Sequence[float], float | None]
ROWS: dict[str, Row] = {}


def task(
    name: str, values: list[Any], horizon: int, step: Step, bits: Sequence[float], free: float | None = None
) -> None:
    """Hidden values that are equally likely."""
    weight = Fraction(1, len(values))
    ROWS[name] = Model.from_latents(horizon, [(value, weight) for value in values], step, name), bits, free


def binomial(n: int) -> list[float]:
    return [math.comb(n, k) / 2**n for k in range(n + 1)]


def entropy(chances: list[float]) -> float:
    return sum(-p * math.log2(p) for p in chances if p)


# waiting: a clock does it all; without one the steps so far must be counted
for n in range(1, 10):
    task(
        f"wait {n} steps, then go",
        [0],
        n + 1,
        lambda _, a, n=n: ("dark", "go" if len(a) == n else "wait"),
        [0] * (n + 1),
        math.log2(n + 1),
    )

# taking turns: the phase is the step modulo the period
for n in (2, 3):
    task(f"every {n} in turn", [0], 2 * n, lambda _, a, n=n: ("dark", f"do {len(a) % n}"), [0] * 2 * n, math.log2(n))

# a T-maze with k arms: the cue is carried through the hall to the fork; the hall needs no counting
for k, n in ((2, 1), (2, 3), (4, 2), (8, 1)):
    task(
        f"T-maze, {k} arms, hall of {n}",
        list(range(k)),
        n + 2,
        lambda cue, a, n=n: (
            (f"cue {cue}", "on") if not a else ("hall", "on") if len(a) <= n else ("fork", f"take {cue}")
        ),
        [0] + [math.log2(k)] * (n + 1),
        math.log2(k) * (n + 1) / (n + 2),
    )

# the same with the cue always in sight: nothing to remember
for k in (2, 4):
    task(
        f"T-maze, {k} arms, in full view",
        list(range(k)),
        4,
        lambda cue, a: (f"{'fork' if len(a) == 3 else 'hall'}, cue {cue}", f"take {cue}" if len(a) == 3 else "on"),
        [0] * 4,
        0,
    )

# n-back: what was seen n steps ago is named; of the symbols before the present one, those that are still to be named
for n, k in ((1, 2), (2, 2), (3, 2), (1, 3), (2, 3), (1, 4)):
    last = n + 2
    task(
        f"{n}-back of {k} symbols",
        list(product(range(k), repeat=last)),
        last,
        lambda seen, a, n=n: (str(seen[len(a)]), str(seen[len(a) - n]) if len(a) >= n else "none"),
        [math.log2(k) * sum(1 <= j <= last - n for j in range(t - n, t)) for t in range(1, last + 1)],
    )

# a PIN is shown digit by digit and asked for in the same order
for digits, base in ((1, 2), (2, 2), (3, 2), (4, 2), (2, 3)):
    task(
        f"PIN of {digits} digits, base {base}",
        list(product(range(base), repeat=digits)),
        2 * digits,
        lambda pin, a, d=digits: (f"digit {pin[len(a)]}", "read") if len(a) < d else ("enter", str(pin[len(a) - d])),
        [math.log2(base) * t for t in range(digits)] + [math.log2(base) * (digits - t) for t in range(digits)],
    )

# sorting n bits: only their number counts, and of that only what is not yet written down
for n in (2, 3, 4):
    written = []
    for t in range(n):
        zeros = binomial(n)
        written.append(entropy([sum(zeros[: t + 1]), *zeros[t + 1 :]]))
    task(
        f"sort {n} bits",
        list(product((0, 1), repeat=n)),
        2 * n,
        lambda row, a, n=n: (
            (f"bit {row[len(a)]}", "read") if len(a) < n else ("write", str(int(len(a) - n >= row.count(0))))
        ),
        [entropy(binomial(t)) for t in range(n)] + written,
    )

# a password of one bit, typed n times; a slip of the finger is erased, and after the last nothing is left to type
for n in (1, 2, 3):
    task(
        f"password typed {n} times, with typos",
        [(bit, *slips) for bit in range(2) for slips in product((0, 1), repeat=n)],
        n + 1,
        lambda h, a: (
            (f"password {h[0]}", "read") if not a else ("typo", "erase") if h[len(a)] else ("ready", f"type {h[0]}")
        ),
        [0] + [1] * (n - 1) + [0.5],
    )

# parity of all bits so far: one bit from the second step on; at a random step the past is even more often than odd
for horizon in (2, 4):
    task(
        f"parity of {horizon} bits",
        list(product((0, 1), repeat=horizon)),
        horizon,
        lambda row, a: (f"bit {row[len(a)]}", str(sum(row[: len(a) + 1]) % 2)),
        [0] + [1] * (horizon - 1),
        entropy([(horizon - 1) / (2 * horizon), (horizon + 1) / (2 * horizon)]),
    )

# a bandit whose arms are sure: the first pull decides, and then nothing seen says which arm it was
task(
    "bandit with two sure arms",
    [0, 1],
    5,
    lambda best, a: (
        "start" if not a else "win" if a[-1] == str(best) else "lose",
        "0" if not a else str(best),
    ),
    [0, 0, 1, 1, 1],
)

# an expert that mixes: two cues, two laws at the fork
task(
    "soft expert, two laws",
    [0, 1],
    3,
    lambda cue, a: (
        (f"cue {cue}", "on")
        if not a
        else ("hall", "on")
        if len(a) == 1
        else ("fork", {"left": Fraction(1 + cue, 3), "right": Fraction(2 - cue, 3)})
    ),
    [0, 1, 1],
    2 / 3,
)

# the context of a memory chain is needed in full until the query, and then one bit of it
for bits in (2, 3):
    task(
        f"memory chain, {bits} bits",
        list(product(product((0, 1), repeat=bits), range(bits))),
        4,
        lambda h, a: (
            (f"context {h[0]}", "0") if not a else ("dark", "0") if len(a) < 3 else (f"query {h[1]}", str(h[0][h[1]]))
        ),
        [0, bits, bits, 1],
        (2 * bits + 1) / 4,
    )


def test_there_are_forty() -> None:
    assert len(ROWS) == 40


@pytest.mark.parametrize("name", ROWS)
def test_by_hand(name: str) -> None:
    model, bits, free = ROWS[name]
    answer = certify(model)
    assert [step.rate for step in answer.steps] == pytest.approx(bits, abs=1e-9)
    actual = answer.clock_free
    assert sum(bits) / len(bits) - 1e-9 <= actual.lower <= actual.upper + 1e-12
    if free is not None:
        assert (actual.lower, actual.upper) == pytest.approx((free, free))
