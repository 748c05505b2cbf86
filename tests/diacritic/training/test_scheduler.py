"""Turns: at most so many at once, the next takes the place of one that is done, and time is shared out."""

from dataclasses import dataclass, field

import torch

from diacritic.training.scheduler import round_robin


@dataclass
class Count:
    name: str
    left: int
    log: list[str] = field(default_factory=list)
    seconds: float = 0.0
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    @property
    def done(self) -> bool:
        return self.left == 0

    def advance(self) -> None:
        self.left -= 1
        self.log.append(self.name)


def test_the_next_one_starts_when_one_is_done():
    log: list[str] = []
    started: list[str] = []

    def waiting():
        for name, turns in (("a", 3), ("b", 1), ("c", 1)):
            started.append(name)
            yield Count(name, turns, log)

    order = []
    for item in round_robin(waiting(), 2):
        order.append(item.name)
        assert item.seconds > 0
    assert order == ["b", "c", "a"]
    assert log == ["a", "b", "a", "c", "a"]
    assert started == ["a", "b", "c"]


def test_nothing_waits_and_nothing_happens():
    assert list(round_robin(iter(list[Count]()), 4)) == []
