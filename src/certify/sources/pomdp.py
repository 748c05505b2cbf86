"""Cassandra's `.pomdp` files with a policy, as a finite model.

The format has no observation before the first action, so O_1 is the constant symbol `start`; O_2 is what the first
action brings, and so on. Everything is exact: decimals and fractions are read as the rationals they are.
"""

import os
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

from certify.core.model import Model
from certify.core.reading import Rational, exact_law, rational, read_bytes
from certify.errors import UserError
from certify.progress import working
from certify.sources._cassandra import parse
from certify.sources._problem import Problem, Row
from certify.sources.adapter import History, Law

ROUNDING = Fraction(1, 10**5)  # how far from 1 the rounded numbers of a row may sum
START = "start"  # O_1: nothing has been seen yet; a word of the format, so that no observation is called so
MOST_BYTES = 32 * 2**20
MOST_BELIEFS = 100_000
Belief = tuple[tuple[int, Fraction], ...]  # sorted (state, probability), no zeros
Hidden = tuple[int, str, Hashable]  # state, last observation, node of the policy


def _law_of(laws: Mapping[Any, Law] | Callable[[Any], Law], key: Hashable, kind: str = "") -> Law:
    if not isinstance(laws, Mapping):
        return laws(key)
    if key not in laws:
        raise UserError("policy", f"has no action for {kind}{key!r}")
    return laws[key]


@dataclass(frozen=True)
class Controller:
    """A finite-state policy: `action` of each node, and `move` to the next one by what was done and seen.

    `move` is a function of (node, action, observation), or a table keyed by (node, observation) or by all three.
    """

    start: Hashable
    action: Mapping[Any, Law] | Callable[[Any], Law]
    move: Mapping[Any, Hashable] | Callable[[Any, str, str], Hashable]

    def law(self, node: Hashable) -> Law:
        return _law_of(self.action, node)

    def after(self, node: Hashable, action: str, observation: str) -> Hashable:
        if not isinstance(self.move, Mapping):
            return self.move(node, action, observation)
        for key in ((node, action, observation), (node, observation)):
            if key in self.move:
                return self.move[key]
        raise UserError("policy", f"has no move from {node!r} after {action!r} and {observation!r}")


@dataclass(frozen=True)
class Privileged:
    """An expert that knows the hidden state: its law by the name of the state."""

    action: Mapping[str, Law] | Callable[[str], Law]

    def law(self, state: str) -> Law:
        return _law_of(self.action, state, "the state ")


# a table takes the observations received so far (none before the first action), a function the whole history
Policy = Controller | Privileged | Mapping[tuple[str, ...], Law] | Callable[[History], Law]


@dataclass(frozen=True)
class Pomdp(Problem):
    """A POMDP with exact probabilities; make one with `load_pomdp`, `read_pomdp` or `classic`."""

    def model(self, policy: Policy, horizon: int, name: str = "") -> Model:
        """The expert `policy` on this problem for T = `horizon` actions."""
        action_index = {action: k for k, action in enumerate(self.actions)}
        begin, law, after = self._steps_of(policy)

        def expert(t: int, hidden: Hidden) -> Mapping[str, Rational]:
            return self._checked(law(hidden[0], hidden[2]))

        def move(t: int, hidden: Hidden, action: str) -> Mapping[Hidden, Rational]:
            state, _, node = hidden
            reached: dict[Hidden, Rational] = {}
            for target, p in self.transitions[action_index[action]][state].items():
                for shown, q in self.emissions[action_index[action]][target].items():
                    symbol = self.observations[shown]
                    reached[target, symbol, after(node, action, symbol)] = p * q
            return reached

        start = {(state, START, begin): p for state, p in self.start.items()}
        return Model.from_generative(horizon, start, lambda t, hidden: hidden[1], expert, move, name or self.name)

    def optimal(self, horizon: int) -> Controller:
        """The best policy for `horizon` actions, by exact backward induction over the beliefs that can be reached.

        Discounted; ties go to the first action of the file. Nodes are (actions left, belief).
        """
        if horizon < 1:
            raise UserError("horizon", f"expected at least one action, not {horizon}")
        beliefs = _Beliefs(self)
        start: Belief = tuple(sorted(self.start.items()))
        with working(f"planning {horizon} actions") as say:
            choice = beliefs.plan(start, horizon, say)

        def action(node: tuple[int, Belief]) -> str:
            if not node[0]:
                raise UserError("policy", f"was planned for {horizon} actions; plan as many as the model has")
            return self.actions[choice[node]]

        def move(node: tuple[int, Belief], action: str, observation: str) -> tuple[int, Belief]:
            seen = beliefs.after(node[1], self.actions.index(action))
            return node[0] - 1, seen[self.observations.index(observation)][1]

        return Controller((horizon, start), action, move)

    @cached_property
    def expected_rewards(self) -> tuple[tuple[Fraction, ...], ...]:
        """E[R | s, a], indexed by action and then state; costs count as negative rewards."""
        sign = -1 if self.costs else 1
        return tuple(
            tuple(
                sign
                * sum(
                    (
                        p * q * self.rewards(a, s, target, shown)
                        for target, p in row.items()
                        for shown, q in self.emissions[a][target].items()
                    ),
                    Fraction(0),
                )
                for s, row in enumerate(rows)
            )
            for a, rows in enumerate(self.transitions)
        )

    def _steps_of(
        self, policy: Policy
    ) -> tuple[Hashable, Callable[[int, Any], Law], Callable[[Any, str, str], Hashable]]:
        """A policy as its first node, its law at (state, node), and its next node."""
        if isinstance(policy, Controller):
            return policy.start, lambda state, node: policy.law(node), policy.after
        if isinstance(policy, Privileged):
            return 0, lambda state, node: policy.law(self.states[state]), lambda node, action, observation: 0
        if isinstance(policy, Mapping):
            table = Controller((), policy, lambda node, action, observation: (*node, observation))
            return table.start, lambda state, node: table.law(node), table.after
        if not callable(policy):
            raise UserError("policy", f"expected a Controller, a Privileged, a table or a function, not {policy!r}")
        return (START,), lambda state, node: policy(node), lambda node, action, shown: (*node, action, shown)

    def _checked(self, law: Law) -> dict[str, Fraction]:
        given: Mapping[str, Rational] = {law: 1} if isinstance(law, str) else law
        for action in given:
            if action not in self.actions:
                raise UserError("policy", f"takes {action!r}, which is none of the actions ({', '.join(self.actions)})")
        return exact_law(given, lambda: "policy")


