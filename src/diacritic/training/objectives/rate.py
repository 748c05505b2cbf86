"""The rate: what the codes cost under a prior that sees what the policy sees."""

import math
from dataclasses import dataclass
from typing import Literal

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
    """β (1/T) Σ_t −log r(C_t | O_t); an upper bound on β H(C_t | O_t).

    Hard forward; backward through the soft assignment q_k ∝ exp(−‖ẽ_t − e_k‖²), whose expected cost the proposal
    descends (soft-to-hard). The Gaussian bottleneck pays its KL bound instead.
    """

    unit: Literal["nats", "bits"] = "nats"
    moves_codes: bool = False
    """The gradient of the soft assignment reaches the codes too, not the proposal alone."""

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        layers = {}
        for prefix, codes in memory_of(architecture).codebooks(architecture).items():
            layers |= _prior(f"{prefix}prior", shape, architecture, codes)
        return layers

    def loss(self, trace: Trace, data: Data, schedule: Schedule) -> Tensor:
        if trace.bits is not None:
            return schedule.beta * trace.mean(trace.bits) / self._nats()
        total = self._cost(trace, "prior")
        if trace.identification is not None:
            total = total + self._cost(trace.identification, "identification.prior")
        return schedule.beta * total / self._nats()

    def _nats(self) -> float:
        """Nats of one unit."""
        return 1.0 if self.unit == "nats" else math.log(2)

    def _cost(self, trace: Trace, name: str) -> Tensor:
        if trace.heads is not None and trace.heads.reads(name):
            return trace.heads.cost(name, trace.weight, self.moves_codes)
        cost = trace.spread(prior_cost(trace, name))
        hard = cost.gather(-1, trace.code.unsqueeze(-1)).squeeze(-1)
        codebook = trace.codebook if self.moves_codes else trace.codebook.detach()
        # −‖ẽ − e_k‖² up to ‖ẽ‖², which the softmax does not see
        near = torch.baddbmm(-codebook.square().sum(-1).unsqueeze(1), trace.proposal, codebook.mT, alpha=2.0)
        soft = (torch.softmax(near, -1) * cost.detach()).sum(-1)
        return trace.mean(hard + (soft - soft.detach()))


def _prior(name: str, shape: Shape, architecture: Architecture, codes: int) -> dict[str, Weight]:
    if architecture.prior == "unconditional":
        return {f"{name}.logits": Weight((codes,), "zero")}
    shown = shape.observation if architecture.side == "raw" else shape.symbols
    if architecture.prior_reads == "table":
        return {f"{name}.table.weight": Weight((shown, codes), "normal")}
    inputs = architecture.feature_size if architecture.prior_reads == "features" else shown
    return dense(f"{name}.hidden", inputs, architecture.width) | dense(f"{name}.out", architecture.width, codes)


def prior_cost(trace: Trace, name: str) -> Tensor:
    """−log r(k | O) for every code k, per observation: [S, observations, K]."""
    return -torch.log_softmax(trace.prior_logits(name).to(trace.codebook.dtype), -1)
