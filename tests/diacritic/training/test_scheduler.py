"""Turns: at most so many at once, the next takes the place of one that is done, and time is shared out."""

from contextlib import nullcontext
from typing import cast

import pytest
import torch

from diacritic.training import scheduler
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


class Device:
    """As much of a stream and its events as a turn asks for; a turn is under way for so many looks at it."""

    def __init__(self, looks: int) -> None:
        self.looks, self.left = looks, 0

    def record_event(self) -> "Device":
        self.left = self.looks
        return self

    def query(self) -> bool:
        self.left -= 1
        return self.left < 0


def test_on_a_device_nobody_waits_for_the_turns_of_others(monkeypatch: pytest.MonkeyPatch):
    log: list[str] = []
    slow, quick = (Part(cast("Cohort", Stub(name, log)), 3 * CHUNK) for name in ("slow", "quick"))
    looks = {id(slow): 10, id(quick): 0}
    monkeypatch.setattr(scheduler, "_stream", lambda item: Device(looks[id(item)]))
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: nullcontext())
    order = [cast("Stub", item.cohort).name for item in round_robin(iter([slow, quick]), 2)]
    assert order == ["quick", "slow"]
    assert log == ["slow", "quick", "quick", "quick", "slow", "slow"]
    assert slow.seconds > 0
    assert quick.seconds > 0


def test_what_is_done_is_given_back_when_the_device_is_done_with_it(monkeypatch: pytest.MonkeyPatch):
    stream = Device(5)
    monkeypatch.setattr(scheduler, "_stream", lambda item: stream)
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: nullcontext())
    for _ in round_robin(iter([Part(cast("Cohort", Stub("one", [])), CHUNK)]), 1):
        assert stream.left < 0
