"""The tasks of the survey, one entry each: bsuite, POPGym, Gymnasium, `.pomdp` files and our own zoo.

Sizes are such that every number of a row is proved within seconds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from certify.core.model import Model
from certify.optional import import_optional
from certify.sources import dm
from certify.sources.adapter import END, to_model
from certify.sources.cards import CardGame, autoencode, count_recall, higher_lower, repeat_first, repeat_previous
from certify.sources.pomdp import classic
from certify.zoo import build, instances

STAND_INS = ("memory-chain", "passive-t-maze")  # written here in the manner of tasks that others published
OVER = -1  # the state after the last of an episode


@dataclass(frozen=True)
class Entry:
    """One row to be: a member of a family of tasks, where it comes from, and how it differs from what is shipped."""

    family: str
    variant: str
    source: str
    make: Callable[[], Model]
    modified: str = ""

    @property
    def name(self) -> str:
        return f"{self.family} {self.variant}".strip()


def _cards(family: str, variant: str, game: CardGame) -> Entry:
    def make() -> Model:
        game.check(3)  # the package's own environment never shows what the model excludes
        return game.model()

    return Entry(family, variant, "POPGym", make, game.modified)


def _planned(name: str, horizon: int) -> Entry:
    def make() -> Model:
        problem = classic(name)
        return problem.model(problem.optimal(horizon), horizon)

    return Entry(name, "(best policy)", "POMDP file", make)


def _toy(task: str, horizon: int, see: Callable[[Any, int], str] = lambda env, state: str(state)) -> Model:
    """A toy-text environment by its own transition table, from which its `step` samples; an optimal expert."""
    env = getattr(import_optional("gymnasium.envs.toy_text", "sources"), task)()
    best = _best(env.P)

    def move(_: int, state: int, action: str) -> Mapping[int, Fraction]:
        reached: dict[int, Fraction] = {}
        for p, target, _, ended in env.P[state][int(action)] if state != OVER else [(1, OVER, 0, True)]:
            after = OVER if ended else target
            reached[after] = reached.get(after, Fraction(0)) + _exact(p)
        return reached

    return Model.from_generative(
        horizon,
        {state: _exact(p) for state, p in enumerate(env.initial_state_distrib) if p},
        observe=lambda _, state: END if state == OVER else see(env, state),
        expert=lambda _, state: END if state == OVER else str(best[state]),
        move=move,
    )


def _best(table: Mapping[int, Mapping[int, Sequence[tuple[float, int, float, bool]]]]) -> list[int]:
    """An optimal action of each state by value iteration, γ = 0.99; ties go to the first."""
    value = np.zeros(len(table))
    while True:
        worth = np.array(
            [
                [sum(p * (r + 0.99 * value[to] * (not end)) for p, to, r, end in moves) for moves in row.values()]
                for row in table.values()
            ]
        )
        if np.abs(worth.max(axis=1) - value).max() < 1e-10:
            return worth.round(6).argmax(axis=1).tolist()
        value = worth.max(axis=1)


def _exact(p: float) -> Fraction:
    return Fraction(float(p)).limit_denominator(1000)  # 1/3 and 1/300 are what the tables mean


def _taxi(env: Any, state: int) -> str:
    row, column, rider, destination = env.decode(state)
    return f"{row} {column} aboard" if rider == 4 else f"{row} {column} rider {rider} to {destination}"


ENTRIES: tuple[Entry, ...] = (
    Entry("memory_len", "100", "bsuite", lambda: to_model(dm.memory_chain(1, 100))),
    Entry("memory_size", "3 bits", "bsuite", lambda: to_model(dm.memory_chain(3, 2))),
    Entry("memory_size", "5 bits", "bsuite", lambda: to_model(dm.memory_chain(5, 2))),
    Entry(
        "umbrella_length",
        "20",
        "bsuite",
        lambda: to_model(dm.umbrella_chain(20, 20, shown=0)),
        "distractors left out of the symbol",
    ),
    Entry(
        "umbrella_distract", "2", "bsuite", lambda: to_model(dm.umbrella_chain(4, 2)), "chain of 4 steps instead of 20"
    ),
    Entry("discounting_chain", "", "bsuite", lambda: to_model(dm.discounting_chain(0))),
    _cards("RepeatFirst", "", repeat_first(13)),
    _cards("RepeatPrevious", "k=2", repeat_previous(2)),
    _cards("RepeatPrevious", "k=3", repeat_previous(3)),
    _cards("RepeatPrevious", "k=4", repeat_previous(4)),
    _cards("CountRecall", "colours", count_recall(17)),
    _cards("Autoencode", "", autoencode(4)),
    _cards("HigherLower", "3 ranks", higher_lower(3, 6)),
    _cards("HigherLower", "13 ranks", higher_lower(13, 3)),
    Entry("FrozenLake", "slippery", "Gymnasium", lambda: _toy("FrozenLakeEnv", 20), "first 20 of 100 steps"),
    Entry("CliffWalking", "", "Gymnasium", lambda: _toy("CliffWalkingEnv", 14)),
    Entry("Taxi", "", "Gymnasium", lambda: _toy("TaxiEnv", 19)),
    Entry(
        "Taxi",
        "(destination unseen)",
        "Gymnasium",
        lambda: _toy("TaxiEnv", 19, _taxi),
        "destination hidden once the rider is aboard",
    ),
    _planned("tiger", 8),
    _planned("tmaze", 7),
    _planned("cheese", 8),
    _planned("4x3", 5),
    *(
        Entry(item.name, "", "zoo", lambda name=item.name: build(name), "our stand-in" * (item.name in STAND_INS))
        for item in instances()
    ),
)
