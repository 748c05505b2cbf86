"""Several trainings in turns: on CUDA each has its own stream, so that small programs fill the device together."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Generic, Protocol, TypeVar

import torch

from diacritic.training.cohort import Cohort

CHUNK = 20
"""Updates of one cohort in one turn: few, since all wait where the queue of a device is full with those of one."""
PAUSE = 2e-4
"""Seconds between two looks at a device that is busy with all of them."""


@dataclass
class Part:
    """A cohort that trains up to a step, a little at each turn."""

    cohort: Cohort
    end: int
    seconds: float = 0.0
    """Its share of the time that has passed."""

    @property
    def device(self) -> torch.device:
        return self.cohort.device

    @property
    def done(self) -> bool:
        return self.cohort.step >= self.end

    def advance(self) -> None:
        self.cohort.advance(max(0, min(CHUNK, self.end - self.cohort.step)))


class TakesTurns(Protocol):
    """Work that is done a little at each turn."""

    seconds: float
    """Its share of the time that has passed."""

    @property
    def device(self) -> torch.device: ...

    @property
    def done(self) -> bool: ...

    def advance(self) -> None: ...


T = TypeVar("T", bound=TakesTurns)


def round_robin(waiting: Iterator[T], together: int) -> Iterator[T]:
    """Train up to so many at once; each is given back when it is done, and the next one that waits takes its place.

    On CUDA one has its next turn as soon as the device is done with its former one, whatever the others do. Time is
    that of its own turns; on CUDA, where turns return before their work is done, an equal share of what has passed.
    """
    active = [_Active(item) for item in islice(waiting, together)]
    while active:
        begun = time.perf_counter()
        idle = [one for one in active if one.idle]
        for one in idle:
            if not one.item.done:
                one.take_turn()
        if not idle:
            time.sleep(PAUSE)
        spent = time.perf_counter() - begun
        for one in active:
            if one.stream is not None:
                one.item.seconds += spent / len(active)
        for one in [one for one in active if one.item.done and one.idle]:
            active.remove(one)
            yield one.item
            active += [_Active(item) for item in islice(waiting, 1)]


class _Active(Generic[T]):
    """An item that is trained, with its stream and the end of its last turn there."""

    def __init__(self, item: T) -> None:
        self.item, self.stream, self._turn = item, _stream(item), None

    @property
    def idle(self) -> bool:
        """Whether the device is done with its last turn."""
        return self._turn is None or self._turn.query()

    def take_turn(self) -> None:
        begun = time.perf_counter()
        with torch.cuda.stream(self.stream):  # nothing happens without a stream
            self.item.advance()
        if self.stream is None:
            self.item.seconds += time.perf_counter() - begun
        else:
            self._turn = self.stream.record_event()


def _stream(item: TakesTurns) -> torch.cuda.Stream | None:
    if item.device.type != "cuda":
        return None
    stream = torch.cuda.Stream(item.device)
    stream.wait_stream(torch.cuda.current_stream(item.device))  # its data may still be on the way
    return stream
