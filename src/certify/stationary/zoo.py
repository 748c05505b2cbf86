"""Tasks without a last step: each is a process made from a few lines of hidden state."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from inspect import signature

from certify.errors import UserError
from certify.stationary.process import Process

HALF = Fraction(1, 2)


def running_parity() -> Process:
    """A fair bit is shown at every step; the expert answers with the parity of all bits so far."""
    return counter(2)


def counter(modulus: int = 3) -> Process:
    """A fair bit is shown at every step; the expert answers with the number of ones so far, modulo `modulus`."""
    start = {(bit, bit % modulus): HALF for bit in (0, 1)}

    def move(x: tuple[int, int], action: str) -> dict[tuple[int, int], Fraction]:
        return {(bit, (x[1] + bit) % modulus): HALF for bit in (0, 1)}

    return Process.from_generative(start, lambda x: str(x[0]), lambda x: f"say{x[1]}", move, "counter")


def n_back(lag: int = 2) -> Process:
    """A fair bit is shown at every step; the expert repeats the bit of `lag` steps ago (0 before there was one)."""
    start: dict[tuple[int, ...], Fraction] = {(0,) * lag + (bit,): HALF for bit in (0, 1)}

    def move(x: tuple[int, ...], action: str) -> dict[tuple[int, ...], Fraction]:
        return {(*x[1:], bit): HALF for bit in (0, 1)}

    return Process.from_generative(start, lambda x: str(x[-1]), lambda x: f"say{x[0]}", move, "n-back")


def delayed_cue(cues: int = 2, mean: int = 10) -> Process:
    """A cue is shown once; after a geometric delay of `mean` steps a fork asks for it and the episode ends."""
    leave = Fraction(1, mean)

    def move(x: tuple[str, int], action: str) -> dict[tuple[str, int], Fraction] | None:
        if x[0] == "fork":
            return None
        return {("fork", x[1]): leave, ("hall", x[1]): 1 - leave}

    return Process.from_generative(
        {("cue", c): Fraction(1, cues) for c in range(cues)},
        lambda x: f"cue{x[1]}" if x[0] == "cue" else x[0],
        lambda x: f"turn{x[1]}" if x[0] == "fork" else "walk",
        move,
        "delayed-cue",
    )


def repeated_cues(cues: int = 2, show: int = 4, ask: int = 3) -> Process:
    """In a hall, a new cue appears with probability 1/`show` and a question about the last one with 1/`ask`."""
    new, question = Fraction(1, show), Fraction(1, ask)

    def move(x: tuple[str, int], action: str) -> dict[tuple[str, int], Fraction]:
        row = {("cue", c): new / cues for c in range(cues)}
        return row | {("ask", x[1]): question, ("hall", x[1]): 1 - new - question}

    return Process.from_generative(
        {("cue", c): Fraction(1, cues) for c in range(cues)},
        lambda x: f"cue{x[1]}" if x[0] == "cue" else x[0],
        lambda x: f"answer{x[1]}" if x[0] == "ask" else "walk",
        move,
        "repeated-cues",
    )


def memory_chain(bits: int = 2, mean: int = 10) -> Process:
    """A word of `bits` bits is shown once; after a geometric delay one of them is asked for and the episode ends."""
    leave = Fraction(1, mean)

    def move(x: tuple[str, str], action: str) -> dict[tuple[str, str], Fraction] | None:
        if x[0] not in ("cue", "hall"):
            return None
        return {(f"ask{k}", x[1]): leave / bits for k in range(bits)} | {("hall", x[1]): 1 - leave}

    words = [f"{number:0{bits}b}" for number in range(2**bits)]
    return Process.from_generative(
        {("cue", word): Fraction(1, len(words)) for word in words},
        lambda x: f"cue{x[1]}" if x[0] == "cue" else x[0],
        lambda x: f"say{x[1][int(x[0][3:])]}" if x[0].startswith("ask") else "wait",
        move,
        "memory-chain",
    )


def signpost_corridor(turns: int = 2, mean: int = 3) -> Process:
    """A signpost names the next `turns` turns; before each fork lies a hall of unknown length, then a new sign."""
    arrive = Fraction(1, mean)
    signs = [f"{number:0{turns}b}".replace("0", "L").replace("1", "R") for number in range(2**turns)]
    posts = {("sign", sign): Fraction(1, len(signs)) for sign in signs}

    def move(x: tuple[str, str], action: str) -> dict[tuple[str, str], Fraction]:
        left = x[1][1:] if x[0] == "fork" else x[1]
        return {("fork", left): arrive, ("hall", left): 1 - arrive} if left else posts

    return Process.from_generative(
        posts,
        lambda x: f"sign-{x[1]}" if x[0] == "sign" else x[0],
        lambda x: f"turn-{x[1][0]}" if x[0] == "fork" else "walk",
        move,
        "signpost-corridor",
    )


def blinker(period: int = 6) -> Process:
    """Nothing is ever shown; the expert flashes once in every `period` steps."""
    return Process.from_generative(
        {0: 1},
        lambda x: "dark",
        lambda x: "flash" if x == 0 else "wait",
        lambda x, action: (x + 1) % period,
        "blinker",
    )


def hallway(length: int = 3) -> Process:
    """Walk a hallway of `length` equal cells to the end where a light was on; a wall shows at both ends.

    At the wall the light of the next round is shown: left or right, a fair coin; from the same end the expert rests.
    """

    def observe(x: tuple[int, str]) -> str:
        return f"wall light-{x[1]}" if x[0] in (0, length + 1) else "hall"

    def expert(x: tuple[int, str]) -> str:
        home = 0 if x[1] == "left" else length + 1
        return "rest" if x[0] == home else f"go-{x[1]}"

    def move(x: tuple[int, str], action: str) -> dict[tuple[int, str], Fraction]:
        position = x[0] + {"go-left": -1, "go-right": 1, "rest": 0}[action]
        if position in (0, length + 1):
            return {(position, light): HALF for light in ("left", "right")}
        return {(position, x[1]): Fraction(1)}

    return Process.from_generative({(0, "left"): HALF, (0, "right"): HALF}, observe, expert, move, "hallway")


def tiger(lead: int = 2) -> Process:
    """Listen (17 of 20 times truly) until one side was heard `lead` times more often, then open the other door."""
    right = Fraction(17, 20)

    def heard(side: int, count: int) -> dict[tuple[int, int, int], Fraction]:
        return {(side, count + (1 if ear else -1), ear): right if ear == side else 1 - right for ear in (0, 1)}

    def expert(x: tuple[int, int, int]) -> str:
        return "listen" if abs(x[1]) < lead else ("open-left" if x[1] > 0 else "open-right")

    def move(x: tuple[int, int, int], action: str) -> dict[tuple[int, int, int], Fraction]:
        if action == "listen":
            return heard(x[0], x[1])
        return {(side, 0, 2): HALF for side in (0, 1)}

    start = {(side, 0, 2): HALF for side in (0, 1)}
    words = ("hear-left", "hear-right", "door-closed")
    return Process.from_generative(start, lambda x: words[x[2]], expert, move, "tiger")


def heaven_hell(arm: int = 2) -> Process:
    """A crossing with heaven on an unknown side; the expert walks `arm` cells to a sign, back, and to heaven's side."""

    def expert(x: tuple[str, int, str]) -> str:
        location, _, side = x
        return {"out": "down", "sign": "up", "back": "up", "crossing": side, "side": side}.get(location, side)

    def observe(x: tuple[str, int, str]) -> str:
        location, k, side = x
        if location == "sign":
            return f"sign-{side}"
        if location == "crossing" or (location == "out" and k == 0):
            return "crossing"
        return "arm" if location in ("out", "back") else "side-arm"

    def move(x: tuple[str, int, str], action: str) -> dict[tuple[str, int, str], Fraction] | None:
        location, k, side = x
        if location == "out":
            following = ("out", k + 1, side) if k + 1 <= arm else ("sign", 0, side)
        elif location == "sign":
            following = ("back", arm, side)
        elif location == "back":
            following = ("back", k - 1, side) if k > 1 else ("crossing", 0, side)
        else:
            following = ("side", 1, side) if location == "crossing" else None
        return None if following is None else {following: Fraction(1)}

    start = {("out", 0, side): HALF for side in ("left", "right")}
    return Process.from_generative(start, observe, expert, move, "heaven-hell")


