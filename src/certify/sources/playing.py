"""Playing an adapter: every trajectory from its beginning, numbered as it goes, and again to see that it recurs."""

from collections.abc import Callable, Hashable, Iterator, Mapping
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np

from certify.core.enumerated import Choice, Table, Weight, law_key
from certify.errors import UserError
from certify.sources.symbols import readable

if TYPE_CHECKING:
    from certify.sources.adapter import Adapter

H = TypeVar("H", bound=Hashable)
History = tuple[str, ...]  # o₁, a₁, o₂, …, o_t as symbols
END = "end"  # the absorbing observation and action after an episode has ended
_TRUTHS = (bool, np.bool_)
_NOTHING = object()


class Moment(NamedTuple):
    """What is seen and the expert's law there: its first action with its number and probability, and the others."""

    name: str
    number: int  # of this observation, action and law together
    chance: Weight
    others: tuple[tuple[str, int, Weight], ...]


class Played(NamedTuple):
    """One episode, or its first steps."""

    history: History  # o₁, a₁, …, o_t, a_t
    given: list[Any]  # the expert's laws as they were given
    numbers: list[int]  # of each step's observation, action and law together
    forks: list[tuple[int, Moment]]  # steps that were new, and where the expert may act otherwise
    pasts: list[tuple[Any, History]]  # while it may be played again: plain raw observations, and what the expert saw

    @property
    def seen(self) -> list[str]:
        return list(self.history[::2])

    @property
    def actions(self) -> list[str]:
        return list(self.history[1::2])

    def fork(self, t: int, name: str, number: int) -> "Played":
        """The first steps up to t, where another action is taken."""
        history, numbers = (*self.history[: 2 * t + 1], name), [*self.numbers[:t], number]
        return Played(history, self.given[: t + 1], numbers, [], self.pasts[: t + 1])


