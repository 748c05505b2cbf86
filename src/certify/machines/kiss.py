"""Read a Mealy machine in KISS2 as a model: what must be remembered of the input word to give the right outputs.

At every step the machine reads one input letter, which is the observation, and its output is the expert's action. Input
words start in the reset state and are as long as the horizon; letters that a state does not specify never come there.
A comment line ``# horizon N`` sets the horizon; otherwise it is the number of states, at least 2. Letters are drawn
uniformly from those that the state specifies, unless a comment line ``# weight INPUT RATIONAL`` gives a letter another
weight than 1. In a state without any row the word is over: from then on ``end`` is shown and done.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from pathlib import Path

from certify.core.exact import brief
from certify.core.model import Model
from certify.core.reading import MAX_BYTES, rational, read_text, total
from certify.errors import UserError

END = "end"
_MAX_LETTERS = 1 << 18  # that all rows together stand for
_MAX_MOVES = 20_000_000  # over the whole horizon
_IGNORED = {".ilb", ".ob"}  # names of the wires

Hidden = tuple[str, str, str]  # the state that is reached, the letter that is shown, the output


@dataclass
class _Row:
    line: int
    after: str
    output: str


@dataclass
class _Machine:
    """What the lines say, before it is a model."""

    numbers: dict[str, tuple[int, int]] = field(default_factory=dict)  # .i .o .p .s → (line, number)
    reset: tuple[int, str] | None = None
    horizon: tuple[int, int] | None = None
    weights: dict[str, tuple[int, Fraction]] = field(default_factory=dict)
    rows: int = 0
    letters: int = 0
    table: dict[str, dict[str, _Row]] = field(default_factory=dict)  # state → letter → row
    last: int = 1

    def comment(self, line: int, text: str) -> None:
        """A comment is free text unless it begins with the word horizon or weight."""
        words = text.split()
        if words[:1] == ["horizon"]:
            steps = _whole(words[1]) if len(words) == 2 else None
            if steps is None:
                raise _error(line, "expected '# horizon N' with a whole number of steps, 1 to 999999")
            if self.horizon is not None:
                raise _error(line, f"the horizon is given a second time, after line {self.horizon[0]}")
            self.horizon = line, steps
        elif words[:1] == ["weight"]:
            if len(words) != 3:
                raise _error(line, "expected '# weight INPUT RATIONAL'")
            if words[1] in self.weights:
                raise _error(line, f"input {words[1]} is given a second weight, after line {self.weights[words[1]][0]}")
            weight = rational(words[2], f"line {line}")
            if weight < 0:
                raise _error(line, f"the weight {brief(weight)} is negative")
            self.weights[words[1]] = line, weight
            total((w for _, w in self.weights.values()), f"line {line}")  # their denominators stay within bounds

    def directive(self, line: int, words: list[str]) -> None:
        name = words[0]
        if name in _IGNORED:
            return
        if name not in (".i", ".o", ".p", ".s", ".r"):
            raise _error(line, f"unknown directive {name!r}; expected .i, .o, .p, .s, .r or .e")
        if len(words) != 2:
            raise _error(line, f"{name} takes one value, not {len(words) - 1}")
        if name in self.numbers or (name == ".r" and self.reset):
            raise _error(line, f"{name} is given a second time")
        if name == ".r":
            self.reset = line, words[1]
        elif (number := _whole(words[1])) is None:
            raise _error(line, f"{name} takes a whole number, 1 to 999999, not {words[1]!r}")
        else:
            self.numbers[name] = line, number

    def row(self, line: int, words: list[str]) -> None:
        """``input state next output``; every letter that the input stands for gets an entry."""
        if len(words) != 4:
            raise _error(line, f"expected 'input state next output', not {len(words)} words")
        pattern, state, after, output = words
        for name, kind, text in ((".i", "input", pattern), (".o", "output", output)):
            if name not in self.numbers:
                raise _error(line, f"a row comes before {name} says how many bits there are")
            width = self.numbers[name][1]
            if len(text) != width or set(text) - set("01-"):
                raise _error(line, f"expected {width} {kind} bits of 0, 1 or -, not {text!r}")
        if "-" in output:
            raise _error(
                line, f"the output {output!r} is not specified in every bit, so the expert's action is unknown"
            )
        if after in ("*", "-"):
            raise _error(line, f"the next state {after!r} is not specified; leave out rows for inputs that never come")
        if state in ("*", "-"):
            raise _error(line, f"the present state {state!r} is not specified; write one row a state")
        self.rows += 1
        self.letters += 1 << pattern.count("-")
        if self.letters > _MAX_LETTERS:
            raise _error(line, f"the rows stand for more than {_MAX_LETTERS:,} inputs; write fewer - bits")
        entries = self.table.setdefault(state, {})
        for letter in map("".join, product(*("01" if bit == "-" else bit for bit in pattern))):
            first = entries.setdefault(letter, _Row(line, after, output))
            if (first.after, first.output) != (after, output):
                raise _error(line, f"state {state!r} does something else under input {letter} in line {first.line}")

    def states(self) -> list[str]:
        """In the order of their first mention as a present state, then as a next state."""
        afters = (row.after for entries in self.table.values() for row in entries.values())
        return list(dict.fromkeys([*self.table, *afters]))

    def check(self) -> None:
        """What can only be said at the end."""
        if not self.table:
            raise _error(self.last, "the file ends without a row, so there is no machine")
        for name, count, what in ((".p", self.rows, "rows"), (".s", len(self.states()), "states")):
            line, number = self.numbers.get(name, (0, count))
            if number != count:
                raise _error(line, f"{name} announces {number} {what}, but there are {count}")
        if self.reset and self.reset[1] not in self.states():
            raise _error(self.reset[0], f"the reset state {self.reset[1]!r} is in no row")
        letters = {letter for entries in self.table.values() for letter in entries}
        for letter, (line, _) in self.weights.items():
            if letter not in letters:
                raise _error(line, f"input {letter!r} is specified in no row")
        for state, entries in self.table.items():
            if not any(self.weight(letter) for letter in entries):
                line = min(row.line for row in entries.values())
                raise _error(line, f"every input that state {state!r} specifies has weight 0")

    def weight(self, letter: str) -> Fraction:
        return self.weights[letter][1] if letter in self.weights else Fraction(1)

    def step(self, state: str) -> dict[Hidden, Fraction]:
        """The next letter with all that it brings."""
        entries = self.table.get(state)
        if entries is None:
            return {(state, END, END): Fraction(1)}
        total = sum(map(self.weight, entries), Fraction(0))
        shares = ((letter, row, self.weight(letter) / total) for letter, row in entries.items())
        return {(row.after, letter, row.output): share for letter, row, share in shares if share}


def read_kiss2(text: str, horizon: int | None = None, name: str = "") -> Model:
    """The model of a machine in KISS2 text; `horizon` wins over the one in the text."""
    if horizon is not None and horizon < 1:
        raise UserError("horizon", f"expected a whole number of steps, at least 1, not {horizon}")
    machine = _parse(text)
    start = machine.reset[1] if machine.reset else next(iter(machine.table))
    steps = horizon or (machine.horizon[1] if machine.horizon else max(2, len(machine.states())))
    moves = sum(len(machine.table.get(row.after, ())) for rows in machine.table.values() for row in rows.values())
    if steps * max(1, moves) > _MAX_MOVES:
        line = machine.horizon[0] if machine.horizon and not horizon else machine.last
        raise _error(
            line, f"{steps} steps of {moves:,} moves each are more than {_MAX_MOVES:,}; choose a shorter horizon"
        )
    return Model.from_generative(
        steps,
        machine.step(start),
        observe=lambda _, hidden: hidden[1],
        expert=lambda _, hidden: hidden[2],
        move=lambda _, hidden, action: machine.step(hidden[0]),
        name=name,
    )


def load_kiss2(path: Path) -> Model:
    """The model of a KISS2 file, named after it."""
    return read_kiss2(read_text(path, "", MAX_BYTES), name=path.stem)


def _error(line: int, reason: str) -> UserError:
    return UserError(f"line {line}", reason)


def _whole(text: str) -> int | None:
    """A whole number from 1 to 999999."""
    return int(text) if text.isdecimal() and len(text) <= 6 and int(text) > 0 else None


def _parse(text: str) -> _Machine:
    machine = _Machine()
    ended = False
    for line, raw in enumerate(text.split("\n"), 1):
        content, _, comment = raw.partition("#")
        words = content.split()
        if not words:
            machine.comment(line, comment)
            continue
        machine.last = line
        if ended:
            raise _error(line, "there is more after the end of the machine")
        if words[0] in (".e", ".end"):
            ended = True
        elif words[0].startswith("."):
            machine.directive(line, words)
        else:
            machine.row(line, words)
    machine.check()
    return machine
