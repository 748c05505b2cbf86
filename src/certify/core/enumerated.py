"""Episodes as they are enumerated: names and laws are numbered when they are first met, and rows are integers."""

import math
import random
from array import array
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

import numpy as np

from certify.core.exact import Ints, as_masses, brief
from certify.core.graph import Episodes
from certify.core.reading import Numbers, Rational, check_digits, index_name, text
from certify.errors import UserError
from certify.progress import working

L = TypeVar("L")


Weight = tuple[int, int]  # numerator and denominator, not reduced


class Choice(NamedTuple):
    """A law as it was read: its number, its first action (name, number, probability), and the others, last first."""

    law: int
    name: str
    action: int
    chance: Weight
    others: tuple[tuple[str, int, Weight], ...]


class Table(Numbers):
    """Numbers of names and laws, with the laws as they were read."""

    def __init__(self) -> None:
        super().__init__()
        self.choices: dict[Hashable, Choice] = {}  # what was read, by what was given

    def observation(self, name: Any, where: Callable[[], str]) -> int:
        """The number of an observation; a new one gets the next."""
        return index_name(self.observations, text(name, where()))

    def choice(self, given: Mapping[str, Rational] | str, where: Callable[[], str]) -> Choice:
        """Read a law: the name of a certain action, or names with their exact probabilities."""
        if not isinstance(given, str | Mapping):
            raise UserError(where(), f"gave {given!r}; expected the name of an action, or names with probabilities")
        key = law_key(given)
        try:
            if key in self.choices:
                return self.choices[key]
        except TypeError:  # a probability that is not a number: refused below
            pass
        number, law = self.law({given: 1} if isinstance(given, str) else given, where)
        actions = [(action, self.actions[action], p.as_integer_ratio()) for action, p in law.items()]
        return self.choices.setdefault(key, Choice(number, *actions[0], tuple(actions[:0:-1])))

    def episodes(self, weights: Sequence[Weight], cells: Ints, where: str) -> Episodes:
        """From one weight an episode and three numbers a step; `where` names where the weights come from."""
        table = cells.reshape(len(weights), -1, 3)
        denominator = math.lcm(*{below for _, below in weights})
        check_digits(denominator, where)
        masses = [above * (denominator // below) for above, below in weights]
        if sum(masses) != denominator:
            raise UserError(where, f"the weights sum to {brief(Fraction(sum(masses), denominator))}, not to 1")
        factor = math.gcd(*masses)
        masses = as_masses(mass // factor for mass in masses)
        observation, action, law = (np.ascontiguousarray(table[:, :, k]) for k in range(3))
        names = tuple(self.observations), tuple(self.actions)
        return Episodes(observation, action, law, masses, *names, self.laws, np.arange(len(masses)))


def law_key(given: Mapping[str, Any] | str) -> Hashable:
    """What equal laws share, with the types of numbers: a float that equals a fraction is refused all the same."""
    return given if isinstance(given, str) else (*given.items(), *map(type, given.values()))


def enumerate_latents(
    horizon: int,
    latents: Sequence[tuple[L, Fraction]],
    step: Callable[[L, tuple[str, ...]], tuple[str, Mapping[str, Rational] | str]],
    most: int,
) -> tuple[Episodes, list[int]]:
    """Every episode of every latent, depth first, and the place of its latent; refused where they are too many."""
    if not latents:
        raise UserError("latents", "expected at least one hidden value with its weight")
    if len(latents) > most:
        raise _too_many(f"{len(latents):,} hidden values, and as many episodes or more", most)
    table = Table()
    owner: list[int] = []
    weights: list[Weight] = []
    cells = array("q")  # of each step: observation, action, law
    numbers, choices = table.observations, table.choices
    with working("building the model") as say:
        for index, (latent, weight) in enumerate(latents):
            if weight < 0:
                raise UserError("latents", f"the weight {brief(weight)} of {latent!r} is negative")
            waiting: list[tuple[int, int, tuple[str, ...], list[int]]] = []
            if weight:
                waiting.append((weight.numerator, weight.denominator, (), []))
            while waiting:
                above, below, actions, row = waiting.pop()
                for _ in range(len(actions), horizon):
                    observation, given = step(latent, actions)
                    choice = choices.get(given) if type(given) is str else None
                    if choice is None:
                        choice = table.choice(given, lambda s=latent, a=actions: f"step({s!r}, {a})")
                    seen = numbers.get(observation) if type(observation) is str else None
                    if seen is None:
                        seen = table.observation(observation, lambda s=latent, a=actions: f"step({s!r}, {a})")
                    if choice.others:
                        for name, action, (p, q) in choice.others:
                            branch = [*row, seen, action, choice.law]
                            waiting.append((above * p, below * q, (*actions, name), branch))
                        above, below = above * choice.chance[0], below * choice.chance[1]
                    row += (seen, choice.action, choice.law)
                    actions = (*actions, choice.name)
                weights.append((above, below))
                cells.fromlist(row)
                owner.append(index)
                if len(owner) == 1 and math.prod(len(table.laws.table[law]) for law in row[2::3]) * len(latents) > most:
                    _refuse_large(horizon, latents, step, table, most)
                if len(owner) % 1024 == 0:
                    if len(owner) > most:
                        raise _too_many(f"more than {most:,} episodes", most)
                    say(f"{index:,} of {len(latents):,} hidden values, {len(owner):,} episodes")
    return table.episodes(weights, np.frombuffer(cells, np.int64), "latents"), owner


def _refuse_large(
    horizon: int,
    latents: Sequence[tuple[L, Fraction]],
    step: Callable[[L, tuple[str, ...]], tuple[str, Mapping[str, Rational] | str]],
    table: Table,
    most: int,
) -> None:
    """Refuse at once what is by 16 random episodes in all likelihood too much."""
    rng, expected = random.Random(0), 0.0
    likely = [latent for latent, weight in latents if weight]
    for _ in range(16):
        latent, actions, ways = rng.choice(likely), (), float(len(likely))
        for _ in range(horizon):
            choice = table.choice(step(latent, actions)[1], lambda s=latent, a=actions: f"step({s!r}, {a})")
            ways *= 1 + len(choice.others)
            actions = (*actions, rng.choice([choice.name, *(name for name, _, _ in choice.others)]))
        expected += ways / 16  # its mean is their number
    if expected > 2 * most:
        raise _too_many(f"about {expected:.0e} episodes, judged by 16 random ones", most)


def _too_many(excess: str, most: int) -> UserError:
    remedy = "write the task with Model.from_generative, which merges histories, give fewer symbols, or raise `most`"
    return UserError("latents", f"{excess}; the limit is {most:,}: {remedy}")
