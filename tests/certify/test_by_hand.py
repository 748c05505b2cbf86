"""Over forty tasks whose answers can be worked out by hand: bits of every step, and without a clock at a random step.

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


# MiniGrid's memory: an object is seen, a hall walked through, and at the fork two objects are seen, one of them like
# the first. In the hall and at the fork the object is one fair bit; once the expert faces the right one, it walks on.
# The hall needs no counting, so without a clock it is the same bit at n + 1 of n + 3 steps.
for n in (1, 4):
    task(
        f"MiniGrid memory, hall of {n}",
        list(product(("ball", "key"), ("ball", "key"))),  # the first object, and the one on the left at the fork
        n + 3,
        lambda h, a, n=n: (
            (h[0], "on")
            if not a
            else ("hall", "on")
            if len(a) <= n
            else (f"{h[1]} on the left", "left" if h[0] == h[1] else "right")
            if len(a) == n + 1
            else (f"facing {h[0]}", "on")
        ),
        [0] + [1] * (n + 1) + [0],
        (n + 1) / (n + 3),
    )

# Tiger with three doors: each of two times one hears the tiger's door with probability 1/2, another one with 1/4.
# Having heard d twice, one opens d + 1; having heard two different doors, the third. Let e be heard at step 2. Then
# e + 2 is opened exactly if e + 1 was heard at step 1, which has probability 1/2·1/4 + 1/4·1/2 + 1/4·1/4 = 5/16.
# Before the doors, all alike and equally likely to be opened, it is log₂ 3. Without a clock, what is heard at step 1
# may have the label of the more likely case at step 2, since one hears again after the one and opens after the other.
# Half of what is heard is heard at step 1: at two steps of three the label is the less likely one in 5 of 32 cases.
HEARD = (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4))
TIGER = {
    (door, first, second): HEARD[(first - door) % 3] * HEARD[(second - door) % 3] / 3
    for door, first, second in product(range(3), repeat=3)
}
ROWS["tiger with three doors"] = (
    Model.from_latents(
        3,
        TIGER,
        lambda h, a: (
            (f"hear {h[1 + len(a)]}", "listen")
            if len(a) < 2
            else ("doors", f"open {(h[1] + 1) % 3 if h[1] == h[2] else 3 - h[1] - h[2]}")
        ),
    ),
    [0, entropy([5 / 16, 11 / 16]), math.log2(3)],
    2 / 3 * entropy([5 / 32, 27 / 32]) + math.log2(3) / 3,
)

# POPGym's MineSweeper on a row of five cells with one mine m. Shown is the number of mines beside the last click, 0 at
# first, and "end" after a mine. The expert clicks what is least likely a mine, the first such cell; by hand:
#     step 1: 0 for every m, click 0            (then m = 0 has ended)
#     step 2: 1 for m = 1, click 2;             0 for m = 2, 3, 4, click 1
#     step 3: 1 for m = 1, 2, click 3;          0 for m = 3, 4, click 2
#     step 4: 1 for m = 2, 3, click 4;          0 for m = 1, click 4, and for m = 4, click 3
# With a clock one bit is needed at step 4 under 0, which two of five mines show. Without one, every click that follows
# the same number is another case: under 0 the clicks 0, 1, 2, 4, 3 with weights 5, 3, 2, 1, 1, under 1 the clicks
# 2, 3, 4 with weights 1, 2, 2, of 20 in all.
CELLS = 5


def beside(mine: int, cell: int) -> int:
    return int(abs(mine - cell) <= 1)


def click(shown: list[tuple[int, int]]) -> int:
    clicked = {cell for cell, _ in shown}
    fits = [m for m in range(CELLS) if m not in clicked and all(beside(m, cell) == number for cell, number in shown)]
    return min((cell for cell in range(CELLS) if cell not in clicked), key=fits.count)


def sweep(mine: int, actions: tuple[str, ...]) -> tuple[str, str]:
    clicks = [int(action) for action in actions if action != "end"]
    if mine in clicks:
        return "end", "end"
    shown = [(cell, beside(mine, cell)) for cell in clicks]
    return str(shown[-1][1] if shown else 0), str(click(shown))


task(
    "MineSweeper on a row of five",
    list(range(CELLS)),
    4,
    sweep,
    [0, 0, 0, 2 / 5],
    12 / 20 * entropy([5 / 12, 3 / 12, 2 / 12, 1 / 12, 1 / 12]) + 5 / 20 * entropy([1 / 5, 2 / 5, 2 / 5]),
)


def test_there_are_forty_and_more() -> None:
    assert len(ROWS) == 44


@pytest.mark.parametrize("name", ROWS)
def test_by_hand(name: str) -> None:
    model, bits, free = ROWS[name]
    answer = certify(model)
    assert [step.rate for step in answer.steps] == pytest.approx(bits, abs=1e-9)
    actual = answer.clock_free
    assert sum(bits) / len(bits) - 1e-9 <= actual.lower <= actual.upper + 1e-12
    if free is not None:
        assert (actual.lower, actual.upper) == pytest.approx((free, free))
