"""Keeping the codebook alive: how often codes are used, and new places for those that are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from diacritic.training.schedule import STREAMS
from diacritic.training.trace import Trace

if TYPE_CHECKING:
    from diacritic.training.cohort import Cohort


@torch.no_grad()
def restart(cohort: Cohort) -> None:
    """Move codes that nothing uses onto proposals drawn by weight, and forget their moments."""
    trace = cohort.trace()
    _restart(cohort, trace, "codebook")
    if trace.identification is not None:
        _restart(cohort, trace.identification, "identification.codebook")


def _restart(cohort: Cohort, trace: Trace, name: str) -> None:
    codebook = cohort.parameters[name]
    used = usage(trace)
    pick = cohort.clock.uniform(STREAMS["restart"], codebook.shape[1]).to(trace.weight.dtype)
    # Drawn among steps, not among an engine's rows, so that every engine draws the same.
    proposals = trace.steps(trace.proposal).flatten(1, 2)
    cumulative = trace.step_weight.expand(-1, trace.rows.horizon, -1).flatten(1).cumsum(1)
    row = torch.searchsorted(cumulative, pick * cumulative[:, -1:]).clamp(max=proposals.shape[1] - 1)
    chosen = proposals.gather(1, row.unsqueeze(-1).expand(-1, -1, codebook.shape[-1]))
    dead = (used == 0) & ~cohort.optimiser.diverged.unsqueeze(1) & chosen.isfinite().all(-1)
    cohort.optimiser.replace(name, chosen, dead.unsqueeze(-1))


def usage(trace: Trace) -> Tensor:
    """P(C = k) over all steps of all episodes, [S, K]."""
    K = trace.codebook.shape[1]
    return torch.zeros(len(trace.code), K, dtype=trace.weight.dtype, device=trace.code.device).scatter_add(
        1, trace.code, trace.weight
    )