class _Beliefs:
    """The beliefs of a problem: P(s | history), and how actions and observations move them."""

    def __init__(self, pomdp: Pomdp) -> None:
        self.pomdp = pomdp
        self.updates: dict[tuple[Belief, int], dict[int, tuple[Fraction, Belief]]] = {}

    def after(self, belief: Belief, action: int) -> dict[int, tuple[Fraction, Belief]]:
        """Observation → its probability and the belief after it."""
        if (belief, action) not in self.updates:
            joint: dict[int, dict[int, Fraction]] = {}
            for state, p in belief:
                for target, q in self.pomdp.transitions[action][state].items():
                    for shown, r in self.pomdp.emissions[action][target].items():
                        weights = joint.setdefault(shown, {})
                        weights[target] = weights.get(target, Fraction(0)) + p * q * r
            self.updates[belief, action] = {shown: _normalised(weights) for shown, weights in joint.items()}
        return self.updates[belief, action]

    def reached(self, start: Belief, horizon: int, say: Callable[[str], None]) -> list[dict[Belief, None]]:
        """The beliefs before each action, in the order of their discovery, whatever is done."""
        layers: list[dict[Belief, None]] = [{start: None}]
        count = 1
        for t in range(1, horizon):
            say(f"after {t}, {count:,} beliefs are reached")
            following: dict[Belief, None] = {}
            for belief, action in product(layers[-1], range(len(self.pomdp.actions))):
                following.update({after: None for _, after in self.after(belief, action).values()})
                if count + len(following) > MOST_BELIEFS:
                    reason = f"more than {MOST_BELIEFS:,} beliefs are reached"
                    raise UserError("horizon", f"{reason}; plan fewer actions, or give a controller")
            layers.append(following)
            count += len(following)
        return layers

    def plan(self, start: Belief, horizon: int, say: Callable[[str], None]) -> dict[tuple[int, Belief], int]:
        """argmax of V_k(b) = max_a E[R | b, a] + γ Σ_o P(o | b, a) V_{k−1}(b′), by (k, b)."""
        choice: dict[tuple[int, Belief], int] = {}
        later: dict[Belief, Fraction] = {}
        for left, layer in enumerate(reversed(self.reached(start, horizon, say)), 1):
            say(f"the best of {left:,}, for {len(layer):,} beliefs")
            values: dict[Belief, Fraction] = {}
            for belief in layer:
                worth = [self.worth(belief, action, later) for action in range(len(self.pomdp.actions))]
                values[belief] = max(worth)
                choice[left, belief] = worth.index(values[belief])
            later = values
        return choice

    def worth(self, belief: Belief, action: int, later: dict[Belief, Fraction]) -> Fraction:
        now = sum((p * self.pomdp.expected_rewards[action][state] for state, p in belief), Fraction(0))
        if not later:  # the last action
            return now
        outcomes = self.after(belief, action).values()
        return now + self.pomdp.discount * sum((p * later[after] for p, after in outcomes), Fraction(0))


def _normalised(weights: Row) -> tuple[Fraction, Belief]:
    total = sum(weights.values(), Fraction(0))
    return total, tuple(sorted((state, weight / total) for state, weight in weights.items()))


def read_pomdp(text: str, name: str = "", rounding: Rational = ROUNDING) -> Pomdp:
    """A problem from the text of a `.pomdp` file; rows may miss the sum 1 by `rounding`, and are then divided by it."""
    return Pomdp(**vars(parse(text, name, rational(rounding, "rounding"))))


def load_pomdp(path: str | os.PathLike[str], rounding: Rational = ROUNDING) -> Pomdp:
    """A problem from a `.pomdp` file."""
    path = Path(path)
    raw = read_bytes(path, path.name, MOST_BYTES)
    try:
        return read_pomdp(raw.decode("utf-8-sig"), path.stem, rounding)
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise UserError(f"line {line}", "not UTF-8 text; save the file as UTF-8") from None


def classics() -> list[str]:
    """The names of the problems that come along."""
    return sorted(item.name.removesuffix(".pomdp") for item in _shelf().iterdir() if item.name.endswith(".pomdp"))


def classic(name: str) -> Pomdp:
    """One of the problems that come along."""
    if name not in classics():
        raise UserError("classic", f"no problem is called {name!r}; there are {', '.join(classics())}")
    return read_pomdp((_shelf() / f"{name}.pomdp").read_text(encoding="utf-8"), name)


def _shelf() -> Any:
    return files("certify.sources") / "data"
