"""Read Cassandra's `.pomdp` text format: exact numbers, and every refusal names its line."""

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise, product
from typing import NamedTuple, NoReturn

from certify.core.exact import brief
from certify.core.reading import rational, total
from certify.errors import UserError
from certify.sources._problem import Pattern, Problem, Rewards, Row

MOST_NAMES = 100_000  # states, actions or observations
MOST_ENTRIES = 5_000_000  # actions × states × columns of a table
MOST_WRITES = 20_000_000  # of entries, by all statements together
_TOKEN = re.compile(
    r"""\#.* | (?P<colon>:) | (?P<star>\*) | (?P<number>([+-][ \t]*)?\.?\d[^\s:\#*]*) |
    (?P<name>[^\W\d][^\s:\#*]*) | (?P<odd>\S)""",
    re.VERBOSE,
)
_LISTS = ("states", "actions", "observations")
_PREAMBLE = ("discount", "values", *_LISTS)
_MARKS = ("E", "atom")  # of other dialects: states that end an episode, observations that a proposition names
_SECTIONS = (*_PREAMBLE, "start", "T", "O", "R")
_RESERVED = {*_SECTIONS, "include", "exclude", "reward", "cost", "uniform", "identity", "reset"}


class Token(NamedTuple):
    kind: str
    text: str
    line: int


def parse(text: str, name: str, tolerance: Fraction) -> Problem:
    """The problem that the text describes."""
    return _Reader(text, tolerance).read(name)


def _tokens(text: str) -> list[Token]:
    tokens: list[Token] = []
    for number, line in enumerate(text.split("\n"), 1):
        for match in _TOKEN.finditer(line):
            if match.lastgroup:  # not a comment
                tokens.append(Token(match.lastgroup, match[0], number))
    return [*tokens, Token("end", "the end of the file", text.rstrip().count("\n") + 1)]


def _fail(line: int, reason: str) -> NoReturn:
    raise UserError(f"line {line}", reason)


class _Table:
    """T or O while it is read: rows by (action, state), and the line that gave each last."""

    def __init__(self, letter: str, columns: str) -> None:
        self.letter, self.columns = letter, columns
        self.rows: dict[tuple[int, int], Row] = {}
        self.lines: dict[tuple[int, int], int] = {}

    def put(self, key: tuple[int, int], row: Row, line: int) -> None:
        self.rows[key], self.lines[key] = row, line


