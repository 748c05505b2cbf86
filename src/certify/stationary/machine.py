"""A machine without a clock: first codes, one table of moves, one policy; and the check that it is right for ever."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from certify.core.exact import Ints
from certify.core.reading import listed, parse_document, text
from certify.errors import OffSupportError, UserError
from certify.stationary.observer import Observer
from certify.stationary.posteriors import Steps, Vector, mixture
from certify.stationary.process import Process, distribution, fields, number

FORMAT = "certify-machine/2"
Law = dict[str, Fraction]


@dataclass(frozen=True)
class StationaryMachine:
    """C_1 = first[O_1], C_{t+1} = moves[C_t, A_t, O_{t+1}], A_t drawn from laws[O_t, C_t]; the same at every step."""

    codes: int
    first: dict[str, int]
    moves: dict[tuple[int, str, str], int]
    laws: dict[tuple[str, int], Law]

    @staticmethod
    def from_labels(observer: Observer, labels: Ints) -> StationaryMachine:
        """Codes as labels of an observer's nodes; equal codes must mean equal laws and equal moves."""
        code = labels.tolist()
        shown = [observer.observations[o] for o in observer.observation.tolist()]
        first = {observer.observations[o]: code[node] for o, node in observer.first.items()}
        laws: dict[tuple[str, int], Law] = {}
        for node, law in enumerate(observer.law.tolist()):
            own = {observer.actions[a]: p for a, p in observer.laws[law]}
            if laws.setdefault((shown[node], code[node]), own) != own:
                raise ValueError(f"code {code[node]} means two laws under {shown[node]!r}")
        moves: dict[tuple[int, str, str], int] = {}
        edges = np.unique(np.stack([labels[observer.source], observer.label, labels[observer.target]], 1), axis=0)
        for source, label, target in edges.tolist():
            if moves.setdefault((source, *observer.words(label)), target) != target:
                raise ValueError(f"code {source} has two moves after {observer.words(label)}")
        return StationaryMachine(int(labels.max()) + 1, first, moves, laws)

    @staticmethod
    def from_tables(observer: Observer, first: dict[int, int], tables: dict[tuple[int, int], int]) -> StationaryMachine:
        """Codes by (code, label), where one node may carry several codes by the way it was reached."""
        begin = {observer.observations[o]: code for o, code in first.items()}
        laws: dict[tuple[str, int], Law] = {}
        moves: dict[tuple[int, str, str], int] = {}
        waiting = [(node, first[o]) for o, node in observer.first.items()]
        seen = set(waiting)
        for node, code in waiting:
            own = {observer.actions[a]: p for a, p in observer.laws[observer.law[node]]}
            shown = observer.observations[observer.observation[node]]
            if laws.setdefault((shown, code), own) != own:
                raise ValueError(f"code {code} means two laws under {shown!r}")
            for label, target in observer.moves[node].items():
                moves[code, *observer.words(label)] = tables[code, label]
                if (pair := (target, tables[code, label])) not in seen:
                    seen.add(pair)
                    waiting.append(pair)
        return StationaryMachine(1 + max(*begin.values(), *moves.values(), 0), begin, moves, laws)

    @property
    def cells(self) -> int:
        """How many pairs (observation, code) can occur."""
        return len(self.laws)

    def begin(self, observation: str) -> int:
        """The code after the first observation."""
        if observation not in self.first:
            raise OffSupportError(f"the observation {observation!r} never comes first")
        return self.first[observation]

    def advance(self, code: int, action: str, observation: str) -> int:
        """The code after acting and observing once more."""
        if (code, action, observation) not in self.moves:
            raise OffSupportError(f"from code {code} the expert never meets {observation!r} after {action!r}")
        return self.moves[code, action, observation]

    def law(self, observation: str, code: int) -> Law:
        """How to act now."""
        if (observation, code) not in self.laws:
            raise OffSupportError(f"code {code} never occurs under {observation!r}")
        return self.laws[observation, code]

    def to_dict(self) -> dict[str, Any]:
        """The format `certify-machine/2`."""
        return {
            "format": FORMAT,
            "codes": self.codes,
            "first": dict(sorted(self.first.items())),
            "moves": [[*key, target] for key, target in sorted(self.moves.items())],
            "laws": [[o, c, {a: str(p) for a, p in law.items()}] for (o, c), law in sorted(self.laws.items())],
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False) + "\n"

    @staticmethod
    def from_json(source: str | bytes) -> StationaryMachine:
        """From the text of a `certify-machine/2` document."""
        given = fields(parse_document(source), "", {"format", "codes", "first", "moves", "laws"}, {"name", "notes"})
        if given["format"] != FORMAT:
            raise UserError("format", f"expected {FORMAT!r}")
        count = number(given["codes"])
        if not count:
            raise UserError("codes", "expected a whole number of at least 1")

        def code(value: Any, where: str) -> int:
            parsed = number(value)
            if parsed is None or parsed >= count:
                raise UserError(where, f"expected a code below {count}")
            return parsed

        first = {o: code(c, f"first.{o}") for o, c in fields(given["first"], "first").items()}
        moves: dict[tuple[int, str, str], int] = {}
        for k, entry in enumerate(listed(given["moves"], "moves")):
            where = f"moves[{k}]"
            if not isinstance(entry, list) or len(entry) != 4:
                raise UserError(where, "expected [code, action, observation, next code]")
            key = (code(entry[0], where), text(entry[1], where), text(entry[2], where))
            if key in moves:
                raise UserError(where, "the same move is given twice")
            moves[key] = code(entry[3], where)
        laws: dict[tuple[str, int], Law] = {}
        for k, entry in enumerate(listed(given["laws"], "laws")):
            where = f"laws[{k}]"
            if not isinstance(entry, list) or len(entry) != 3:
                raise UserError(where, "expected [observation, code, law]")
            law = distribution(fields(entry[2], where), where)
            laws[text(entry[0], where), code(entry[1], where)] = law
        return StationaryMachine(count, first, moves, laws)