def cheese_maze() -> Process:
    """McCallum's maze in the shape of an E: walls are seen, cells look alike, the cheese is under the middle arm."""
    walls = {1: "NW", 2: "NS", 3: "N", 4: "NS", 5: "NE", 6: "EW", 7: "EW", 8: "EW", 9: "ESW", 10: "ESW", 11: "ESW"}
    routes = {"down": {1: 6, 3: 7, 5: 8, 6: 9, 8: 11, 7: 10}, "up": {6: 1, 8: 5, 9: 6, 11: 8, 7: 3}}
    routes |= {"right": {1: 2, 2: 3, 3: 4, 4: 5}, "left": {2: 1, 3: 2, 4: 3, 5: 4}}
    plan = {9: "up", 6: "up", 11: "up", 8: "up", 1: "right", 2: "right", 5: "left", 4: "left", 3: "down", 7: "down"}
    plan[10] = "eat"
    others = [cell for cell in walls if cell != 10]

    def move(cell: int, action: str) -> dict[int, Fraction]:
        if action == "eat":
            return {other: Fraction(1, len(others)) for other in others}
        return {routes[action][cell]: Fraction(1)}

    return Process.from_generative(
        {cell: Fraction(1, len(others)) for cell in others},
        lambda cell: "cheese" if cell == 10 else walls[cell],
        lambda cell: plan[cell],
        move,
        "cheese-maze",
    )


