"""The adapter contract: a task whose hidden value can be chosen, an expert, and a map from observations to symbols."""

import math
import operator
import random
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import Any, Generic, NamedTuple, SupportsIndex, TypeVar

import numpy as np

from certify.core.enumerated import Table, Weight
from certify.core.graph import build
from certify.core.model import Model
from certify.core.reading import Rational, exact_law, rational
from certify.errors import UserError
from certify.progress import working

H = TypeVar("H", bound=Hashable)
History = tuple[str, ...]  # o₁, a₁, o₂, …, o_t as symbols
Law = Mapping[str, Rational] | str
END = "end"  # the absorbing observation and action after an episode has ended
MOST_EPISODES = 200_000
_TRUTHS = (bool, np.bool_)


def readable(raw: Any) -> str:
    """The default symboliser: numbers, arrays, tuples and dictionaries as short text, nothing rounded.

    Within one observation space, equal values and no others have equal text. The shape of an array is left out.
    """
    if isinstance(raw, str | int):
        return raw if type(raw) is str else str(raw)
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


class Legend:
    """A symboliser for images and long tuples: text of up to `width` letters as it is, anything longer as ``obs#12``.

    `raw` keeps what each short name stands for.
    """

    def __init__(self, width: int = 40) -> None:
        self.width = width
        self.raw: dict[str, Any] = {}
        self._names: dict[str, str] = {}

    def __call__(self, raw: Any) -> str:
        text = readable(raw)
        if len(text) <= self.width:
            return text
        name = self._names.setdefault(text, f"obs#{len(self._names)}")
        self.raw.setdefault(name, raw)
        return name


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


class Played(NamedTuple):
    """One episode, step by step: what was seen, the expert's law, and the action that was taken.

    A law is the name of a certain action, or several names with their exact probabilities.
    """

    seen: list[str]
    laws: list[str | Mapping[str, Fraction]]
    actions: list[str]

    def fork(self, t: int, action: str) -> "Played":
        """The first steps up to t, where another action is taken."""
        return Played(self.seen[: t + 1], self.laws[: t + 1], [*self.actions[:t], action])


class Trajectory(NamedTuple, Generic[H]):
    """One whole episode, with the probability of its hidden value and of the expert's choices."""

    hidden: H
    weight: Weight
    steps: Played


def to_model(adapter: Adapter[H], verify: bool = True, most: int = MOST_EPISODES) -> Model:
    """Enumerate hidden values and the expert's choices; every trajectory is played twice and must repeat itself.

    A task of more than `most` trajectories is refused, and at once where a few random episodes show it.
    """
    return _model(adapter, trajectories(adapter, verify, most))


def _model(adapter: Adapter[H], played: list[Trajectory[H]]) -> Model:
    table = Table()
    names, given, taken = (list(chain.from_iterable(one.steps[k] for one in played)) for k in range(3))
    for name in dict.fromkeys(names):
        table.observation(name, lambda: f"{adapter.name}.symbol")
    certain = given == taken  # then laws have the numbers of their actions
    keys = taken if certain else [law if type(law) is str else id(law) for law in given]  # equal laws are mostly one
    distinct = dict(zip(keys, given, strict=True))
    laws = {key: table.choice(law, lambda: f"{adapter.name}.expert").law for key, law in distinct.items()}

    def column(numbers: Mapping[Any, int], items: list[Any]) -> np.ndarray:
        return np.fromiter(map(numbers.__getitem__, items), np.int64, len(items))

    observation, action = column(table.observations, names), column(table.actions, taken)
    cells = [observation, action, action if certain else column(laws, keys)]
    episodes = table.episodes([one.weight for one in played], np.stack(cells, axis=1), f"{adapter.name}.hidden")
    return Model(build(episodes), episodes, adapter.name)


def trajectories(adapter: Adapter[H], verify: bool = True, most: int = MOST_EPISODES) -> list[Trajectory[H]]:
    """Every trajectory; to verify, each is played again, further along in the global generators."""
    if not isinstance(adapter.horizon, SupportsIndex) or adapter.horizon < 1:
        raise UserError(f"{adapter.name}.horizon", f"expected a whole number of steps, not {adapter.horizon!r}")
    played: list[Trajectory[H]] = []
    values = adapter.weights()
    # an environment may seed the global generators: that must not reach the caller
    with _reseeded(random.Random(0)), working(f"playing {adapter.name}") as say:
        for k, (hidden, weight) in enumerate(values):
            for share, steps in branches(adapter, hidden, (weight.numerator, weight.denominator), verify):
                played.append(Trajectory(hidden, share, steps))
                if len(played) == 1:
                    _refuse_large(adapter, values, steps, most)
                if len(played) > most:
                    raise _too_many(adapter, f"more than {most:,} trajectories", most)
                if len(played) % 64 == 0:
                    say(f"{k:,} of {len(values):,} hidden values, {len(played):,} trajectories")
    return played


