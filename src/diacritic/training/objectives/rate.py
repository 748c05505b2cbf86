"""The rate: what the codes cost under a prior that sees what the policy sees."""

from dataclasses import dataclass

import torch
from torch import Tensor

from diacritic.memory.kinds import memory_of
from diacritic.memory.layers import Weight, dense
from diacritic.memory.shape import Architecture, Shape
from diacritic.training.data import Data
from diacritic.training.schedule import Schedule
from diacritic.training.trace import Trace


@dataclass(frozen=True)
class Rate:
    """β (1/T) Σ_t −log r(C_t | O_t), in nats; an upper bound on β H(C_t | O_t).

    Hard forward; backward through the soft assignment q_k ∝ exp(−‖ẽ_t − e_k‖²), whose expected cost the proposal
    descends (soft-to-hard). The Gaussian bottleneck pays its KL bound instead.
    """

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        layers = {}
        for prefix, codes in memory_of(architecture).codebooks(architecture).items():
            layers |= _prior(f"{prefix}prior", architecture, codes)
        return layers

    def loss(self, trace: Trace, data: Data, schedule: Schedule) -> Tensor:
        if trace.bits is not None:
            return schedule.beta * trace.mean(trace.bits)
        total = _cost(trace, "prior")
        if trace.identification is not None:
            total = total + _cost(trace.identification, "identification.prior")
        return schedule.beta * total


def _prior(name: str, architecture: Architecture, codes: int) -> dict[str, Weight]:
    if architecture.prior == "unconditional":
        return {f"{name}.logits": Weight((codes,), "zero")}
    width = architecture.width
    return dense(f"{name}.hidden", width, width) | dense(f"{name}.out", width, codes)


def prior_cost(trace: Trace, name: str) -> Tensor:
    """−log r(k | O) for every code k, per observation: [S, observations, K]."""
    return -torch.log_softmax(trace.prior_logits(name).to(trace.codebook.dtype), -1)


def _cost(trace: Trace, name: str) -> Tensor:
    if trace.heads is not None and trace.heads.reads(name):
        return trace.heads.cost(name, trace.weight)
    cost = trace.spread(prior_cost(trace, name))
    hard = cost.gather(-1, trace.code.unsqueeze(-1)).squeeze(-1)
    codebook = trace.codebook.detach()
    # −‖ẽ − e_k‖² up to ‖ẽ‖², which the softmax does not see
    near = torch.baddbmm(-codebook.square().sum(-1).unsqueeze(1), trace.proposal, codebook.mT, alpha=2.0)
    soft = (torch.softmax(near, -1) * cost.detach()).sum(-1)
    return trace.mean(hard + (soft - soft.detach()))