class _Reader:
    def __init__(self, text: str, tolerance: Fraction) -> None:
        self.tokens, self.at, self.tolerance = _tokens(text), 0, tolerance
        self.preamble: dict[str, int] = {}  # section → its line
        self.names: dict[str, tuple[str, ...]] = {}
        self.indices: dict[str, dict[str, int]] = {}
        self.discount, self.costs = Fraction(1), False
        self.start: Row | None = None
        self.tables = {"T": _Table("T", "states"), "O": _Table("O", "observations")}
        self.rewards: dict[Pattern, tuple[int, Fraction]] = {}
        self.ends: set[int] = set()
        self.goal: list[int] = []  # the observations of the first proposition
        self.renormalised: list[str] = []
        self.shared: dict[int, tuple[Row, Row]] = {}  # rows shared by several states, and what they became
        self.writes = 0

    def read(self, name: str) -> Problem:
        while self.next.kind != "end":
            self.statement(self.take())
        self.complete(self.next.line)
        transitions = self.rows(self.tables["T"])
        self.fill_unreached(transitions)
        emissions = self.rows(self.tables["O"])
        rewards = self.rewards or {(None, None, None, o): (0, Fraction(1)) for o in self.goal}
        return Problem(
            name,
            self.discount,
            self.costs,
            self.names["states"],
            self.names["actions"],
            self.names["observations"],
            self.start if self.start is not None else self.uniform("states"),
            transitions,
            emissions,
            Rewards(rewards),
            tuple(self.renormalised),
            frozenset(self.ends),
        )

    # tokens

    @property
    def next(self) -> Token:
        return self.tokens[self.at]

    def take(self) -> Token:
        token = self.next
        self.at += token.kind != "end"
        return token

    def colon(self) -> bool:
        """Take a colon if there is one."""
        present = self.next.kind == "colon"
        self.at += present
        return present

    def need_colon(self, before: str) -> None:
        if not self.colon():
            _fail(self.next.line, f"expected ':' after {before}, not {self.next.text!r}")

    def word(self, *words: str) -> str | None:
        """Take one of these words if it comes next."""
        return self.take().text if self.next.kind == "name" and self.next.text in words else None

    def opens_section(self) -> bool:
        following = self.tokens[min(self.at + 1, len(self.tokens) - 1)]
        if self.next.text == "atom":
            return following.kind == "number"
        opens = following.kind == "colon" or (self.next.text == "start" and following.text in ("include", "exclude"))
        return opens and self.next.text in (*_SECTIONS, "E")

    # statements

    def statement(self, section: Token) -> None:
        if section.kind != "name" or section.text not in (*_SECTIONS, *_MARKS):
            _fail(section.line, f"expected one of {', '.join(_SECTIONS)}, not {section.text!r}")
        if section.text in _MARKS:
            self.mark_line(section)
        elif section.text in _PREAMBLE:
            self.preamble_line(section)
        elif section.text == "start":
            self.start_line(section.line)
        else:
            self.need_colon(section.text)
            self.complete(section.line)
            if section.text == "R":
                self.reward_line(section.line)
            else:
                self.table_line(self.tables[section.text], section.line)

    def preamble_line(self, section: Token) -> None:
        self.need_colon(section.text)
        if any(table.rows for table in self.tables.values()) or self.rewards:
            _fail(section.line, f"{section.text} must come before the first T, O or R")
        if section.text in self.preamble:
            _fail(section.line, f"{section.text} is given twice, first in line {self.preamble[section.text]}")
        self.preamble[section.text] = section.line
        if section.text == "discount":
            self.discount = self.numbers(1, section.line)[0]
            if not 0 <= self.discount <= 1:
                _fail(section.line, f"the discount {brief(self.discount)} is not between 0 and 1")
        elif section.text == "values":
            word = self.word("reward", "rewards", "cost", "costs")
            if word is None:
                _fail(self.next.line, f"expected reward or cost, not {self.next.text!r}")
            self.costs = word.startswith("cost")
        else:
            names = self.name_list(section)
            self.names[section.text] = names
            self.indices[section.text] = {name: k for k, name in enumerate(names)}

    def mark_line(self, section: Token) -> None:
        """`E: states` of ZMDP, or `atom 0: observations` of files with formulas; without R, atom 0 is worth 1."""
        kind, first = "states", False
        if section.text == "atom":
            kind, first = "observations", int(self.numbers(1, section.line)[0]) == 0
        self.need_colon(section.text)
        if kind not in self.names:
            _fail(section.line, f"{section.text} must come after {kind}")
        listed = [self.one(kind) for _ in self.while_listed()]
        if kind == "states":
            self.ends.update(listed)
        elif first:
            self.goal = listed

    def name_list(self, section: Token) -> tuple[str, ...]:
        if self.next.kind == "number":
            token = self.take()
            if not token.text.isdecimal() or not 0 < len(token.text) <= 9 or not 0 < int(token.text) <= MOST_NAMES:
                _fail(token.line, f"expected how many {section.text}, 1 to {MOST_NAMES:,}, or a list of names")
            return tuple(str(k) for k in range(int(token.text)))
        names: dict[str, int] = {}
        while self.next.kind == "name" and not self.opens_section():
            token = self.take()
            if token.text in _RESERVED and (section.text == "observations" or token.text not in _SECTIONS):
                _fail(token.line, f"{token.text!r} is a word of the format: no name, and no section without ':'")
            if token.text in names:
                _fail(token.line, f"{token.text!r} is listed twice among the {section.text}")
            names[token.text] = len(names)
        if not names or self.next.kind in ("number", "odd", "star"):
            _fail(self.next.line, f"expected a number of {section.text} or their names, not {self.next.text!r}")
        return tuple(names)

    def start_line(self, line: int) -> None:
        if "states" not in self.names:
            _fail(line, "start must come after states")
        if self.start is not None:
            _fail(line, "start is given twice")
        if any(table.rows for table in self.tables.values()):
            _fail(line, "start must come before the first T or O")
        chosen = self.word("include", "exclude")
        self.need_colon(chosen or "start")
        if chosen:
            listed = {self.one("states") for _ in self.while_listed()}
            self.start = self.equally({*range(len(self.names["states"]))} - listed if chosen == "exclude" else listed)
            if not self.start:
                _fail(line, f"start {chosen}: leaves no state")
        elif self.word("uniform"):
            self.start = self.uniform("states")
        elif self.next.kind == "name":  # one state, or several that are equally likely
            self.start = self.equally({self.one("states") for _ in self.while_listed()})
        elif self.lone_state():
            self.start = {self.one("states"): Fraction(1)}
        else:
            row = _sparse(self.probabilities(len(self.names["states"]), line))
            self.start = self.summing_to_one(row, "start", line)

    def while_listed(self) -> Iterable[Token]:
        yield self.next  # the list has at least one entry
        while self.next.kind == "number" or (self.next.kind == "name" and not self.opens_section()):
            yield self.next

    def lone_state(self) -> bool:
        """A single whole number is a state, but `start: 1` with a single state is its probability."""
        alone = self.next.kind == "number" and self.tokens[self.at + 1].kind != "number"
        return alone and self.next.text.isdecimal() and (len(self.names["states"]) > 1 or self.next.text != "1")

    def complete(self, line: int) -> None:
        """All names must be there before the first table; without a discount it is 1, and values are rewards."""
        missing = [section for section in _LISTS if section not in self.preamble]
        if missing:
            _fail(line, f"{missing[0]} is missing; it must come before the first T, O or R")
        states, actions, observations = (len(self.names[kind]) for kind in _LISTS)
        if actions * states * max(states, observations) > MOST_ENTRIES:
            _fail(line, f"{states} states and {actions} actions make tables of more than {MOST_ENTRIES:,} entries")

    def table_line(self, table: _Table, line: int) -> None:
        count, actions = len(self.names["states"]), self.span("actions")
        by_state = self.colon()
        sources = self.span("states") if by_state else range(count)
        if not by_state or not self.colon():
            rows = [self.row(table, line)] * count if by_state else self.matrix(table, line)
            self.write(len(actions) * len(sources), line)
            for a, s in product(actions, sources):
                table.put((a, s), rows[s], line)
            return
        columns = self.span(table.columns)
        self.colon()  # which some programs write before the number
        p = self.probabilities(1, line)[0]
        self.write(len(actions) * len(sources) * (len(columns) + 1), line)
        for key in product(actions, sources):
            changed = {**table.rows.get(key, {}), **dict.fromkeys(columns, p)}
            table.put(key, {column: q for column, q in changed.items() if q}, line)

    def write(self, entries: int, line: int) -> None:
        """Count what statements write, so that a short file cannot keep the reader busy for ever."""
        self.writes += entries
        if self.writes > MOST_WRITES:
            _fail(line, f"the statements up to here write more than {MOST_WRITES:,} entries")

    def matrix(self, table: _Table, line: int) -> list[Row]:
        size, width = len(self.names["states"]), len(self.names[table.columns])
        if self.word("identity"):
            if size != width:
                _fail(line, f"identity needs as many {table.columns} as states, not {width} and {size}")
            return [{k: Fraction(1)} for k in range(size)]
        if self.next.kind == "name":
            return [self.row(table, line)] * size
        values = self.probabilities(size * width, line, f" ({size} rows of {width})")
        return [_sparse(values[begin:end]) for begin, end in pairwise(range(0, size * width + 1, width))]

    def row(self, table: _Table, line: int) -> Row:
        if self.word("uniform"):
            return self.uniform(table.columns)
        if table.letter == "T" and self.word("reset"):
            return self.start if self.start is not None else self.uniform("states")
        return _sparse(self.probabilities(len(self.names[table.columns]), line))

    def reward_line(self, line: int) -> None:
        action = self.pick("actions")
        self.need_colon("the action of R")
        state = self.pick("states")
        targets: Sequence[int | None] = range(len(self.names["states"]))
        observations: Sequence[int | None] = range(len(self.names["observations"]))
        if self.colon():
            targets = [self.pick("states")]
            if self.colon():
                observations = [self.pick("observations")]
        values = self.numbers(len(targets) * len(observations), line)
        for (target, observation), value in zip(product(targets, observations), values, strict=True):
            self.rewards[action, state, target, observation] = (self.at, value)

    # pieces

    def pick(self, kind: str) -> int | None:
        """One of the states, actions or observations by name or number; None for `*`."""
        token = self.take()
        if token.kind == "star":
            return None
        count = len(self.names[kind])
        index = self.indices[kind].get(token.text)
        if token.kind == "number" and token.text.isdecimal() and len(token.text) < 10:
            index = int(token.text)
        if index is None or index >= count or token.kind not in ("name", "number"):
            listed = ", ".join(name[:40] for name in self.names[kind][:8]) + (", …" if count > 8 else "")
            _fail(token.line, f"{token.text[:40]!r} is none of the {kind} ({listed})")
        return index

    def one(self, kind: str) -> int:
        token = self.next
        index = self.pick(kind)
        return index if index is not None else _fail(token.line, f"expected one of the {kind}, not '*'")

    def span(self, kind: str) -> range:
        index = self.pick(kind)
        return range(len(self.names[kind])) if index is None else range(index, index + 1)

    def numbers(self, count: int, line: int, shape: str = "") -> list[Fraction]:
        """Exactly so many numbers."""
        values: list[Fraction] = []
        while self.next.kind == "number":
            token = self.take()
            if len(values) == count:
                _fail(token.line, f"one number too many; {count}{shape} are expected here")
            values.append(rational("".join(token.text.split()), f"line {token.line}"))
        if len(values) < count:
            given = f"{len(values)} before {self.next.text!r}" if values else repr(self.next.text)
            _fail(self.next.line if not values else line, f"expected {_count(count)}{shape}, not {given}")
        return values

    def probabilities(self, count: int, line: int, shape: str = "") -> list[Fraction]:
        first = self.at
        values = self.numbers(count, line, shape)
        for k, value in enumerate(values):
            if not 0 <= value <= 1:
                _fail(self.tokens[first + k].line, f"{self.tokens[first + k].text[:40]} is not a probability")
        return values

    def equally(self, indices: set[int]) -> Row:
        return {index: Fraction(1, len(indices)) for index in sorted(indices)}

    def uniform(self, kind: str) -> Row:
        return self.equally({*range(len(self.names[kind]))})

    def rows(self, table: _Table) -> tuple[tuple[Row, ...], ...]:
        actions, states = self.names["actions"], self.names["states"]
        result: list[tuple[Row, ...]] = []
        for a, action in enumerate(actions):
            for s, state in enumerate(states):
                if (a, s) not in table.rows:
                    _fail(self.next.line, f"the file ends without any {table.letter}: {action} : {state}")
            result.append(
                tuple(
                    self.summing_to_one(table.rows[a, s], f"{table.letter}: {action} : {state}", table.lines[a, s])
                    for s, state in enumerate(states)
                )
            )
        return tuple(result)

    def fill_unreached(self, transitions: tuple[tuple[Row, ...], ...]) -> None:
        """Some files have zeros where an action never leads: whatever is shown there, nobody sees it."""
        table, unseen = self.tables["O"], self.uniform("observations")
        for a, rows in enumerate(transitions):
            reached = {target for row in rows for target in row}
            for s in range(len(rows)):
                if s not in reached and table.rows.get((a, s)) == {}:
                    table.put((a, s), unseen, table.lines[a, s])

    def summing_to_one(self, row: Row, what: str, line: int) -> Row:
        """The row, divided by its sum where the file's rounding alone keeps that from 1."""
        if id(row) in self.shared:
            return self.shared[id(row)][1]
        whole = total(row.values(), f"line {line}")
        if abs(whole - 1) > self.tolerance:
            remedy = "; if the file is rounded, pass a larger `rounding`" if abs(whole - 1) < Fraction(1, 100) else ""
            _fail(line, f"the probabilities of {what} sum to {float(whole):.9g}, not to 1{remedy}")
        exact = row if whole == 1 else {column: p / whole for column, p in row.items()}
        if whole != 1:
            self.renormalised.append(f"line {line}: {what} sums to {float(whole):.9g}")
        self.shared[id(row)] = (row, exact)  # the row is kept, so that its id stays its own
        return exact


def _sparse(values: list[Fraction]) -> Row:
    return {index: p for index, p in enumerate(values) if p}


def _count(count: int) -> str:
    return "a number" if count == 1 else f"{count} numbers"
