"""Fit a transition: every step in parallel, the code before it given; no recurrence is differentiated or even run.

The loss of a row is −log softmax_k(−‖ẽ − e_k‖²/τ) at the code that it is to reach, with τ a tenth of the squared
distance between neighbouring used codes at the start; beside it imitation on the given code, and ‖ẽ − e‖² per
dimension, which keeps proposals near their codes. Once every row reaches its code, induction over the steps says that
the closed recurrence has those codes along every episode.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from certify.errors import UserError
from certify.progress import working
from diacritic.memory.kinds import is_sole_carrier
from diacritic.memory.protocol import Inputs
from diacritic.memory.quantise import look_up, nearest
from diacritic.memory.shape import Architecture
from diacritic.memory.sole_carrier import drive, observe, propose
from diacritic.training.data import Data
from diacritic.training.objectives.base import discrepancy
from diacritic.training.optimiser import Adam
from diacritic.training.trace import Rows, Trace
from diacritic.training.transition_dataset import TransitionDataset, part

SHARPNESS = 10.0  # neighbouring codes' squared distance over τ
SURE = 0.9  # a row has reached its code once that has this probability
LOOK_EVERY = 50
FAR = 10.0  # largest norms between a used code and an unused one
DRAWS = 0  # seed of the rows that are drawn, on the CPU, so that every device is given the same
TIE = 1e-4  # actions whose probabilities differ by less are equally good


@dataclass(frozen=True)
class Effort:
    """How long and how fast."""

    steps: int = 2000
    """At most so many updates; fitting ends once every row has reached its code."""
    rate: float = 3e-3
    """Learning rate of Adam."""
    clip: float = 1.0
    """Largest gradient norm of a run."""
    batch: int | None = None
    """Rows of an update at most, drawn again each time while the rate falls to zero; none: all rows. For recordings."""


@dataclass(frozen=True)
class FitResult:
    """The fitted parameters, and how well they fit."""

    parameters: dict[str, Tensor]
    reached: Tensor  # [S]: the weight of the rows whose nearest code is the right one
    imitation: Tensor  # [S]: imitation loss on the given codes
    steps: int
    diverged: Tensor  # [S]


def fit_transition(
    parameters: Mapping[str, Tensor],
    carrier: Architecture,
    data: Data,
    dataset: TransitionDataset,
    effort: Effort | None = None,
) -> FitResult:
    """Parameters whose transition gives the codes of the dataset, starting from the given ones."""
    plain = carrier.side == "raw" and carrier.bound == "none" and carrier.readout == "direct" and carrier.persistent
    if not is_sole_carrier(carrier) or not plain:
        raise UserError("architecture", "only the plain sole carrier can be fitted to a transition")
    effort = effort or Effort()
    if effort.batch is not None and (effort.batch < 1 or data.shape.symbolic):
        raise UserError("batch", f"{effort.batch} rows at once: give none on symbolic tasks, 1 or more in recordings")
    begun = {name: value.detach().clone() for name, value in parameters.items()}
    runs = len(begun["codebook"])
    rates = torch.full((runs,), effort.rate, device=begun["codebook"].device)
    used = dataset.weight.new_zeros(runs, carrier.codes).scatter_(1, dataset.code, 1.0).bool()  # codes that rows reach
    begun["codebook"] = park(begun["codebook"], used)
    optimiser = Adam(begun, rates, effort.clip)
    heat = _spacing(begun["codebook"], used) / SHARPNESS
    chances, drawing, step = dataset.weight[0].cpu(), torch.Generator().manual_seed(DRAWS), 0
    with working(f"fitting {dataset.before.shape[1]:,} rows to {runs} runs"):
        while step < effort.steps:
            seen, rows = data, dataset
            if effort.batch is not None:
                drawn = torch.multinomial(chances, min(effort.batch, len(chances)), True, generator=drawing)
                seen, rows = part(data, dataset, drawn.to(dataset.code.device))
                optimiser.rates.fill_(effort.rate * (1 - step / effort.steps))
            trace = fitted_trace(optimiser.parameters, seen, rows)
            chance = _log_chance(trace, heat)
            if step % LOOK_EVERY == 0 and _finished(chance, trace, rows, data):
                break
            acting = discrepancy(trace.read("act"), rows.target, data.shape.symbolic)
            near = (trace.proposal - trace.embedding).square().mean(-1)
            optimiser.descend(trace.mean(acting - chance + near).sum())
            step += 1
    with torch.no_grad():
        trace = fitted_trace(optimiser.parameters, data, dataset)
        acting = discrepancy(trace.read("act"), dataset.target, data.shape.symbolic)
        reached = trace.mean((nearest(trace.proposal, trace.codebook) == dataset.code).to(trace.weight.dtype))
        fitted = {name: value.detach().clone() for name, value in optimiser.parameters.items()}
        return FitResult(fitted, reached, trace.mean(acting), step, optimiser.diverged.clone())


def fitted_trace(parameters: Mapping[str, Tensor], data: Data, dataset: TransitionDataset) -> Trace:
    """All rows at once, each from the code that it is given; gradients stay within a row."""
    codebook = parameters["codebook"]
    features = observe(parameters, Inputs(data.observation, data.previous, frame=data.frames))
    start = torch.cat([codebook, torch.zeros_like(codebook[:, :1])], 1)
    carried = look_up(start, dataset.before)
    driven = drive(parameters, "residual", look_up(features, dataset.observation), data.previous[dataset.previous])
    proposal = carried + propose(parameters, "residual", carried, driven)
    return Trace(
        parameters,
        codebook,
        features,
        features,
        proposal,
        look_up(codebook, dataset.code),
        dataset.code,
        dataset.weight,
        dataset.weight,
        Rows(1, dataset.code.shape[1], dataset.observation),
    )


def park(codebook: Tensor, used: Tensor) -> Tensor:
    """The codebook with what nothing uses far outside, where no proposal comes: an unused twin would steal rows."""
    far = FAR * codebook.norm(dim=-1).masked_fill(~used, 0.0).amax(1).clamp(min=1e-3).view(-1, 1, 1)
    return torch.where(used.unsqueeze(-1), codebook, far * torch.nn.functional.normalize(codebook, dim=-1, eps=1e-12))


def _spacing(codebook: Tensor, used: Tensor) -> Tensor:
    """The mean squared distance of a used code to the nearest other one, [S]; 1 where there is a single one."""
    apart = torch.cdist(codebook, codebook).square()
    both = used.unsqueeze(1) & used.unsqueeze(2) & ~torch.eye(used.shape[1], dtype=torch.bool, device=used.device)
    near = apart.masked_fill(~both, float("inf")).amin(-1)
    finite = near.isfinite()
    mean = near.masked_fill(~finite, 0.0).sum(-1) / finite.sum(-1).clamp(min=1)
    return torch.where(finite.any(-1), mean, 1.0).clamp(min=1e-6)


def _log_chance(trace: Trace, heat: Tensor) -> Tensor:
    """log softmax_k(−‖ẽ − e_k‖²/τ) of every row's code, [S, rows]."""
    near = torch.baddbmm(-trace.codebook.square().sum(-1).unsqueeze(1), trace.proposal, trace.codebook.mT, alpha=2.0)
    chance = torch.log_softmax(near / heat.view(-1, 1, 1), -1)
    return chance.gather(-1, trace.code.unsqueeze(-1)).squeeze(-1)


@torch.no_grad()
def _finished(chance: Tensor, trace: Trace, dataset: TransitionDataset, data: Data) -> bool:
    """Whether every row of every run has reached its code and acts as the expert does; never so for action vectors."""
    if not data.shape.symbolic:
        return False
    chosen = dataset.target.gather(-1, trace.read("act").argmax(-1, keepdim=True)).squeeze(-1)
    right = (chance.exp() > SURE) & (chosen > dataset.target.amax(-1) - TIE)
    return bool((right | (dataset.weight == 0)).all())
