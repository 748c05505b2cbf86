"""Code refinement: split the code whose members behave least alike, as the certifier splits classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from diacritic.training.codebook_restart import NOISE, usage
from diacritic.training.objectives.base import discrepancy
from diacritic.training.objectives.continuations import EveryContinuation
from diacritic.training.randomness import normal
from diacritic.training.schedule import STREAMS
from diacritic.training.trace import Trace

if TYPE_CHECKING:
    from diacritic.training.cohort import Cohort

EVERY = 500
RELEASED_EVERY, RELEASED_FROM = 200, 1000
MEMBERS, EXCESS = 8, 1.5
"""The least members of a group that is split, and how far its mean residual must exceed that of all steps."""


def due(cohort: Cohort) -> bool:
    """Whether codes are refined at the next update."""
    every, first = (RELEASED_EVERY, RELEASED_FROM) if cohort.plan.preset.released else (EVERY, EVERY)
    return cohort.plan.learner.refine and cohort.step >= first and cohort.step % every == 0


@torch.no_grad()
def refine(cohort: Cohort) -> tuple[Tensor, Tensor] | None:
    """Split a code of every run that has an unused one; the release's `split` takes effect after the next update."""
    if cohort.plan.preset.released:
        return split(cohort)
    trace = cohort.trace()
    codebook, used = cohort.parameters["codebook"].clone(), usage(trace)
    worst = (inconsistency(trace, cohort.data.target) * (used > 0)).argmax(1)  # split along its main direction
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
    return None


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


def split(cohort: Cohort) -> tuple[Tensor, Tensor]:
    """The release's refinement from the next update's batch: a codebook, and which of its rows it changes [S, K, 1].

    Of all groups of one step and one code, take the one with the largest mean residual. If that exceeds 1.5 times the
    mean of all, the first code that the batch does not use moves to the mean proposal of those members whose residual
    is above the group's median, with a little noise.
    """
    weight = cohort.episode_weight()
    trace = cohort.trace(weight)
    codebook, used = cohort.parameters["codebook"].detach().clone(), usage(trace)
    changed = torch.zeros_like(codebook[..., :1], dtype=torch.bool)
    count = (trace.episode_weight * cohort.batch).round().long() if cohort.batch else (trace.episode_weight > 0).long()
    error, code, proposal = residual(cohort, trace), trace.step_code, trace.steps(trace.proposal)
    noise = NOISE * normal(cohort.schedule.uniform(STREAMS["refine"], 2, codebook.shape[-1])).to(codebook.dtype)
    for run in range(len(codebook)):
        free = (used[run] == 0).nonzero().flatten()
        chosen = worse_half(error[run], code[run], count[run], codebook.shape[1])
        if len(free) and chosen is not None and not bool(cohort.optimiser.diverged[run]):
            codebook[run, free[0]] = proposal[run, chosen[0], chosen[1]].mean(0) + noise[run]
            changed[run, free[0]] = True
    return codebook, changed & codebook.isfinite().all(-1, keepdim=True)


def residual(cohort: Cohort, trace: Trace) -> Tensor:
    """The error of every step and episode, [S, T, N]: of its continuation with BFS, of its action without."""
    for term in cohort.plan.terms:
        if isinstance(term, EveryContinuation):
            return term.residual(trace, cohort.data)
    prediction, target = trace.read_steps("act"), trace.own(cohort.data.target.unsqueeze(0))
    return discrepancy(prediction, target, cohort.data.shape.symbolic)


def worse_half(error: Tensor, code: Tensor, count: Tensor, codes: int) -> tuple[Tensor, Tensor] | None:
    """The steps and episodes (with repetitions) of the group's worse half, from [T, N], [T, N] and draws [N]."""
    steps = len(error)
    drawn = torch.arange(len(count), device=count.device).repeat_interleave(count)
    error, group = error[:, drawn], code[:, drawn] + codes * torch.arange(steps, device=code.device).unsqueeze(1)
    size = torch.bincount(group.flatten(), minlength=steps * codes)
    mean = torch.bincount(group.flatten(), error.flatten(), minlength=steps * codes) / size.clamp(min=1)
    worst = int(mean.where(size >= MEMBERS, -1.0).argmax())
    step, mine = worst // codes, (group == worst)[worst // codes]
    if int(size[worst]) < MEMBERS or not bool(mean[worst] > EXCESS * error.mean()):
        return None
    above = mine & (error[step] > error[step][mine].median())
    return (torch.full_like(drawn[above], step), drawn[above]) if int(above.sum()) >= 2 else None
