"""The adapter contract: a task whose hidden value can be chosen, an expert, and a map from observations to symbols."""

import math
import random
from array import array
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, NamedTuple, SupportsIndex

import numpy as np

from certify.core.enumerated import Weight
from certify.core.graph import build
from certify.core.model import Model
from certify.core.reading import Rational, rational
from certify.errors import UserError
from certify.progress import working
from certify.sources.playing import END, H, History, Played, Player
from certify.sources.symbols import Legend, readable

__all__ = ["END", "Adapter", "H", "History", "Law", "Legend", "check_task", "readable", "to_model"]

Law = Mapping[str, Rational] | str
MOST_EPISODES = 200_000


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
        where = f"{self.name}.hidden"
        if not len(self.hidden):
            raise UserError(where, "no hidden value is given; a task that hides nothing has one, such as [None]")
        if not isinstance(self.hidden, Mapping):
            even = Fraction(1, len(self.hidden))
            return [(value, even) for value in self.hidden]
        pairs = [(value, rational(weight, where)) for value, weight in self.hidden.items()]
        for value, weight in pairs:
            if weight < 0:
                raise UserError(where, f"the weight {weight} of {value!r} is negative")
        total = sum(weight for _, weight in pairs)
        if total != 1:
            raise UserError(where, f"the weights sum to {total}, not to 1")
        return [(value, weight) for value, weight in pairs if weight]


class Trajectory(NamedTuple, Generic[H]):
    """One whole episode, with the probability of its hidden value and of the expert's choices."""

    hidden: H
    weight: Weight
    steps: Played


def to_model(adapter: Adapter[H], verify: bool = True, most: int = MOST_EPISODES) -> Model:
    """Enumerate hidden values and the expert's choices; every trajectory is played twice and must repeat itself.

    A task of more than `most` trajectories is refused, and at once where a few random episodes show it.
    """
    player = Player(adapter)
    return _model(player, trajectories(player, verify, most))


def _model(player: Player[H], played: Iterable[Trajectory[H]]) -> Model:
    """Trajectories are taken as they come and not kept: numbers alone do not occupy the garbage collector."""
    weights, numbers = list[Weight](), array("q")
    for _, weight, steps in played:
        weights.append(weight)
        numbers.fromlist(steps.numbers)
    cells = np.array(player.cells)[np.frombuffer(numbers, np.int64)]
    episodes = player.table.episodes(weights, cells, f"{player.adapter.name}.hidden")
    return Model(build(episodes), episodes, player.adapter.name)


def trajectories(player: Player[H], verify: bool = True, most: int = MOST_EPISODES) -> Iterator[Trajectory[H]]:
    """Every trajectory; to verify, each is played again, further along in the global generators."""
    adapter = player.adapter
    if not isinstance(adapter.horizon, SupportsIndex) or adapter.horizon < 1:
        raise UserError(f"{adapter.name}.horizon", f"expected a whole number of steps, not {adapter.horizon!r}")
    count, values = 0, adapter.weights()
    # an environment may seed the global generators: that must not reach the caller
    with _reseeded(random.Random(0)), working(f"playing {adapter.name}") as say:
        for k, (hidden, weight) in enumerate(values):
            for share, steps in player.branches(hidden, weight.as_integer_ratio(), verify):
                count += 1
                if count == 1:
                    _refuse_large(adapter, values, steps, most)
                if count > most:
                    raise _too_many(adapter, f"more than {most:,} trajectories", most)
                if count % 64 == 0:
                    say(f"{k:,} of {len(values):,} hidden values, {count:,} trajectories")
                yield Trajectory(hidden, share, steps)


def _refuse_large(adapter: Adapter[H], values: Sequence[tuple[H, Fraction]], first: Played, most: int) -> None:
    """Refuse a task at once whose trajectories are surely, or by a few random episodes in all likelihood, too many."""
    if len(values) > most:
        raise _too_many(adapter, f"{len(values):,} hidden values, and as many trajectories or more", most)
    if len(values) * _choices(first) <= most:
        return
    rng, player = random.Random(0), Player(adapter)
    episodes = [player.play(rng.choice(values)[0], choose=rng.choice) for _ in range(16)]
    expected = len(values) * sum(map(_choices, episodes)) / len(episodes)  # the mean of this is their number
    if expected > 2 * most:
        raise _too_many(adapter, f"about {expected:.0e} trajectories, judged by 16 random ones", most)


def _choices(steps: Played) -> float:
    """One over the probability of an episode whose actions are drawn evenly."""
    return math.prod(1.0 + len(choice.others) for _, choice in steps.forks)


def _too_many(adapter: Adapter[H], excess: str, most: int) -> UserError:
    remedy = "shorten the horizon, write the task with Model.from_generative, or give to_model a larger `most`"
    return UserError(adapter.name, f"{excess}; the limit is {most:,}: {remedy}")


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
    player = Player(adapter)
    played = list(trajectories(player))
    model = _model(player, played)
    rng = random.Random(seed)
    longer = 0
    for one in rng.choices(played, [above / below for _, (above, below), _ in played], k=episodes):
        with _reseeded(rng):
            player.replay(one.hidden, one.steps)
            longer += one.steps.history[-2] != END and not adapter.step(one.steps.history[-1])[1]
    values = len(adapter.weights())
    told = [
        f"{values} hidden value{'s' * (values > 1)}, weights sum to 1",
        f"{len(played)} trajectories repeat themselves under other global seeds",
        f"{len(model.graph.observations)} symbols, all of them text",
        f"{episodes} live episodes agree with the symbolic model",
        f"{longer} of {episodes} live episodes go on after the horizon, {adapter.horizon} steps",
    ]
    if values > 1 and len({one.steps.history[::2] for one in played}) == 1:
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
