"""A process: a finite stochastic automaton that shows observations and acts by an expert's law, without a last step."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Set
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeVar, cast

from certify.core.graph import Law
from certify.core.model import Model
from certify.core.reading import Rational, listed, mapping, parse_document, rational, text
from certify.errors import UserError

FORMAT = "certify-process/1"
MOST_STATES = 2_000_000
S = TypeVar("S", bound=Hashable)
Row = tuple[tuple[int, Fraction], ...]  # (state, probability) by state, no zeros
LawLike = Mapping[str, Rational] | str


@dataclass(frozen=True)
class Process:
    """Hidden states that the expert can reach: what each shows, how the expert acts on it, where each action leads.

    A missing move ends the episode. Build one with `from_generative`, `World.process` or `from_json`.
    """

    observations: tuple[str, ...]
    actions: tuple[str, ...]
    observation: tuple[int, ...]  # of each state
    law: tuple[Law, ...]  # of each state
    moves: tuple[dict[int, Row], ...]  # of each state: action → law of the next state
    start: Row
    name: str = ""
    hidden: tuple[Any, ...] = field(default=(), repr=False, compare=False)  # what each state was made from

    @property
    def size(self) -> int:
        return len(self.observation)

    @property
    def ends(self) -> bool:
        """Whether some episodes end."""
        return any(not moves.get(a) for law, moves in zip(self.law, self.moves, strict=True) for a, _ in law)

    @cached_property
    def after(self) -> tuple[dict[int, tuple[int, ...]], ...]:
        """Of each state: label (action, next observation) as one integer → the states that it can lead to."""
        result: list[dict[int, tuple[int, ...]]] = []
        for law, moves in zip(self.law, self.moves, strict=True):
            reached: dict[int, list[int]] = {}
            for action, _ in law:
                for target, _ in moves.get(action, ()):
                    reached.setdefault(self.label(action, self.observation[target]), []).append(target)
            result.append({label: tuple(targets) for label, targets in reached.items()})
        return tuple(result)

    def label(self, action: int, observation: int) -> int:
        """u = (A_t, O_{t+1}) as one integer."""
        return action * len(self.observations) + observation

    def words(self, label: int) -> tuple[str, str]:
        """The action and the observation of a label."""
        action, observation = divmod(label, len(self.observations))
        return self.actions[action], self.observations[observation]

    def law_text(self, law: Law) -> str:
        """A law as people write it: ``left`` or ``left 7/10, right 3/10``."""
        if len(law) == 1:
            return self.actions[law[0][0]]
        return ", ".join(f"{self.actions[a]} {p}" for a, p in law)

    @staticmethod
    def from_generative(
        start: Mapping[S, Rational],
        observe: Callable[[S], LawLike],
        expert: Callable[[S], LawLike],
        move: Callable[[S, str], Mapping[S, Rational] | S | None],
        name: str = "",
        most: int = MOST_STATES,
    ) -> Process:
        """From hidden states: who starts, what each shows, how the expert acts on it, where it leads (None: the end).

        Probabilities are rationals; a plain value is certain. Only states that can be reached are kept.
        """
        return _Enumeration(observe, expert, move, most).run(start, name)

    @staticmethod
    def from_json(text: str | bytes) -> Process:
        """From the text of a `certify-process/1` document."""
        return _read(parse_document(text))

    @cached_property
    def canonical_bytes(self) -> bytes:
        """What the digest is taken over: states in their order, lowest terms, sorted keys, no spaces."""
        states = [
            {
                "obs": self.observations[o],
                "law": {self.actions[a]: str(p) for a, p in law},
                "moves": {self.actions[a]: [[x, str(p)] for x, p in row] for a, row in moves.items() if row},
            }
            for o, law, moves in zip(self.observation, self.law, self.moves, strict=True)
        ]
        document = {"format": FORMAT, "states": states, "start": [[x, str(p)] for x, p in self.start]}
        return json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical bytes, in hexadecimal."""
        return hashlib.sha256(self.canonical_bytes).hexdigest()

    def to_json(self) -> str:
        """The process as a document that `from_json` and the checker read."""
        return self.canonical_bytes.decode() + "\n"

    def model(self, horizon: int, stop: Rational = 0) -> Model:
        """The first `horizon` steps as a finite model; an episode that ended shows `(end)` and the expert rests.

        With `stop`, an episode is also broken off after each step with that probability.
        """
        names, cut = {name: a for a, name in enumerate(self.actions)}, rational(stop, "stop")

        def observe(t: int, x: int) -> str:
            return "(end)" if x < 0 else self.observations[self.observation[x]]

        def expert(t: int, x: int) -> dict[str, Rational]:
            return {"(rest)": 1} if x < 0 else {self.actions[a]: p for a, p in self.law[x]}

        def move(t: int, x: int, action: str) -> dict[int, Rational]:
            row = self.moves[x].get(names[action], ()) if x >= 0 else ()
            after: dict[int, Rational] = {y: p * (1 - cut) for y, p in row}
            return (after | {-1: cut}) if row else {-1: 1}

        return Model.from_generative(horizon, dict(self.start), observe, expert, move, self.name)


