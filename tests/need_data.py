"""Recordings for the tests of `need`: drawn once for each world, size and seed."""

from functools import lru_cache

import numpy as np

from diacritic.files.demos import Demos
from diacritic.need.answer import Need, need
from reproduction.need_study.controls import CONTROLS
from reproduction.need_study.worlds import WORLDS


@lru_cache
def recorded(world: str, episodes: int = 64, seed: int = 0) -> Demos:
    rng = np.random.default_rng(seed)
    latents = WORLDS[world].draw(episodes, rng)
    return WORLDS[world].record(latents, rng)


def required(world: str, episodes: int = 64, seed: int = 0) -> tuple[float, ...]:
    """The certified bits of the same draw."""
    return WORLDS[world].requirement(WORLDS[world].draw(episodes, np.random.default_rng(seed)))


@lru_cache
def answered(world: str, episodes: int = 64, seed: int = 0) -> Need:
    return need(recorded(world, episodes, seed), plants=0)


def controlled(control: str, episodes: int = 64, seed: int = 0) -> Demos:
    return CONTROLS[control](episodes, np.random.default_rng(seed))
