"""Turns: at most so many at once, the next takes the place of one that is done, and time is shared out."""

from typing import cast

import torch

from diacritic.training.cohort import Cohort
from diacritic.training.scheduler import CHUNK, Part, round_robin


class Stub:
    """As much of a cohort as a turn asks for."""

    device = torch.device("cpu")

    def __init__(self, name: str, log: list[str]) -> None:
        self.name, self.log, self.step = name, log, 0

    def advance(self, steps: int) -> None:
        self.step += steps
        self.log.append(self.name)


def test_the_next_one_starts_when_one_is_done():
    log: list[str] = []
    started: list[str] = []

    def waiting():
        for name, turns in (("a", 3), ("b", 1), ("c", 1)):
            started.append(name)
            yield Part(cast("Cohort", Stub(name, log)), turns * CHUNK)

    order = []
    for item in round_robin(waiting(), 2):
        order.append(cast("Stub", item.cohort).name)
        assert item.seconds > 0
    assert order == ["b", "c", "a"]
    assert log == ["a", "b", "a", "c", "a"]
    assert started == ["a", "b", "c"]


def test_nothing_waits_and_nothing_happens():
    assert list(round_robin(iter(list[Part]()), 4)) == []