def two_door_heist(floors: int = 2) -> Process:
    """A guard names one of two doors for each of `floors` floors; a lift stops for a random while before each floor.

    The thief must use the doors in the order in which they were named, then a new heist begins.
    """

    def observe(x: tuple[str, tuple[int, ...]]) -> str:
        return f"door-{x[1][-1]}" if x[0] == "briefing" else x[0]

    def move(x: tuple[str, tuple[int, ...]], action: str) -> dict[tuple[str, tuple[int, ...]], Fraction]:
        stage, doors = x
        if stage == "briefing" and len(doors) < floors:
            return {("briefing", (*doors, d)): HALF for d in (0, 1)}
        if stage == "floor":
            doors = doors[1:]
            if not doors:
                return {("briefing", (d,)): HALF for d in (0, 1)}
        return {("lift", doors): HALF, ("floor", doors): HALF}

    start: dict[tuple[str, tuple[int, ...]], Fraction] = {("briefing", (d,)): HALF for d in (0, 1)}
    return Process.from_generative(
        start,
        observe,
        lambda x: f"open-{x[1][0]}" if x[0] == "floor" else "wait",
        move,
        "two-door-heist",
    )


def three_histories() -> Process:
    """Three equally likely cues; one question is asked of the first and the third: compatibility is not transitive."""
    third = Fraction(1, 3)

    def move(x: tuple[str, int], action: str) -> dict[tuple[str, int], Fraction]:
        if x[0] == "cue":
            return {("same", x[1]): Fraction(1)}
        if x[0] == "same":
            own = {("own", x[1]): Fraction(1)}
            return own if x[1] == 1 else {("ask", x[1]): HALF, ("own", x[1]): HALF}
        return {("cue", k): third for k in range(3)}

    return Process.from_generative(
        {("cue", k): third for k in range(3)},
        lambda x: x[0] if x[0] in ("same", "ask") else f"{x[0]}{x[1]}",
        lambda x: f"say{x[1]}" if x[0] == "ask" else "wait",
        move,
        "three-histories",
    )


def noisy_cue(mean: int = 4) -> Process:
    """A privileged expert knows a coin that each step shows wrongly one time in four: infinitely many posteriors."""
    wrong, leave = Fraction(1, 4), Fraction(1, mean)

    def observe(x: tuple[str, int]) -> dict[str, Fraction] | str:
        return {str(x[1]): 1 - wrong, str(1 - x[1]): wrong} if x[0] == "hint" else "ask"

    def move(x: tuple[str, int], action: str) -> dict[tuple[str, int], Fraction] | None:
        return None if x[0] == "ask" else {("ask", x[1]): leave, ("hint", x[1]): 1 - leave}

    return Process.from_generative(
        {("hint", coin): HALF for coin in (0, 1)},
        observe,
        lambda x: f"say{x[1]}" if x[0] == "ask" else "look",
        move,
        "noisy-cue",
    )


@dataclass(frozen=True)
class Task:
    """A named task and its parameters."""

    name: str
    make: Callable[..., Process]

    @property
    def summary(self) -> str:
        return (self.make.__doc__ or "").splitlines()[0]

    @property
    def defaults(self) -> dict[str, int]:
        return {key: value.default for key, value in signature(self.make).parameters.items()}


_MAKERS = (running_parity, counter, n_back, delayed_cue, memory_chain, repeated_cues, signpost_corridor, blinker)
_MAKERS += (hallway, tiger, heaven_hell)
_MAKERS += (cheese_maze, two_door_heist, three_histories, noisy_cue)
TASKS = {name: Task(name, make) for make in _MAKERS for name in [make.__name__.replace("_", "-")]}


def build(name: str, **parameters: int | str) -> Process:
    """A task by name; parameters are whole numbers of at least 1."""
    if name not in TASKS:
        raise UserError("task", f"no task is called {name!r}; choose one of {', '.join(TASKS)}")
    chosen: dict[str, int] = {}
    for key, value in parameters.items():
        if key not in TASKS[name].defaults:
            names = ", ".join(TASKS[name].defaults) or "none"
            raise UserError(f"--{key}", f"not a parameter of {name}; its parameters: {names}")
        if not str(value).isdecimal() or not 1 <= int(value) <= 10_000:
            raise UserError(f"--{key}", f"expected a whole number from 1 to 10000, not {value!r}")
        chosen[key] = int(value)
    return TASKS[name].make(**chosen)