class Player(Generic[H]):
    """Plays one adapter; names, laws and steps are numbered when they are first met."""

    def __init__(self, adapter: "Adapter[H]") -> None:
        self.adapter = adapter
        self.table = Table()
        self.cells: list[tuple[int, int, int]] = []  # observation, action and law of each number
        self._moments: dict[Hashable, Moment] = {}  # by what was seen, and the law as it was given

    def branches(self, hidden: H, weight: Weight = (1, 1), verify: bool = False) -> Iterator[tuple[Weight, Played]]:
        """Every trajectory of one hidden value that the expert can take, with its weight; to verify, played twice."""
        last = self.adapter.horizon - 1
        waiting: list[tuple[int, int, Played | None]] = [(*weight, None)]
        while waiting:
            above, below, begun = waiting.pop()
            steps = self.play(hidden, begun)
            if verify:
                self.replay(hidden, steps)
            ends: list[tuple[Weight, Played]] = []  # what differs in the last action alone is not played again
            for t, moment in steps.forks:
                for name, number, (p, q) in moment.others:
                    fork = steps.fork(t, name, number)
                    if t < last:
                        waiting.append((above * p, below * q, fork))
                    else:
                        fork.pasts.clear()
                        ends.append(((above * p, below * q), fork))
                above, below = above * moment.chance[0], below * moment.chance[1]
            steps.pasts.clear()
            yield (above, below), steps
            yield from ends

    def play(self, hidden: H, begun: Played | None = None, choose: Callable[[list[str]], str] | None = None) -> Played:
        """One episode, padded with `end`: what has begun must recur; then the first, or chosen, action of each law."""
        step, expert, to_symbol = self.adapter.step, self.adapter.expert, self.adapter.symbol
        moments, horizon, plain = self._moments, self.adapter.horizon, self.adapter.symbol is readable
        history, given, numbers, forks, pasts = begun or ((), [], [], [], [])
        raw, ended = self.replay(hidden, begun) if begun else (self.adapter.reset(hidden), False)
        past, taken = history[:-1], history[-1:]
        for t in range(len(given), horizon):
            if ended:
                rest = horizon - t
                given += [END] * rest
                numbers += [self._moment(END, END, hidden, past).number] * rest
                taken += (END, END) * rest
                break
            kind = type(raw)
            symbol = raw if plain and kind is str else to_symbol(raw)
            if type(symbol) is not str and not isinstance(symbol, str):
                raise UserError(f"{self.adapter.name}.symbol", f"gave {symbol!r} at step {t + 1}; a symbol is text")
            past += (*taken, symbol)
            law = expert(hidden, past)
            pasts.append((raw if plain and (kind is str or kind is int) else _NOTHING, past))
            if type(law) is not str or (moment := moments.get((symbol, law))) is None:
                moment = self._moment(symbol, law, hidden, past)
                law = law if isinstance(law, str) else dict(law)  # a copy: the expert may change its own
            name, number, _, others = moment
            if others:
                forks.append((t, moment))
                if choose:
                    ways = {name: number, **{other: its for other, its, _ in others}}
                    name = choose(list(ways))
                    number = ways[name]
            given.append(law)
            numbers.append(number)
            taken = (name,)
            if t < horizon - 1:
                result = step(name)
                raw, ended = result if type(result) is tuple and len(result) == 2 else self._checked(result)
                if ended is not False:
                    self._checked(result)
        return Played(past + taken, given, numbers, forks, pasts)

    def replay(self, hidden: H, steps: Played) -> tuple[Any, bool]:
        """Play steps that must recur: the raw observation after them, and whether the episode has ended."""
        step, expert, to_symbol = self.adapter.step, self.adapter.expert, self.adapter.symbol
        history, given, pasts = steps.history, steps.given, steps.pasts
        final = pasts[-1] if len(pasts) == len(given) else (_NOTHING, history[:-1])
        if len(pasts) < len(given):  # forgotten, or not kept beyond the end of the episode
            pasts = chain(pasts, ((_NOTHING, history[: 2 * t + 1]) for t in range(len(pasts), len(given))))
        raw, ended = result = self.adapter.reset(hidden), False
        last = len(given) == self.adapter.horizon  # its action is not played
        try:
            for (before, past), law, action in zip(pasts, given, history[1 : -1 if last else None : 2], strict=False):
                if raw is not before and (symbol := to_symbol(raw)) != past[-1]:
                    self._compare(hidden, steps, past, symbol, expert(hidden, (*past[:-1], symbol)))
                if (now := expert(hidden, past)) != law:
                    self._compare(hidden, steps, past, past[-1], now)
                raw, ended = result = step(action)
                if ended is not False and self._checked(result)[1]:
                    if any(symbol != END for symbol in history[len(past) + 1 :]):
                        self._compare(hidden, steps, history[: len(past) + 2], END, END)
                    return raw, True
        except (TypeError, ValueError):  # a step may have given something else than two items
            self._checked(result)
            raise
        if last:
            before, past = final
            if raw is not before and (symbol := to_symbol(raw)) != past[-1]:
                self._compare(hidden, steps, past, symbol, expert(hidden, (*past[:-1], symbol)))
            if (now := expert(hidden, past)) != given[-1]:
                self._compare(hidden, steps, past, past[-1], now)
        return raw, ended

    def _moment(self, symbol: str, given: Any, hidden: H, past: History) -> Moment:
        try:
            key = (symbol, given if type(given) is str else law_key(given))
            moment = self._moments.get(key)
        except (AttributeError, TypeError):  # neither a name nor names with numbers: refused below
            key = moment = None
        if moment is not None:
            return moment
        choice = self._choice(given, hidden, past)
        seen = self.table.observation(symbol, lambda: f"{self.adapter.name}.symbol")
        others = [(name, len(self.cells) + k, p) for k, (name, _, p) in enumerate(reversed(choice.others), 1)]
        moment = Moment(choice.name, len(self.cells), choice.chance, tuple(others))
        actions = [choice.action, *(action for _, action, _ in reversed(choice.others))]
        self.cells += [(seen, action, choice.law) for action in actions]
        return self._moments.setdefault(key, moment)

    def _choice(self, given: Any, hidden: H, past: History) -> Choice:
        where = lambda: f"{self.adapter.name}.expert({hidden!r}, …{past[-1]!r})"  # noqa: E731
        if isinstance(given, str) or (isinstance(given, Mapping) and all(isinstance(name, str) for name in given)):
            return self.table.choice(given, where)
        raise UserError(where(), f"gave {given!r}; expected the name of an action, or names with their probabilities")

    def _checked(self, result: Any) -> tuple[Any, bool]:
        if type(result) is not tuple or len(result) != 2 or type(result[1]) not in _TRUTHS:
            expected = "expected the observation and whether it has ended"
            raise UserError(f"{self.adapter.name}.step", f"gave {result!r}; {expected}")
        return result

    def _compare(self, hidden: H, steps: Played, past: History, symbol: str, given: Any) -> None:
        """Refuse a step that is not what it was when it was first played; both trajectories are shown."""
        t = len(past) // 2
        law, before = self._choice(given, hidden, (symbol,)), self._choice(steps.given[t], hidden, past)
        if symbol == past[-1] and law.law == before.law:  # the law was only written in another way
            return
        fault = "the expert disagrees with itself" if symbol == steps.seen[t] else "is not deterministic"
        first, then = (_told(steps, t, *now) for now in ((steps.seen[t], before), (symbol, law)))
        raise UserError(
            f"{self.adapter.name} with hidden value {hidden!r}",
            f"{fault} at step {t + 1}: first {first}, then {then}; "
            "put all randomness into the hidden value or the expert's law",
        )


def _told(steps: Played, t: int, symbol: str, law: Choice) -> str:
    words = [f"{seen} -{action}->" for seen, action in zip(steps.seen[:t], steps.actions, strict=False)]
    chances = [(law.name, law.chance), *((name, p) for name, _, p in reversed(law.others))]
    listed = ", ".join(f"{name} {Fraction(*p)}" for name, p in chances)
    return " ".join([*["…"][: t > 3], *words[-3:], symbol, f"({listed})"])
