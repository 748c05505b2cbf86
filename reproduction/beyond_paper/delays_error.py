"""How much error reaches the cue: the norm of ∂ℓ_T/∂e_t, from the decision back over the distance T − t."""

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from diacritic.files.ledger import Row
from diacritic.memory.protocol import Record
from diacritic.memory.shape import Architecture
from diacritic.memory.sole_carrier import begin, step
from diacritic.training.cohort import Cohort
from diacritic.training.data import Data
from diacritic.training.reference import collect, whole_episodes
from diacritic.training.symbolic import from_model
from reproduction.beyond_paper.certified import chain_task
from reproduction.beyond_paper.delays_cells import CAROUSEL, RELEASE, plan_for, rows_now, without

STUDY, STEPS = "long-delays-error-norm", 1000
DELAYS, LONGEST = (10, 30, 100), 1000  # the longest with the carousel alone: the full gradient takes it step by step
FULL = replace(without("carousel gradient"), name="full gradient")
KINDS = {
    "carousel": (CAROUSEL, Architecture()),
    "full gradient": (FULL, Architecture()),
    "full gradient, tanh": (replace(FULL, name="full gradient, tanh"), Architecture(bound="tanh")),
    "release": (RELEASE, Architecture()),
}


def error_at_states(cohort: Cohort) -> Tensor:
    """∂ℓ_T/∂e_t of every run, step and episode, [S, T, N, d], by autograd through the defining loop in float64."""
    plan = cohort.plan
    parameters = {name: value.detach().double().requires_grad_() for name, value in cohort.parameters.items()}
    data = cohort.given.to(cohort.device, torch.float64)
    state = begin(parameters, plan.carrier, data.episodes)
    states: list[Tensor] = []
    records: list[Record] = []
    episodes = whole_episodes(data)
    for t in range(data.horizon):
        state, record = step(parameters, plan.carrier, state, episodes.at(t), plan.preset.gradient)
        states.append(state.embedding)
        records.append(record)
    trace = collect(parameters, plan.carrier, data, data.weight.expand(len(plan.runs), -1), records)
    decided = torch.log_softmax(trace.steps(trace.read("act"))[:, -1], -1)
    loss = -(data.target[-1] * decided).sum()  # episodes do not meet, so the sum keeps their gradients apart
    return torch.stack(torch.autograd.grad(loss, states), 1)


def mean_norm(error: Tensor, weight: Tensor) -> Tensor:
    """E ‖∂ℓ_T/∂e_t‖ over the episodes, [S, T]; the last column is the decision's own step."""
    return (error.norm(dim=-1) * weight).sum(-1)


def coherence(error: Tensor, data: Data) -> Tensor:
    """E ‖E[δ_t | H_t] − E δ_t‖ / E ‖δ_t‖ of the error δ_t = ∂ℓ_T/∂e_t, [S, T].

    How much of the error asks for one state after one history and for another after another: 0 where what happens
    later turns it about, so that on average every history is pushed the same way.
    """
    apart = error - torch.einsum("stnd,n->std", error, data.weight).unsqueeze(2)
    agreed = []
    for t in range(data.horizon):
        seen = torch.cat([data.observation_index[: t + 1], data.previous_index[: t + 1]])
        histories, history = torch.unique(seen, dim=1, return_inverse=True)
        sums = error.new_zeros(len(error), histories.shape[1], error.shape[-1])
        sums.index_add_(1, history, apart[:, t] * data.weight.unsqueeze(-1))
        agreed.append(sums.norm(dim=-1).sum(-1))
    return torch.stack(agreed, 1) / mean_norm(error, data.weight).clamp(min=torch.finfo(error.dtype).tiny)


def error_fields(cohort: Cohort) -> list[Row]:
    """Norm and coherence of the error by the distance from the decision, for each run's row."""
    data = cohort.given.to(cohort.device, torch.float64)
    error = error_at_states(cohort)
    back = distances(data.horizon)
    steps = [data.horizon - 1 - far for far in back]
    norm, agreed = mean_norm(error, data.weight)[:, steps], coherence(error, data)[:, steps]
    pairs = zip(norm.tolist(), agreed.tolist(), strict=True)
    return [{"distance": back, "norm": size, "coherence": share} for size, share in pairs]


def distances(horizon: int) -> list[int]:
    """Steps back from the decision: every one up to ten, then about twenty a decade, and the first step."""
    first = horizon - 1
    spread = np.geomspace(10, max(10, first), 1 + round(20 * np.log10(max(1.0, first / 10))))
    near = {*range(11), *np.round(spread).astype(int).tolist(), first}
    return sorted(far for far in near if far <= first)


def measure(device: str, steps: int | None, only: str) -> Iterator[list[Row]]:
    """Every gradient at every delay of the two-bit memory chain, before training and after some."""
    for kind, (chosen, architecture) in KINDS.items():
        for delay in (*DELAYS, LONGEST) if kind == "carousel" else DELAYS:
            bench = chain_task(delay)
            if only not in f"{bench.name} {kind}":
                continue
            plan = replace(plan_for(bench, chosen, steps or STEPS), architecture=architecture)
            cohort = Cohort(plan, from_model(bench.model), device)
            for updates in (0, plan.steps):
                begun = time.perf_counter()
                cohort.advance(updates - cohort.step)
                rows = rows_now(STUDY, bench, cohort, time.perf_counter() - begun)
                for row, errors in zip(rows, error_fields(cohort), strict=True):
                    row["cell"] += " at the start" if not updates else " after training"
                    row |= {"steps": updates, "delay": delay, **errors}
                yield rows
