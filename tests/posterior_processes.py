"""Processes whose expert knows more than a history tells and whose posteriors repeat: each in a way of its own."""

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from certify.stationary.process import Process

HALF, THIRD, QUARTER = Fraction(1, 2), Fraction(1, 3), Fraction(1, 4)
Law = dict[Any, Fraction]


def noisy_rounds() -> Process:
    """A coin is shown wrongly one time in four, then asked for; the next round has a coin of its own."""

    def move(x: tuple[str, int], action: str) -> Law:
        return {("ask", x[1]): Fraction(1)} if x[0] == "hint" else {("hint", coin): HALF for coin in (0, 1)}

    return Process.from_generative(
        {("hint", coin): HALF for coin in (0, 1)},
        lambda x: {str(x[1]): 1 - QUARTER, str(1 - x[1]): QUARTER} if x[0] == "hint" else "ask",
        lambda x: "look" if x[0] == "hint" else f"say{x[1]}",
        move,
    )


def two_hints_and_an_end() -> Process:
    """Two noisy hints at one of three doors, and an episode that ends when it is opened."""

    def shown(x: tuple[int, int]) -> Law | str:
        return "doors" if x[0] == 2 else {f"hint{d}": HALF if d == x[1] else QUARTER for d in range(3)}

    return Process.from_generative(
        {(0, door): THIRD for door in range(3)},
        shown,
        lambda x: f"open{x[1]}" if x[0] == 2 else "listen",
        lambda x, action: None if x[0] == 2 else {(x[0] + 1, x[1]): Fraction(1)},
    )


def uneven_wheel() -> Process:
    """A wheel of four unseen phases that are not equally likely at first; what the expert does gives them away."""
    return Process.from_generative(
        {0: HALF, 1: QUARTER, 2: Fraction(1, 8), 3: Fraction(1, 8)},
        lambda x: "dark",
        lambda x: "rest" if x < 2 else f"work{x}",
        lambda x, action: (x + 1) % 4,
    )


def two_traps() -> Process:
    """A loaded coin decides which of two places is never left: one blinks, the other repeats a noisy bit."""

    def move(x: tuple[str, int], action: str) -> Law:
        if x[0] == "door":
            return {("lamp", 0): Fraction(1)} if x[1] == 0 else {("noise", bit): HALF for bit in (0, 1)}
        if x[0] == "lamp":
            return {("lamp", 1 - x[1]): Fraction(1)}
        return {("noise", bit): HALF for bit in (0, 1)}

    return Process.from_generative(
        {("door", 0): THIRD, ("door", 1): 1 - THIRD},
        lambda x: {str(x[1]): 1 - QUARTER, str(1 - x[1]): QUARTER} if x[0] == "noise" else x[0],
        lambda x: f"do{x[1]}",
        move,
    )


def loaded_histories() -> Process:
    """One question is asked of the first and the third of three cues, and a hidden die blurs the answer: ~ is not an
    equivalence, and no law is certain."""

    def move(x: tuple[str, int, int], action: str) -> Law:
        kind, cue, _ = x
        if kind == "cue":
            return {("same", cue, 0): Fraction(1)}
        if kind == "same":
            asked = {("ask", cue, die): HALF * p for die, p in ((0, THIRD), (1, 1 - THIRD))}
            return {("own", cue, 0): Fraction(1)} if cue == 1 else {**asked, ("own", cue, 0): HALF}
        return {("cue", k, 0): THIRD for k in range(3)}

    return Process.from_generative(
        {("cue", k, 0): THIRD for k in range(3)},
        lambda x: x[0] if x[0] in ("same", "ask") else f"{x[0]}{x[1]}",
        lambda x: f"say{x[1] if x[2] else 1}" if x[0] == "ask" else "wait",
        move,
    )


def drifting() -> Process:
    """A bit that the expert acts on, and beside it a state that nobody sees and whose law never repeats."""
    noisy = [{"a": Fraction(3, 4), "b": Fraction(1, 4)}, {"b": Fraction(1)}]
    return Process.from_generative(
        {(bit, 0): HALF for bit in (0, 1)},
        lambda x: "dark",
        lambda x: noisy[x[0]],
        lambda x, action: {(int(action == "b"), x[1]): THIRD, (int(action == "b"), 1 - x[1]): 1 - THIRD},
    )


def halfway() -> Process:
    """The third state predicts what an even mixture of the others does, though it is like neither: posteriors over
    the three never repeat, and their predictions do."""
    laws = [{"a": Fraction(1)}, {"b": Fraction(1)}, {"a": HALF, "b": HALF}]

    def move(x: int, action: str) -> Law:
        if action == "b":
            return {0: QUARTER, 1: 1 - QUARTER} if x == 1 else {1: HALF, 2: HALF}
        return {0: 1 - QUARTER, 1: QUARTER} if x == 0 else {0: HALF, 2: HALF}

    return Process.from_generative({2: 1}, lambda x: "dark", lambda x: laws[x], move)


PROCESSES: dict[str, Callable[[], Process]] = {
    make.__name__.replace("_", "-"): make
    for make in (noisy_rounds, two_hints_and_an_end, uneven_wheel, two_traps, loaded_histories, drifting, halfway)
}
WITH_COLUMNS = ("drifting", "halfway")  # plain posteriors never repeat


def _full_row(rng: random.Random, size: int) -> dict[int, Fraction]:
    weights = [rng.randint(1, 3) for _ in range(size)]
    return {k: Fraction(w, sum(weights)) for k, w in enumerate(weights)}


def random_rounds(seed: int, drift: bool = False) -> Process:
    """Rounds of a few noisy hints at a hidden value that the expert knows; the round's end tells it all.

    Posteriors repeat, because a round forgets the one before. With `drift`, a state that nobody sees goes on for ever.
    """
    rng = random.Random(seed)
    values, hints, length = rng.randint(2, 3), rng.randint(2, 3), rng.randint(1, 2)
    ends = rng.random() < 0.3
    channel = [[_full_row(rng, hints) for _ in range(values)] for _ in range(length)]
    plan = [[_full_row(rng, 2)] * values for _ in range(length)]
    plan.append([{v: Fraction(3, 4), (v + 1) % values: QUARTER} for v in range(values)])
    first = _full_row(rng, values)

    def drifted(row: Law, unseen: int) -> Law:
        if not drift:
            return {(x, 0): p for x, p in row.items()}
        return {(x, y): p * (THIRD if y == unseen else 1 - THIRD) for x, p in row.items() for y in (0, 1)}

    def shown(x: tuple[tuple[int, int], int]) -> Law | str:
        (stage, value), _ = x
        return "ask" if stage == length else {f"hint{stage}{o}": p for o, p in channel[stage][value].items()}

    def move(x: tuple[tuple[int, int], int], action: str) -> Law | None:
        (stage, value), unseen = x
        if stage < length:
            return drifted({(stage + 1, value): Fraction(1)}, unseen)
        return None if ends else drifted({(0, v): p for v, p in first.items()}, unseen)

    return Process.from_generative(
        {((0, v), 0): p for v, p in first.items()},
        shown,
        lambda x: {f"do{a}": p for a, p in plan[x[0][0]][x[0][1]].items()},
        move,
    )
