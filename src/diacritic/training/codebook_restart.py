"""Keeping the codebook alive: how often codes are used, and new places for those that are not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from diacritic.memory.quantise import look_up
from diacritic.training.randomness import normal
from diacritic.training.schedule import STREAMS
from diacritic.training.trace import Trace

if TYPE_CHECKING:
    from diacritic.training.cohort import Cohort


OFFSET = 0.01
"""Largest distance, in each coordinate, of a restarted code from the proposal that it is put on."""
NOISE = 0.01
"""Deviation of what is added to the vector of a used code."""


@torch.no_grad()
def restart(cohort: Cohort) -> None:
    """Move unused codes near proposals drawn by weight, no two to the same vector, and reset their moments."""
    trace = cohort.trace()
    _restart(cohort, trace, "codebook")
    if trace.identification is not None:
        _restart(cohort, trace.identification, "identification.codebook")


def _restart(cohort: Cohort, trace: Trace, name: str) -> None:
    codebook = cohort.parameters[name]
    row = _drawn_steps(cohort, trace, codebook.shape[1])
    proposals = trace.steps(trace.proposal).flatten(1, 2)
    chosen = proposals.gather(1, row.unsqueeze(-1).expand(-1, -1, codebook.shape[-1]))
    offset = OFFSET * (2 * cohort.schedule.uniform(STREAMS["restart offset"], *codebook.shape[1:]) - 1)
    chosen = chosen + offset.to(chosen.dtype)
    dead = (usage(trace) == 0) & ~cohort.optimiser.diverged.unsqueeze(1) & chosen.isfinite().all(-1)
    cohort.optimiser.replace(name, chosen, dead.unsqueeze(-1))


def _drawn_steps(cohort: Cohort, trace: Trace, count: int) -> Tensor:
    """`count` steps t·N + n of every run, drawn by weight without replacement, [S, count].

    Each step waits an exponential time at the rate of its weight, and the first ones win. Where fewer steps have a
    weight, these are taken again and again. Drawn among steps, not among an engine's rows, so that every engine draws
    the same.
    """
    weight = trace.step_weight.expand(-1, trace.rows.horizon, -1).flatten(1)
    luck = cohort.schedule.uniform(STREAMS["restart"], weight.shape[1])
    waiting, order = (-luck.double().log() / weight.double()).sort(dim=-1, stable=True)
    usable = waiting.isfinite().sum(1, keepdim=True).clamp(min=1)
    return order.gather(1, torch.arange(count, device=order.device) % usable)


@dataclass(frozen=True)
class LastBatch:
    """The codes that the last update met, in buffers that a recorded program writes again and again."""

    usage: dict[str, Tensor]  # by codebook: P(C = k) in the batch, [S, K]
    vectors: dict[str, Tensor]  # by codebook: the vectors that its codes stood for, [S, K, d]

    @staticmethod
    def of(parameters: Mapping[str, Tensor]) -> LastBatch:
        """Empty buffers for every codebook."""
        books = {name: value.detach() for name, value in parameters.items() if name.endswith("codebook")}
        unused = {name: torch.zeros_like(value[..., 0]) for name, value in books.items()}
        return LastBatch(unused, {name: value.clone() for name, value in books.items()})

    @torch.no_grad()
    def note(self, trace: Trace) -> None:
        """Keep what restarts need of an update's trace."""
        for name, one in (("codebook", trace), ("identification.codebook", trace.identification)):
            if one is not None and name in self.usage:
                self.usage[name].copy_(usage(one))
                self.vectors[name].copy_(one.codebook)


@torch.no_grad()
def restart_used(cohort: Cohort, batch: LastBatch) -> None:
    """Move codes that the last batch did not meet to vectors of codes that it did, by frequency, with a little noise.

    Their moments stay as they are.
    """
    for name, share in batch.usage.items():
        vectors, schedule = batch.vectors[name], cohort.schedule
        pick = schedule.uniform(STREAMS["restart"], share.shape[1]).to(share.dtype)
        cumulative = share.cumsum(1)
        code = torch.searchsorted(cumulative, pick * cumulative[:, -1:], right=True).clamp(max=share.shape[1] - 1)
        noise = normal(schedule.uniform(STREAMS["restart offset"], 2, *vectors.shape[1:]))
        chosen = look_up(vectors, code) + NOISE * noise
        dead = (share == 0) & ~cohort.optimiser.diverged.unsqueeze(1) & chosen.isfinite().all(-1)
        cohort.optimiser.replace(name, chosen.to(vectors.dtype), dead.unsqueeze(-1), moments=False)


def usage(trace: Trace) -> Tensor:
    """P(C = k) over all steps of all episodes, [S, K]."""
    K = trace.codebook.shape[1]
    return torch.zeros(len(trace.code), K, dtype=trace.weight.dtype, device=trace.code.device).scatter_add(
        1, trace.code, trace.weight
    )