def _refuse_large(adapter: Adapter[H], values: Sequence[tuple[H, Fraction]], first: Played, most: int) -> None:
    """Refuse a task at once whose trajectories are surely, or by a few random episodes in all likelihood, too many."""
    if len(values) > most:
        raise _too_many(adapter, f"{len(values):,} hidden values, and as many trajectories or more", most)
    if len(values) * _choices(first) <= most:
        return
    rng = random.Random(0)
    episodes = [play(adapter, rng.choice(values)[0], choose=rng.choice) for _ in range(16)]
    expected = len(values) * sum(map(_choices, episodes)) / len(episodes)  # the mean of this is their number
    if expected > 2 * most:
        raise _too_many(adapter, f"about {expected:.0e} trajectories, judged by 16 random ones", most)


def _choices(steps: Played) -> float:
    """One over the probability of an episode whose actions are drawn evenly."""
    return math.prod(float(len(law)) for law in steps.laws if not isinstance(law, str))


def _too_many(adapter: Adapter[H], found: str, most: int) -> UserError:
    remedy = "shorten the horizon, write the task with Model.from_generative, or give to_model a larger `most`"
    return UserError(adapter.name, f"{found}; the limit is {most:,}: {remedy}")


def branches(
    adapter: Adapter[H], hidden: H, weight: Weight = (1, 1), verify: bool = False
) -> Iterator[tuple[Weight, Played]]:
    """Every trajectory of one hidden value that the expert can take, with its weight; to verify, played twice."""
    last = adapter.horizon - 1
    waiting: list[tuple[Weight, Played | None]] = [(weight, None)]
    while waiting:
        weight, known = waiting.pop()
        steps = play(adapter, hidden, known)
        if verify:
            play(adapter, hidden, steps)
        if steps.laws == steps.actions:  # every action was certain
            yield weight, steps
            continue
        ends: list[tuple[Weight, Played]] = []  # what differs in the last action alone is not played again
        for t in range(
            len(known.seen) if known else 0, adapter.horizon
        ):  # beyond what was known, the first action of each law
            law = steps.laws[t]
            if not isinstance(law, str):
                (_, p), *others = law.items()
                (waiting if t < last else ends).extend((_times(weight, q), steps.fork(t, a)) for a, q in others)
                weight = _times(weight, p)
        yield weight, steps
        yield from ends


def _times(weight: Weight, p: Fraction) -> Weight:
    return weight[0] * p.numerator, weight[1] * p.denominator


def play(
    adapter: Adapter[H],
    hidden: H,
    known: Played | None = None,
    choose: Callable[[list[str]], str] = operator.itemgetter(0),
) -> Played:
    """One episode, padded with `end`: the known steps first, which must recur, then the chosen action of each law."""
    step, expert, to_symbol, last = adapter.step, adapter.expert, adapter.symbol, adapter.horizon - 1
    plain = to_symbol is readable
    steps = seen, laws, actions = Played([], [], [])
    planned = known.actions if known else []
    raw = adapter.reset(hidden)
    history: tuple[str, ...] = ()
    for t in range(last + 1):
        symbol = raw if plain and type(raw) is str else to_symbol(raw)
        if type(symbol) is not str and not isinstance(symbol, str):
            raise UserError(f"{adapter.name}.symbol", f"gave {symbol!r} at step {t + 1}; a symbol is text")
        history += (symbol,)
        law = expert(hidden, history)
        if type(law) is str:
            action = law
        else:
            law = _law(adapter, hidden, history, law)
            action = law if type(law) is str else planned[t] if t < len(planned) else choose(list(law))
        seen.append(symbol)
        laws.append(law)
        actions.append(action)
        if t == last:
            break
        result = step(action)
        if type(result) is not tuple or len(result) != 2 or type(result[1]) not in _TRUTHS:
            raise UserError(
                f"{adapter.name}.step", f"gave {result!r}; expected the observation and whether it has ended"
            )
        raw, ended = result
        if ended:
            for column in steps:
                column += [END] * (last - t)
            break
        history += (action,)
    if known and (seen[: len(planned)] != known.seen or laws[: len(planned)] != known.laws):
        raise _differs(adapter, hidden, known, steps)
    return steps


_laws: dict[Hashable, str | Mapping[str, Fraction]] = {}  # what was read lately, by what was given


def _law(adapter: Adapter[H], hidden: H, history: History, given: Any) -> str | Mapping[str, Fraction]:
    """A law with exact probabilities, or the one action that it allows; equal laws are mostly one object."""

    def place() -> str:
        return f"{adapter.name}.expert({hidden!r}, …{history[-1]!r})"

    if isinstance(given, Mapping):
        key = (*given.items(), *map(type, given.values()))  # a float that equals a fraction is refused all the same
        try:
            if key in _laws:
                return _laws[key]
        except TypeError:  # a probability that is not a number: refused below
            key = ()
        if all(isinstance(action, str) for action in given):
            if len(_laws) > 4096:
                _laws.clear()
            law = exact_law(given, place)
            return _laws.setdefault(key, law if len(law) > 1 else str(next(iter(law))))
    elif isinstance(given, str):
        return str(given)
    raise UserError(place(), f"gave {given!r}; expected the name of an action, or names with their probabilities")


