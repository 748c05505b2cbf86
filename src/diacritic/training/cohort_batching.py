"""One cohort over several recordings: each run learns from its own, exactly as it would in a cohort without the others.

A GPU takes many runs in hardly more time than few. Recordings of equal sizes are put end to end, and every run is told
which episodes are its own.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import torch
from torch import Tensor

from certify.errors import UserError
from diacritic.memory.shape import Shape
from diacritic.training import parallel
from diacritic.training.cohort import Cohort, Plan, separable
from diacritic.training.data import Data

RUNS = 32
"""Runs of one cohort at most."""
PATIENCE = 8
"""Items for which a pack that is not full waits after its last one."""
T = TypeVar("T")


@dataclass(frozen=True)
class CohortPart:
    """What one recording's runs bring into a cohort."""

    plan: Plan
    data: Data
    start: dict[str, Tensor]
    """Their parameters before training."""


def kind(share: CohortPart, device: str) -> Hashable | None:
    """Shares of one kind can train as one cohort; none: it trains alone."""
    plan, data = share.plan, share.data
    if not separable(plan, data):
        return None
    if torch.device(device).type == "cuda" and not _fused(share):
        return None
    return replace(plan, runs=()), tuple(data.target.shape), data.shape.observation


def _fused(share: CohortPart) -> bool:
    """Whether the fused kernels compute it: without them many runs at once gain nothing."""
    if share.plan.low is None:
        return False
    from diacritic.training.kernels.fused import fits

    return fits(share.start, parallel.tokens(share.data))


def pack(items: Iterable[tuple[Hashable | None, int, T]], most: int) -> Iterator[list[T]]:
    """Items, each with its kind and its number of runs, as packs of one kind with at most so many runs.

    Items are asked for one by one. A pack goes when it is full, when the next of its kind has no room in it, or when
    it has waited for `PATIENCE` items, so that what comes first is not trained last.
    """
    filling: dict[Hashable, list[T]] = {}
    room: dict[Hashable, int] = {}
    grown: dict[Hashable, int] = {}
    for number, (own, runs, item) in enumerate(items):
        for kind in [kind for kind in filling if number - grown[kind] > PATIENCE]:
            yield filling.pop(kind)
        if own is None or runs > most:
            yield [item]
            continue
        if own in filling and runs > room[own]:
            yield filling.pop(own)
        if own not in filling:
            filling[own], room[own] = [], most
        filling[own].append(item)
        room[own], grown[own] = room[own] - runs, number
        if not room[own]:
            yield filling.pop(own)
    yield from filling.values()


def concatenated(datas: Sequence[Data], runs: Sequence[int]) -> Data:
    """Recordings end to end, of which the first is learned from by the first `runs[0]` runs, and so on.

    It holds what imitation needs; what only other learners read is left out.
    """
    sizes = {(tuple(data.target.shape), data.shape.observation, data.shape.symbolic) for data in datas}
    if len(sizes) != 1:
        raise UserError("data", "recordings of different sizes cannot be joined; train them apart")
    first, n = datas[0].shape, datas[0].episodes
    block = torch.arange(len(datas)).repeat_interleave(torch.tensor(runs))
    return Data(
        Shape(first.observation, first.action, first.symbolic, horizon=first.horizon),
        torch.cat([data.observation for data in datas]),
        _shifted([data.observation_index for data in datas], [len(data.observation) for data in datas]),
        torch.cat([data.previous for data in datas]),
        _shifted([data.previous_index for data in datas], [len(data.previous) for data in datas]),
        torch.cat([data.weight for data in datas]),
        torch.cat([data.target for data in datas], 1),
        own=block.unsqueeze(1) * n + torch.arange(n),
    )


def _shifted(indices: Sequence[Tensor], rows: Sequence[int]) -> Tensor:
    """Indices [T, n] into tables of so many rows as indices into those tables end to end."""
    begins = [sum(rows[:k]) for k in range(len(rows))]
    return torch.cat([index + begin for index, begin in zip(indices, begins, strict=True)], 1)


def one_cohort(shares: Sequence[CohortPart], device: str = "cpu") -> Cohort:
    """All runs of shares of one kind as one cohort."""
    if len(shares) == 1:
        return Cohort(shares[0].plan, shares[0].data, device, shares[0].start)
    plan = replace(shares[0].plan, runs=tuple(run for share in shares for run in share.plan.runs))
    data = concatenated([share.data for share in shares], [len(share.plan.runs) for share in shares])
    start = {name: torch.cat([share.start[name] for share in shares]) for name in shares[0].start}
    return Cohort(plan, data, device, start)


def split(cohort: Cohort, shares: Sequence[CohortPart]) -> list[Cohort]:
    """A cohort of each share's runs as they now are, to look at; only the joint one goes on."""
    if len(shares) == 1:
        return [cohort]
    parts, begin = [], 0
    for share in shares:
        mine = slice(begin, begin + len(share.plan.runs))
        parameters = {name: value.detach()[mine] for name, value in cohort.parameters.items()}
        one = Cohort(share.plan, share.data, str(cohort.device), parameters)
        one.optimiser.diverged.copy_(cohort.optimiser.diverged[mine])
        one.resume_at(cohort.step)
        parts.append(one)
        begin = mine.stop
    return parts