class _Names:
    """Names numbered as they come."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, name: str) -> int:
        return self.numbers.setdefault(name, len(self.numbers))


class _Enumeration:
    """Breadth-first search over (hidden state, observation)."""

    def __init__(self, observe: Any, expert: Any, move: Any, most: int) -> None:
        self.observe, self.expert, self.move, self.most = observe, expert, move, most
        self.observations, self.actions = _Names(), _Names()
        self.numbers: dict[tuple[Any, int], int] = {}
        self.waiting: deque[tuple[Any, int]] = deque()

    def run(self, start: Mapping[Any, Rational], name: str) -> Process:
        first = self.spread(distribution(start, "start"))
        observation: list[int] = []
        laws: list[Law] = []
        moves: list[dict[int, Row]] = []
        while self.waiting:
            hidden, seen = self.waiting.popleft()
            given = distribution(self.expert(hidden), f"expert({hidden!r})")
            law = tuple(sorted((self.actions.number(a), p) for a, p in given.items()))
            names = list(self.actions.numbers)
            rows: dict[int, Row] = {}
            for action, _ in law:
                reached = self.move(hidden, names[action])
                if reached is not None:
                    rows[action] = self.spread(distribution(reached, f"move({hidden!r}, {names[action]!r})"))
            observation.append(seen)
            laws.append(law)
            moves.append(rows)
        shown, acted = tuple(self.observations.numbers), tuple(self.actions.numbers)
        hidden = tuple(state for state, _ in self.numbers)
        return Process(shown, acted, tuple(observation), tuple(laws), tuple(moves), first, name, hidden)

    def spread(self, hidden: Mapping[Any, Fraction]) -> Row:
        """A law of hidden states as one of numbered (hidden state, observation) pairs."""
        row: dict[int, Fraction] = {}
        for state, p in hidden.items():
            for shown, q in distribution(self.observe(state), f"observe({state!r})").items():
                key = (state, self.observations.number(shown))
                if key not in self.numbers:
                    if len(self.numbers) >= self.most:
                        raise UserError("process", f"more than {self.most:,} states are reached; give a smaller one")
                    self.numbers[key] = len(self.numbers)
                    self.waiting.append(key)
                row[self.numbers[key]] = p if q == 1 else p * q
        return tuple(sorted(row.items()))


def distribution(given: Any, where: str) -> dict[Any, Fraction]:
    """An exact distribution without zeros; a plain value is certain."""
    if not isinstance(given, Mapping):
        return {given: Fraction(1)}
    law: dict[Any, Fraction] = {}
    for key, p in cast(Mapping[Any, Rational], given).items():
        law[key] = p if type(p) is Fraction else rational(p, where)
    scale = math.lcm(*(p.denominator for p in law.values()))
    if any(p < 0 for p in law.values()) or sum(p.numerator * (scale // p.denominator) for p in law.values()) != scale:
        raise UserError(where, f"not a distribution: the probabilities sum to {sum(law.values())}")
    return {key: p for key, p in law.items() if p}


def _read(document: Any) -> Process:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise UserError("format", f'expected an object with "format": "{FORMAT}"')
    keys = fields(document, "", {"format", "states", "start"}, {"name", "notes"})
    states = listed(keys["states"], "states")
    observations, actions = _Names(), _Names()
    observation: list[int] = []
    laws: list[Law] = []
    moves: list[dict[int, Row]] = []
    for k, state in enumerate(states):
        where = f"states[{k}]"
        entry = fields(state, where, {"obs", "law"}, {"moves"})
        observation.append(observations.number(text(entry["obs"], f"{where}.obs")))
        law = distribution(fields(entry["law"], f"{where}.law"), f"{where}.law")
        laws.append(tuple(sorted((actions.number(a), p) for a, p in law.items())))
        given = fields(entry.get("moves", {}), f"{where}.moves")
        if not given.keys() <= law.keys():
            raise UserError(f"{where}.moves", "moves by an action that the law does not take; leave it out")
        rows = {actions.number(a): _row(row, f"{where}.moves.{a}", len(states)) for a, row in given.items()}
        moves.append(rows)
    start = _row(keys["start"], "start", len(states))
    name = text(keys.get("name", ""), "name")
    shown, acted = tuple(observations.numbers), tuple(actions.numbers)
    return Process(shown, acted, tuple(observation), tuple(laws), tuple(moves), start, name)


def _row(given: Any, where: str, size: int) -> Row:
    row: dict[int, Fraction] = {}
    for k, entry in enumerate(listed(given, where)):
        pair = listed(entry, f"{where}[{k}]")
        if len(pair) != 2 or (state := number(pair[0])) is None or state >= size:
            raise UserError(f"{where}[{k}]", f"expected [state, probability] with a state below {size}")
        if state in row:
            raise UserError(f"{where}[{k}]", f"state {state} is listed twice; give it once")
        row[state] = rational(pair[1], f"{where}[{k}]")
    return tuple(sorted(distribution(row, where).items()))


def fields(
    given: Any, where: str, needed: Set[str] | None = None, optional: Set[str] = frozenset()
) -> Mapping[str, Any]:
    """An object whose keys are the ones named (any keys where none are named), each given once."""
    for key in mapping(given, where, None if needed is None else needed | optional, needed or ()):
        text(key, where)
    return given


def number(given: Any) -> int | None:
    """A whole number of at most nine digits, as a document or Python gives it; None for anything else."""
    whole = type(given) is not str and not isinstance(given, bool) and re.fullmatch("[0-9]{1,9}", str(given))
    return int(str(given)) if whole else None