def _differs(adapter: Adapter[H], hidden: H, known: Played, steps: Played) -> UserError:
    """The first step that is not what it was when it was first played; both trajectories are shown."""
    first, again = (zip(one.seen, one.laws, strict=True) for one in (known, steps))
    t = next(t for t, (before, now) in enumerate(zip(first, again, strict=False)) if before != now)
    fault = "the expert disagrees with itself" if known.seen[t] == steps.seen[t] else "is not deterministic"
    return UserError(
        f"{adapter.name} with hidden value {hidden!r}",
        f"{fault} at step {t + 1}: first {_told(known, t)}, then {_told(steps, t)}; "
        "put all randomness into the hidden value or the expert's law",
    )


def _told(steps: Played, t: int) -> str:
    words = [f"{seen} -{action}->" for seen, action in zip(steps.seen[:t], steps.actions, strict=False)]
    law = steps.laws[t]
    listed = ", ".join(f"{a} {p}" for a, p in ({law: 1} if isinstance(law, str) else law).items())
    return " ".join([*["…"][: t > 3], *words[-3:], steps.seen[t], f"({listed})"])


def check_task(
    adapter: Adapter[H],
    episodes: int = 20,
    seed: int = 0,
    draw: Callable[[], Hashable] | None = None,
    draws: int = 2000,
) -> list[str]:
    """Verify an adapter as Gymnasium's `check_env` does; returns what was found, raises UserError at the first fault.

    Hidden values sum to one; every trajectory repeats itself with other seeds in the global generators; symbols are
    text; sampled live episodes agree at every step with the trajectories that the symbolic model is made of. That an
    episode goes on after the horizon, or that nothing shown depends on the hidden value, is reported as a note.

    `draw()` resets the environment as it comes and reads its hidden value. Given one, values that are drawn but not
    listed, and weights that the draws contradict, are reported as warnings.
    """
    played = trajectories(adapter)
    model = _model(adapter, played)
    rng = random.Random(seed)
    longer = 0
    for one in rng.choices(played, [above / below for _, (above, below), _ in played], k=episodes):
        with _reseeded(rng):
            play(adapter, one.hidden, one.steps)
            longer += one.steps.seen[-1] != END and not adapter.step(one.steps.actions[-1])[1]
    values = len(adapter.weights())
    told = [
        f"{values} hidden value{'s' * (values > 1)}, weights sum to 1",
        f"{len(played)} trajectories repeat themselves under other global seeds",
        f"{len(model.graph.observations)} symbols, all of them text",
        f"{episodes} live episodes agree with the symbolic model",
        f"{longer} of {episodes} live episodes go on after the horizon, {adapter.horizon} steps",
    ]
    if values > 1 and len({tuple(one.steps.seen) for one in played}) == 1:
        told.append("no observation depends on the hidden value: is it really set?")
    return told + (_compare_draws(adapter, draw, draws) if draw else [])


def _compare_draws(adapter: Adapter[H], draw: Callable[[], Hashable], draws: int) -> list[str]:
    """What the environment draws, against the hidden values that are listed with their weights."""
    with working(f"drawing hidden values of {adapter.name}"):
        drawn = Counter(draw() for _ in range(draws))
    listed = dict(adapter.weights())
    missing = [f"{value!r} ({drawn[value]} times)" for value in drawn if value not in listed]
    told = [f"warning: drawn but not listed as hidden values: {', '.join(missing[:8])}"] if missing else []
    whole = sum(drawn[value] for value in listed)
    if whole and len(listed) > 1:
        expected = {value: float(weight) * whole for value, weight in listed.items()}
        statistic = sum((drawn[value] - n) ** 2 / n for value, n in expected.items())
        p = chi_squared_tail(statistic, len(listed) - 1)
        words = f"{draws:,} draws against the weights: χ² = {statistic:.1f}, p = {p:.2g}"
        told.append(f"warning: the weights are not those of the environment, {words}" if p < 1e-3 else words)
    return told


def chi_squared_tail(statistic: float, freedom: int) -> float:
    """P(χ² ≥ statistic) with so many degrees of freedom: a finite sum, by halves where they are odd."""
    half = statistic / 2
    if half <= 0:
        return 1.0
    odd = freedom % 2
    total, power = (math.erfc(math.sqrt(half)), 0.5) if odd else (0.0, 0.0)
    while power < freedom / 2:
        total += math.exp(power * math.log(half) - half - math.lgamma(power + 1))
        power += 1
    return min(1.0, total)


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
