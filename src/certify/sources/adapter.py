"""The adapter contract: a task whose hidden value can be chosen, an expert, and a map from observations to symbols."""

import random
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Generic, SupportsIndex, TypeVar

import numpy as np

from certify.core.merged import Rational
from certify.core.model import Model
from certify.core.reading import rational
from certify.errors import UserError

H = TypeVar("H", bound=Hashable)
History = tuple[str, ...]  # o₁, a₁, o₂, …, o_t as symbols
Law = Mapping[str, Rational] | str
END = "end"  # the absorbing observation and action after an episode has ended
MOST_EPISODES = 200_000


def readable(raw: Any) -> str:
    """The default symboliser: numbers, arrays, tuples and dictionaries as short text, nothing rounded.

    Within one observation space, equal values and no others have equal text. The shape of an array is left out.
    """
    if isinstance(raw, str):
        return str(raw)
    if isinstance(raw, Mapping):
        return "{" + ", ".join(f"{key}: {_inner(raw[key])}" for key in sorted(raw, key=str)) + "}"
    if isinstance(raw, tuple | list):
        return "(" + ", ".join(map(_inner, raw)) + ")"
    if isinstance(raw, np.ndarray):
        text = {"b": str, "i": str, "u": str, "f": _decimal}.get(raw.dtype.kind, _inner)
        return "[" + " ".join(map(text, raw.ravel())) + "]" if raw.ndim else text(raw[()])
    return _decimal(raw) if isinstance(raw, float | np.floating) else str(raw)


def _decimal(value: float | np.floating) -> str:
    """The shortest decimal that reads back as the same value in its own precision."""
    return str(int(value)) if value.is_integer() else str(value)


def _inner(item: Any) -> str:
    plain = not isinstance(item, str) or re.fullmatch(r"[\w.-]+", item)
    return readable(item) if plain else repr(str(item))  # quoted, for it may hold the separators


@dataclass(frozen=True)
class Adapter(Generic[H]):
    """A task as the certifier needs it. All of its randomness must be in the hidden value or in the expert's law.

    `reset(hidden)` starts an episode with that hidden value and returns the first raw observation; `step(action)` acts
    (by name) and returns the next raw observation and whether the episode has ended; `expert(hidden, history)` is the
    law of the expert, which may look at the hidden value (a privileged expert) or at the history alone.
    """

    name: str
    horizon: int
    hidden: Mapping[H, Rational] | Sequence[H]  # with exact weights, or equally likely
    reset: Callable[[H], Any]
    step: Callable[[str], tuple[Any, bool]]
    expert: Callable[[H, History], Law]
    symbol: Callable[[Any], str] = readable
    modified: str = ""  # how the task differs from what its package ships; empty if it does not

    def weights(self) -> list[tuple[H, Fraction]]:
        """Hidden values of positive weight with their exact weights, which sum to one."""
        place = f"{self.name}.hidden"
        if not len(self.hidden):
            raise UserError(place, "no hidden value is given; a task that hides nothing has one, such as [None]")
        if not isinstance(self.hidden, Mapping):
            return [(value, Fraction(1, len(self.hidden))) for value in self.hidden]
        pairs = [(value, rational(weight, place)) for value, weight in self.hidden.items()]
        for value, weight in pairs:
            if weight < 0:
                raise UserError(place, f"the weight {weight} of {value!r} is negative")
        total = sum(weight for _, weight in pairs)
        if total != 1:
            raise UserError(place, f"the weights sum to {total}, not to 1")
        return [(value, weight) for value, weight in pairs if weight]


@dataclass(frozen=True)
class Step:
    """What was seen and what the expert would do."""

    symbol: str
    law: dict[str, Fraction]
    action: str


@dataclass(frozen=True)
class Trajectory(Generic[H]):
    """One whole episode, with the probability of its hidden value and of the expert's choices."""

    hidden: H
    weight: Fraction
    steps: list[Step]


def to_model(adapter: Adapter[H], verify: bool = True) -> Model:
    """Enumerate hidden values and the expert's choices; every trajectory is played twice and must repeat itself."""
    return _model(adapter, trajectories(adapter, verify))


def _model(adapter: Adapter[H], played: list[Trajectory[H]]) -> Model:
    episodes = [
        {
            "weight": one.weight,
            "steps": [{"obs": s.symbol, "action_law": s.law, "action": s.action} for s in one.steps],
        }
        for one in played
    ]
    return Model.from_episodes({"horizon": int(adapter.horizon), "episodes": episodes}, adapter.name)


def trajectories(adapter: Adapter[H], verify: bool = True) -> list[Trajectory[H]]:
    """Every trajectory; to verify, each is played again with other seeds in the global generators."""
    if not isinstance(adapter.horizon, SupportsIndex) or adapter.horizon < 1:
        raise UserError(f"{adapter.name}.horizon", f"expected a whole number of steps, not {adapter.horizon!r}")
    found: list[Trajectory[H]] = []
    rng = random.Random(0)
    with _reseeded(rng):  # an environment may seed the global generators: that must not reach the caller
        for hidden, weight in adapter.weights():
            for share, steps in branches(adapter, hidden):
                found.append(Trajectory(hidden, weight * share, steps))
                if len(found) > MOST_EPISODES:
                    raise UserError(adapter.name, f"more than {MOST_EPISODES:,} trajectories; shorten the horizon")
                if verify:
                    with _reseeded(rng):
                        play(adapter, hidden, steps)
    return found


