"""Several trainings in turns: on CUDA each has its own stream, so that small programs fill the device together."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Protocol, TypeVar

import torch

from diacritic.training.cohort import Cohort

CHUNK = 100  # updates of one cohort before the next one has its turn


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

    Time is that of its own turns; on CUDA, where turns return before their work is done, an equal share of each round.
    """
    active = [(item, _stream(item)) for item in islice(waiting, together)]
    while active:
        spent = []
        for item, stream in active:
            begun = time.perf_counter()
            with torch.cuda.stream(stream):  # nothing happens without a stream
                item.advance()
            spent.append(time.perf_counter() - begun)
        for (item, stream), own in zip(active, spent, strict=True):
            item.seconds += own if stream is None else sum(spent) / len(spent)
        for item, stream in [pair for pair in active if pair[0].done]:
            if stream is not None:
                begun = time.perf_counter()
                stream.synchronize()
                item.seconds += time.perf_counter() - begun
            active.remove((item, stream))
            yield item
            active += [(item, _stream(item)) for item in islice(waiting, 1)]


def _stream(item: TakesTurns) -> torch.cuda.Stream | None:
    if item.device.type != "cuda":
        return None
    stream = torch.cuda.Stream(item.device)
    stream.wait_stream(torch.cuda.current_stream(item.device))  # its data may still be on the way
    return stream