@dataclass(frozen=True)
class Verdict:
    """Whether a machine does what the expert does after every history of every length."""

    right: bool
    pairs: int  # (hidden state, code) pairs, or independent vectors, that were looked at
    history: tuple[str, ...] = ()  # a shortest one after which it errs
    expected: Law | None = None
    played: Law | None = None  # None: the machine has no move or no law there

    @property
    def text(self) -> str:
        """The verdict as a sentence."""
        if self.right:
            return f"right at every horizon (checked on {self.pairs} pairs)"
        played = "has no code" if self.played is None else f"plays {_law_text(self.played)}"
        after = " ".join(self.history)
        return f"wrong at step {(len(self.history) + 1) // 2}: after {after} it {played}, the expert " + (
            _law_text(self.expected or {})
        )


def right_for_ever(machine: StationaryMachine, process: Process) -> Verdict:
    """Search the pairs (hidden state, code); where they disagree and (A2) may fail, decide by linear algebra."""
    seen: set[tuple[int, int]] = set()
    waiting: deque[tuple[int, int]] = deque()
    for x, _ in process.start:
        code = machine.first.get(process.observations[process.observation[x]])
        if code is None:
            return _by_posteriors(machine, process)
        waiting.append((x, code))
    while waiting:
        pair = waiting.popleft()
        if pair in seen:
            continue
        seen.add(pair)
        x, code = pair
        if machine.laws.get((process.observations[process.observation[x]], code)) != _named(process, process.law[x]):
            return _by_posteriors(machine, process)
        for label, targets in process.after[x].items():
            following = machine.moves.get((code, *process.words(label)))
            if following is None:
                return _by_posteriors(machine, process)
            waiting += [(y, following) for y in targets]
    return Verdict(True, len(seen))


def _by_posteriors(machine: StationaryMachine, process: Process) -> Verdict:
    """Rightness is linear in the posterior: a basis of the vectors that reach each (observation, code) decides it.

    Words are followed by length, and a vector in the span of earlier ones is dropped with all that follows, so that the
    first error is on a shortest history.
    """
    steps = Steps(process)
    bases: dict[tuple[str, int], _Span] = {}
    waiting: deque[tuple[Vector, int | None, tuple[str, ...]]] = deque()
    for o, vector in sorted(steps.starts().items()):
        name = process.observations[o]
        waiting.append((vector, machine.first.get(name), (name,)))
    looked = 0
    while waiting:
        vector, code, history = waiting.popleft()
        expected = _named(process, mixture(process, vector))
        played = None if code is None else machine.laws.get((history[-1], code))
        if code is None or played != expected:
            return Verdict(False, looked, history, expected, played)
        if not bases.setdefault((history[-1], code), _Span()).add(vector):
            continue
        looked += 1
        for label, following in sorted(steps.after(vector).items()):
            words = process.words(label)
            waiting.append((following, machine.moves.get((code, *words)), (*history, *words)))
    return Verdict(True, looked)


class _Span:
    """The span of sparse vectors, in reduced form."""

    def __init__(self) -> None:
        self.rows: dict[int, dict[int, Fraction]] = {}  # pivot → vector with 1 there

    def add(self, vector: Vector) -> bool:
        """Whether the vector was outside; it is inside afterwards."""
        rest = {x: Fraction(w) for x, w in vector}
        while rest:
            pivot = min(rest)
            row = self.rows.get(pivot)
            if row is None:
                lead = rest[pivot]
                self.rows[pivot] = {x: w / lead for x, w in rest.items()}
                return True
            factor = rest[pivot]
            for x, w in row.items():
                value = rest.get(x, Fraction(0)) - factor * w
                if value:
                    rest[x] = value
                else:
                    rest.pop(x, None)
        return False


def numbered(process: Process, machine: StationaryMachine) -> tuple[dict[int, int], dict[tuple[int, int], int]]:
    """First codes and moves by the process's numbers; symbols that it does not have are left out."""
    seen = {name: k for k, name in enumerate(process.observations)}
    acts = {name: k for k, name in enumerate(process.actions)}
    moves = {
        (c, process.label(acts[a], seen[o])): d for (c, a, o), d in machine.moves.items() if a in acts and o in seen
    }
    return {seen[o]: code for o, code in machine.first.items() if o in seen}, moves


def _named(process: Process, law: tuple[tuple[int, Fraction], ...]) -> Law:
    return {process.actions[a]: p for a, p in law}


def _law_text(law: Law) -> str:
    return next(iter(law)) if len(law) == 1 else ", ".join(f"{action} {p}" for action, p in sorted(law.items()))