def branches(adapter: Adapter[H], hidden: H) -> Iterator[tuple[Fraction, list[Step]]]:
    """Every trajectory of one hidden value that the expert can take, with its probability."""
    waiting: list[tuple[Fraction, list[Step]]] = [(Fraction(1), [])]
    while waiting:
        share, known = waiting.pop()
        steps = play(adapter, hidden, known)
        for t in range(len(known), len(steps)):  # beyond what was known, play took the first action of each law
            step = steps[t]
            for action, p in list(step.law.items())[1:]:
                waiting.append((share * p, [*steps[:t], replace(step, action=action)]))
            share *= step.law[step.action]
        yield share, steps


def play(adapter: Adapter[H], hidden: H, known: Sequence[Step] = ()) -> list[Step]:
    """One episode, padded with `end`: the known steps first, which must recur, then the first action of each law."""
    raw = adapter.reset(hidden)
    steps: list[Step] = []
    history: tuple[str, ...] = ()
    ended = False
    for t in range(adapter.horizon):
        symbol = END if ended else _symbol(adapter, raw, t)
        history = (*history, symbol)
        law = {END: Fraction(1)} if ended else _law(adapter, hidden, history)
        action = known[t].action if t < len(known) else next(iter(law))
        steps.append(Step(symbol, law, action))
        if t < len(known):
            _same(adapter, hidden, known, steps)
        history = (*history, action)
        if not ended and t + 1 < adapter.horizon:
            raw, ended = _stepped(adapter, action)
    return steps


def _stepped(adapter: Adapter[H], action: str) -> tuple[Any, bool]:
    result = adapter.step(action)
    if not isinstance(result, tuple) or len(result) != 2 or not isinstance(result[1], bool | np.bool_):
        raise UserError(f"{adapter.name}.step", f"gave {result!r}; expected the observation and whether it has ended")
    return result


def _symbol(adapter: Adapter[H], raw: Any, t: int) -> str:
    symbol = adapter.symbol(raw)
    if not isinstance(symbol, str):
        raise UserError(f"{adapter.name}.symbol", f"gave {symbol!r} at step {t + 1}; a symbol is text")
    return symbol


def _law(adapter: Adapter[H], hidden: H, history: History) -> dict[str, Fraction]:
    given = adapter.expert(hidden, history)
    if isinstance(given, str):
        return {given: Fraction(1)}
    place = f"{adapter.name}.expert({hidden!r}, …{history[-1]!r})"
    if not isinstance(given, Mapping) or not all(isinstance(action, str) for action in given):
        raise UserError(place, f"gave {given!r}; expected the name of an action, or names with their probabilities")
    law = {action: rational(p, place) for action, p in given.items()}
    if any(p < 0 for p in law.values()) or sum(law.values()) != 1:
        listed = ", ".join(f"{action} {p}" for action, p in law.items()) or "no action"
        raise UserError(place, f"is not a distribution ({listed}): the probabilities are positive and sum to 1")
    return {action: p for action, p in law.items() if p}


def _same(adapter: Adapter[H], hidden: H, known: Sequence[Step], steps: Sequence[Step]) -> None:
    """The last step is the known one again, or both trajectories are told."""
    t = len(steps) - 1
    if known[t].symbol == steps[t].symbol and known[t].law == steps[t].law:
        return
    fault = "the expert disagrees with itself" if known[t].symbol == steps[t].symbol else "is not deterministic"
    raise UserError(
        f"{adapter.name} with hidden value {hidden!r}",
        f"{fault} at step {t + 1}: first {_told(known, t)}, then {_told(steps, t)}; "
        "put all randomness into the hidden value or the expert's law",
    )


def _told(steps: Sequence[Step], t: int) -> str:
    words = [f"{s.symbol} -{s.action}->" for s in steps[:t]]
    law = ", ".join(f"{a} {p}" for a, p in steps[t].law.items())
    return " ".join([*["…"][: t > 3], *words[-3:], steps[t].symbol, f"({law})"])


def check_task(adapter: Adapter[H], episodes: int = 20, seed: int = 0) -> list[str]:
    """Verify an adapter as Gymnasium's `check_env` does; returns what was found, raises UserError at the first fault.

    Hidden values sum to one; every trajectory repeats itself with other seeds in the global generators; symbols are
    text; sampled live episodes agree at every step with the trajectories that the symbolic model is made of. That an
    episode goes on after the horizon, or that nothing shown depends on the hidden value, is reported as a note.
    """
    played = trajectories(adapter)
    model = _model(adapter, played)
    rng = random.Random(seed)
    longer = 0
    for one in rng.choices(played, [float(trajectory.weight) for trajectory in played], k=episodes):
        with _reseeded(rng):
            play(adapter, one.hidden, one.steps)
            longer += one.steps[-1].symbol != END and not _stepped(adapter, one.steps[-1].action)[1]
    values = len(adapter.weights())
    told = [
        f"{values} hidden value{'s' * (values > 1)}, weights sum to 1",
        f"{len(played)} trajectories repeat themselves under other global seeds",
        f"{len(model.graph.observations)} symbols, all of them text",
        f"{episodes} live episodes agree with the symbolic model",
        f"{longer} of {episodes} live episodes go on after the horizon, {adapter.horizon} steps",
    ]
    if values > 1 and len({tuple(step.symbol for step in one.steps) for one in played}) == 1:
        told.append("no observation depends on the hidden value: is it really set?")
    return told


@contextmanager
def _reseeded(rng: random.Random) -> Iterator[None]:
    """Other seeds in the global generators, which are put back afterwards."""
    before, before_numpy = random.getstate(), np.random.get_state()
    random.seed(rng.randrange(2**32))
    np.random.seed(rng.randrange(2**32))
    try:
        yield
    finally:
        random.setstate(before)
        np.random.set_state(before_numpy)
