"""Code refinement: split the code whose members have the least consistent futures, as the certifier splits classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from diacritic.training.codebook_restart import usage
from diacritic.training.trace import Trace

if TYPE_CHECKING:
    from diacritic.training.cohort import Cohort

EVERY = 500


@torch.no_grad()
def refine(cohort: Cohort) -> None:
    """In every run that has an unused code: split the least consistent one along its proposals' main direction."""
    trace = cohort.trace()
    codebook, used = cohort.parameters["codebook"].clone(), usage(trace)
    worst = (inconsistency(trace, cohort.data.target) * (used > 0)).argmax(1)
    changed = torch.zeros_like(codebook, dtype=torch.bool)
    lost = cohort.optimiser.diverged | ~trace.proposal.isfinite().all(-1).all(-1)
    for run, code in enumerate(worst.tolist()):
        free = (used[run] == 0).nonzero().flatten()
        if len(free) and not bool(lost[run]):
            offset = _main_direction(trace.proposal[run], trace.weight[run] * (trace.code[run] == code))
            centre = codebook[run, code].clone()
            codebook[run, code], codebook[run, free[0]] = centre - offset, centre + offset
            changed[run, code] = changed[run, free[0]] = True
    cohort.optimiser.replace("codebook", codebook, changed)


def inconsistency(trace: Trace, actions: Tensor) -> Tensor:
    """Σ_t Σ_{s≥t} Var(A_s | C_t = k), weighted by how often code k is met at step t: [S, K]."""
    codes, weight = trace.step_code, trace.episode_weight
    K = trace.codebook.shape[1]
    total = torch.zeros(len(codes), K, dtype=weight.dtype, device=weight.device)
    for t in range(codes.shape[1]):
        member = torch.nn.functional.one_hot(codes[:, t], K).to(weight.dtype) * weight.unsqueeze(-1)  # [S, N, K]
        future = actions[t:].transpose(0, 1).flatten(1).to(weight.dtype)  # [N, (T − t) A]
        mass = member.sum(1)
        mean = (member.mT @ future) / mass.clamp(min=1e-12).unsqueeze(-1)
        square = member.mT @ future.square().sum(1)
        total += (square - mass * mean.square().sum(-1)).clamp(min=0)
    return total


def _main_direction(points: Tensor, weight: Tensor) -> Tensor:
    """One standard deviation along the first principal axis of weighted points."""
    share = (weight / weight.sum().clamp(min=1e-12)).unsqueeze(1)
    centred = points - (share * points).sum(0)
    values, vectors = torch.linalg.eigh((share * centred).mT @ centred)
    return vectors[:, -1] * values[-1].clamp(min=0).sqrt()
