"""Worlds and experts: a finite POMDP with exact probabilities, and the finite policies that can act in it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from certify.core.reading import listed, parse_document, text
from certify.errors import UserError
from certify.stationary.process import LawLike, Process, distribution, fields

START = "start"  # O_1 of a world that shows nothing before the first action
CONTROLLER_FORMAT = "certify-controller/1"
Node = Hashable
Row = Mapping[int, Fraction]


class Problem(Protocol):
    """What a `.pomdp` file states, as `certify.sources.pomdp` reads it."""

    @property
    def name(self) -> str: ...
    @property
    def states(self) -> tuple[str, ...]: ...
    @property
    def actions(self) -> tuple[str, ...]: ...
    @property
    def observations(self) -> tuple[str, ...]: ...
    @property
    def start(self) -> Row: ...
    @property
    def transitions(self) -> tuple[tuple[Row, ...], ...]: ...
    @property
    def emissions(self) -> tuple[tuple[Row, ...], ...]: ...
    @property
    def ends(self) -> frozenset[int]: ...


@dataclass(frozen=True)
class Controller:
    """A finite-state policy: its first node, the law of each node, and the next node by action and observation.

    `first` is one node, or one for each first observation. A move may be a distribution of nodes; the node is then
    hidden from the history. `moves` is keyed by (node, action, observation), or by (node, observation), or it is a
    function of all three.
    """

    first: Node | Mapping[str, Node]
    law: Mapping[Any, LawLike]
    moves: Mapping[Any, Any] | Callable[[Any, str, str], Any]

    @staticmethod
    def table(laws: Mapping[str, LawLike]) -> Controller:
        """A reactive policy: the law of each last observation."""
        return Controller({o: o for o in laws}, laws, {(before, after): after for before in laws for after in laws})

    @staticmethod
    def from_json(source: str | bytes) -> Controller:
        """From the text of a `certify-controller/1` document; nodes are text."""
        given = fields(parse_document(source), "", {"format", "first", "law", "moves"}, {"name", "notes"})
        if given["format"] != CONTROLLER_FORMAT:
            raise UserError("format", f"expected {CONTROLLER_FORMAT!r}")
        first = given["first"]
        first = (
            {o: text(n, f"first.{o}") for o, n in first.items()} if isinstance(first, dict) else text(first, "first")
        )
        laws = {node: dict(fields(law, f"law.{node}")) for node, law in fields(given["law"], "law").items()}
        moves: dict[tuple[str, ...], Any] = {}
        for k, entry in enumerate(listed(given["moves"], "moves")):
            where, parts = f"moves[{k}]", listed(entry, f"moves[{k}]")
            if len(parts) not in (3, 4):
                raise UserError(
                    where, "expected [node, action, observation, next node] or [node, observation, next node]"
                )
            *key, target = parts
            name = tuple(text(part, where) for part in key)
            if name in moves:
                raise UserError(where, "the same move is given twice")
            moves[name] = dict(target) if isinstance(target, dict) else text(target, where)
        return Controller(first, laws, moves)

    def begin(self, observation: str) -> Node:
        if not isinstance(self.first, Mapping):
            return self.first
        if observation not in self.first:
            raise UserError("controller.first", f"no node for the first observation {observation!r}")
        return self.first[observation]

    def act(self, node: Node) -> LawLike:
        if node not in self.law:
            raise UserError("controller.law", f"no law for the node {node!r}")
        return self.law[node]

    def advance(self, node: Node, action: str, observation: str) -> dict[Node, Fraction]:
        if not isinstance(self.moves, Mapping):
            return distribution(self.moves(node, action, observation), f"controller.moves({node!r})")
        for key in ((node, action, observation), (node, observation)):
            if key in self.moves:
                return distribution(self.moves[key], f"controller.moves[{key!r}]")
        raise UserError("controller.moves", f"no move from {node!r} after {action!r} and {observation!r}")


@dataclass(frozen=True)
class Privileged:
    """An expert that sees the hidden state: its law by the name of the state."""

    law: Mapping[str, LawLike]

    def act(self, state: str) -> LawLike:
        if state not in self.law:
            raise UserError("privileged.law", f"no law for the state {state!r}")
        return self.law[state]


Expert = Controller | Privileged


@dataclass(frozen=True)
class World:
    """A POMDP without a horizon: P(s′ | s, a), P(o′ | a, s′), who starts, and what is shown before the first action.

    An empty row of transitions ends the episode; a missing one is an action that the state does not have. Without
    `first`, O_1 is the constant `start`.
    """

    states: tuple[str, ...]
    actions: tuple[str, ...]
    observations: tuple[str, ...]
    start: Row
    transitions: Sequence[Sequence[Row] | Mapping[int, Row]]  # [a][s]
    emissions: Sequence[Sequence[Row]]  # [a][s′]
    first: Sequence[Row] | None = None  # [s]
    name: str = ""

    @staticmethod
    def from_problem(problem: Problem) -> World:
        """The world of a `.pomdp` file; rewards and discount are left behind."""
        moves = tuple(
            tuple({} if s in problem.ends else row for s, row in enumerate(rows)) for rows in problem.transitions
        )
        return World(
            problem.states,
            problem.actions,
            problem.observations,
            problem.start,
            moves,
            problem.emissions,
            name=problem.name,
        )

    def process(self, expert: Expert) -> Process:
        """The expert acting in this world for ever."""
        return _Product(self, expert).process()


Hidden = tuple[int, str, Node]  # state, last observation, node of the controller


class _Product:
    """A world and an expert; the rows of the world are checked once, however many nodes meet them."""

    def __init__(self, world: World, expert: Expert) -> None:
        self.world, self.expert = world, expert
        self.action_index = {action: k for k, action in enumerate(world.actions)}
        self.laws: dict[Any, dict[str, Fraction]] = {}
        self.rows: dict[tuple[int, int], dict[int, Fraction]] = {}
        self.shown: dict[tuple[int, int], dict[int, Fraction]] = {}

    def process(self) -> Process:
        world = self.world
        start: dict[Hidden, Fraction] = {}
        for state, p in distribution(world.start, "start").items():
            for shown, q in world.first[state].items() if world.first else [(-1, Fraction(1))]:
                name = START if shown < 0 else world.observations[shown]
                start[state, name, 0 if isinstance(self.expert, Privileged) else self.expert.begin(name)] = p * q
        return Process.from_generative(start, lambda hidden: hidden[1], self.act, self.move, world.name)

    def act(self, hidden: Hidden) -> LawLike:
        state, _, node = hidden
        key = state if isinstance(self.expert, Privileged) else node
        if key not in self.laws:
            expert, name = self.expert, self.world.states[state]
            law = distribution(expert.act(name) if isinstance(expert, Privileged) else expert.act(node), "expert")
            for action in law:
                if action not in self.action_index:
                    listed = ", ".join(self.world.actions)
                    raise UserError("expert", f"takes {action!r}, which is not one of {listed}")
            self.laws[key] = law
        return self.laws[key]

    def move(self, hidden: Hidden, action: str) -> dict[Hidden, Fraction] | None:
        state, shown_now, node = hidden
        a = self.action_index[action]
        reached: dict[Hidden, Fraction] = {}
        for target, p in self.row(a, state, shown_now).items():
            for shown, q in self.emission(a, target).items():
                name = self.world.observations[shown]
                both = p if q == 1 else p * q
                if isinstance(self.expert, Privileged):
                    reached[target, name, 0] = both
                    continue
                for following, r in self.expert.advance(node, action, name).items():
                    reached[target, name, following] = both if r == 1 else both * r
        return reached or None

    def row(self, a: int, state: int, shown: str) -> dict[int, Fraction]:
        if (a, state) not in self.rows:
            rows, action = self.world.transitions[a], self.world.actions[a]
            if isinstance(rows, Mapping) and state not in rows:
                raise UserError("expert", f"takes {action!r} at {shown!r}, where it cannot be taken")
            given = rows[state]
            self.rows[a, state] = distribution(given, f"T: {action} : {self.world.states[state]}") if given else {}
        return self.rows[a, state]

    def emission(self, a: int, state: int) -> dict[int, Fraction]:
        if (a, state) not in self.shown:
            given = self.world.emissions[a][state]
            self.shown[a, state] = distribution(given, f"O: {self.world.actions[a]} : {self.world.states[state]}")
        return self.shown[a, state]
