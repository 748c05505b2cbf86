"""Fit a transition: every step in parallel, the code before it given; no recurrence is differentiated or even run.

The loss of a row is −log softmax_k(−‖ẽ − e_k‖²/τ) at the code that it is to reach, with τ a tenth of the squared
distance between neighbouring used codes at the start; beside it imitation on the given code, and ‖ẽ − e‖² per
dimension, which keeps proposals near their codes. Once every row reaches its code, induction over the steps says that
the closed recurrence has those codes along every episode.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import torch
from torch import Tensor

from certify.errors import UserError
from certify.progress import working
from diacritic.memory.kinds import is_sole_carrier
from diacritic.memory.protocol import Inputs
from diacritic.memory.quantise import look_up, nearest
from diacritic.memory.shape import Architecture
from diacritic.memory.sole_carrier import drive, observe, propose
from diacritic.training.captured import repeat
from diacritic.training.data import Data
from diacritic.training.objectives.base import discrepancy
from diacritic.training.optimiser import Adam
from diacritic.training.randomness import normal, uniform
from diacritic.training.trace import Rows, Trace
from diacritic.training.transition_dataset import TransitionDataset, part

SHARPNESS = 10.0  # neighbouring codes' squared distance over τ
SURE = 0.9  # a row has reached its code once that has this probability
LOOK_EVERY = 50
FAR = 10.0  # largest norms between a used code and an unused one
DRAWS = 0  # seed of the rows that are drawn
_NOISE, _OTHER_ACTIONS = 104, 106  # streams of random numbers
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
    imitation: float = 1.0
    """Weight of imitation beside the codes; more of it makes actions more precise."""


@dataclass(frozen=True)
class Noise:
    """What is added to drawn rows, fresh in every update; deviations of standardised numbers."""

    observation: Tensor  # of each channel
    previous: float = 0.0
    """Of the previous action, which a policy in closed loop makes itself; at the first step there is none."""


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
    noise: Noise | None = None,
) -> FitResult:
    """Parameters whose transition gives the codes of the dataset, starting from the given ones.

    With `noise`, drawn rows are seen with fresh noise in every update.
    """
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
    heat = _spacing(begun["codebook"], used) / SHARPNESS
    fit = _Fit(Adam(begun, rates, effort.clip), heat, data, dataset, effort.imitation, noise)
    optimiser = fit.optimiser
    with working(f"fitting {dataset.before.shape[1]:,} rows to {runs} run{'s' * (runs > 1)}") as say:
        if effort.batch is None:
            step = fit.on_all_rows(effort.steps)
        else:
            chances, size = dataset.weight[0].cpu(), min(effort.batch, dataset.weight.shape[1])
            falling = optimiser.rates.new_tensor([effort.rate * (1 - k / effort.steps) for k in range(effort.steps)])
            update = fit.on_some_rows(draws(chances, effort.steps, size).to(rates.device), falling)
            repeat(update, effort.steps, rates.device, say)
            step = effort.steps
    with torch.no_grad():
        trace = fitted_trace(optimiser.parameters, data, dataset)
        acting = discrepancy(trace.read("act"), dataset.target, data.shape.symbolic)
        reached = trace.mean((nearest(trace.proposal, trace.codebook) == dataset.code).to(trace.weight.dtype))
        fitted = {name: value.detach().clone() for name, value in optimiser.parameters.items()}
        return FitResult(fitted, reached, trace.mean(acting), step, optimiser.diverged.clone())


@dataclass(frozen=True)
class _Fit:
    """Updates of one fit."""

    optimiser: Adam
    heat: Tensor  # τ, [S]
    data: Data
    dataset: TransitionDataset
    imitation: float = 1.0
    noise: Noise | None = None

    def on_all_rows(self, steps: int) -> int:
        """At most so many updates, until every row has reached its code; how many they were."""
        for step in range(steps):
            trace = fitted_trace(self.optimiser.parameters, self.data, self.dataset)
            chance = _log_chance(trace, self.heat)
            if step % LOOK_EVERY == 0 and _finished(chance, trace, self.dataset, self.data):
                return step
            self._descend(trace, chance, self.dataset.target)
        return steps

    def on_some_rows(self, drawn: Tensor, falling: Tensor) -> Callable[[], None]:
        """An update that reads its rows [steps, batch] and its rate [steps] from the device, to be captured there."""
        optimiser = self.optimiser
        seed = torch.full((1,), DRAWS, device=drawn.device)
        step = torch.zeros_like(seed)

        def update() -> None:
            seen, rows = part(self.data, self.dataset, drawn.index_select(0, step).squeeze(0))
            if self.noise is not None:
                luck = normal(uniform(seed, step.squeeze(0), _NOISE, (2, *seen.observation.shape)))[0]
                noisy = seen.observation + self.noise.observation * luck.to(seen.observation.dtype)
                seen = replace(seen, observation=noisy)
                if self.noise.previous:
                    luck = normal(uniform(seed, step.squeeze(0), _OTHER_ACTIONS, (2, *seen.previous.shape)))[0]
                    later = (rows.before[0] < optimiser.parameters["codebook"].shape[1]).unsqueeze(-1)
                    acted = seen.previous + self.noise.previous * later * luck.to(seen.previous.dtype)
                    seen = replace(seen, previous=acted)
            optimiser.rates.copy_(falling.index_select(0, step).expand_as(optimiser.rates))
            trace = fitted_trace(optimiser.parameters, seen, rows, aligned=True)
            self._descend(trace, _log_chance(trace, self.heat), rows.target)
            step.add_(1)

        return update

    def _descend(self, trace: Trace, chance: Tensor, target: Tensor) -> None:
        acting = discrepancy(trace.read("act"), target, self.data.shape.symbolic)
        near = (trace.proposal - trace.embedding).square().mean(-1)
        self.optimiser.descend(trace.mean(self.imitation * acting - chance + near).sum())


def draws(chances: Tensor, steps: int, size: int) -> Tensor:
    """The rows of every update, [steps, size], by chances on the CPU: every device is given the same."""
    return _draws(chances.numpy().tobytes(), chances.dtype, steps, size)


@lru_cache(maxsize=1)
def _draws(chances: bytes, kind: torch.dtype, steps: int, size: int) -> Tensor:
    weights, drawing = torch.frombuffer(bytearray(chances), dtype=kind), torch.Generator().manual_seed(DRAWS)
    drawn = torch.empty(steps, size, dtype=torch.int64)
    for row in drawn:
        torch.multinomial(weights, size, True, generator=drawing, out=row)
    return drawn


def fitted_trace(
    parameters: Mapping[str, Tensor], data: Data, dataset: TransitionDataset, aligned: bool = False
) -> Trace:
    """All rows at once, each from the code that it is given; gradients stay within a row.

    Where they are `aligned`, the k-th row of the dataset reads the k-th inputs, as those of `part` do.
    """
    codebook = parameters["codebook"]
    features = observe(parameters, Inputs(data.observation, data.previous, frame=data.frames))
    start = torch.cat([codebook, torch.zeros_like(codebook[:, :1])], 1)
    carried = look_up(start, dataset.before)
    seen = features if aligned else look_up(features, dataset.observation)
    driven = drive(parameters, "residual", seen, data.previous if aligned else data.previous[dataset.previous])
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
        Rows(1, dataset.code.shape[1], None if aligned else dataset.observation),
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
