"""A POMDP as numbers: exact rows by position, and rewards by pattern."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

Row = Mapping[int, Fraction]  # a distribution by number, no zeros
Pattern = tuple[int | None, int | None, int | None, int | None]  # (a, s, s′, o) of a reward; None stands for all


@dataclass(frozen=True)
class Rewards:
    """R(a, s, s′, o): the last line of the file that matches, 0 where none does."""

    entries: dict[Pattern, tuple[int, Fraction]]  # with the place of the line in the file

    @cached_property
    def shapes(self) -> set[tuple[bool, ...]]:
        """Which places are named rather than left to a `*`, over all lines."""
        return {tuple(part is not None for part in pattern) for pattern in self.entries}

    def __call__(self, action: int, state: int, target: int, observation: int) -> Fraction:
        asked = (action, state, target, observation)
        best = (-1, Fraction(0))
        for shape in self.shapes:
            a, s, t, o = (value if named else None for value, named in zip(asked, shape, strict=True))
            best = max(best, self.entries.get((a, s, t, o), best), key=lambda entry: entry[0])
        return best[1]


@dataclass(frozen=True)
class Problem:
    """A POMDP as its file states it, with exact probabilities."""

    name: str
    discount: Fraction
    costs: bool  # R holds costs rather than rewards
    states: tuple[str, ...]
    actions: tuple[str, ...]
    observations: tuple[str, ...]
    start: Row
    transitions: tuple[tuple[Row, ...], ...]  # [a][s] → P(s′ | s, a)
    emissions: tuple[tuple[Row, ...], ...]  # [a][s′] → P(o | a, s′)
    rewards: Rewards
    renormalised: tuple[str, ...]  # the rows whose rounded numbers were divided by their sum
    ends: frozenset[int] = frozenset()  # states that a file declares the end of an episode
