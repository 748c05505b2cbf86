"""The checker passes every task that ships, and names what a broken one gets wrong."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from certify.errors import UserError
from diacritic.tasks.check import check_task
from diacritic.tasks.pointmass import PointMass, PointMassBatch
from diacritic.tasks.registry import make, names


@pytest.mark.parametrize("name", names())
def test_every_task_that_ships_keeps_its_promises(name: str) -> None:
    check_task(make(name), episodes=4)


class Late(PointMass):
    @property
    def decisions(self) -> dict[str, int]:
        return {"gate": 4, "goal": 99}


class Unnamed(PointMass):
    channels = ("x", "x", *PointMass.channels[2:])


class TooFew(PointMass):
    action_names = ("dx", "dy", "dz")


class Random(PointMass):
    """Every batch draws a seed of its own."""

    def batch(self, episodes: int, seed: int = 0, policies: int = 1, threads: int = 0, processes: int = 1) -> Any:
        return PointMassBatch(self, episodes, int(np.random.default_rng().integers(1 << 30)), policies)


class Weak(PointMassBatch):
    def step(self, actions: Any) -> Any:
        return super().step(np.asarray(actions) * 0.5)


@dataclass(frozen=True)
class Failing(PointMass):
    def batch(self, episodes: int, seed: int = 0, policies: int = 1, threads: int = 0, processes: int = 1) -> Any:
        return Weak(self, episodes, seed, policies)


@pytest.mark.parametrize(
    ("task", "line"),
    [
        (Late(), r"decisions\[goal\]: step 99 lies outside the 14"),
        (Unnamed(), "channels: two have the same name"),
        (TooFew(), r"actions: expected shape \(14, 8, 3\), not \(14, 8, 2\)"),
        (Random(), "observations: differ when played again"),
        (Failing(), "success: the expert fails in 8 episodes"),
    ],
)
def test_a_broken_promise_is_named(task: PointMass, line: str) -> None:
    with pytest.raises(UserError, match=line):
        check_task(task)
