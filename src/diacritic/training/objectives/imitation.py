"""Imitation of the expert's action at every step."""

from dataclasses import dataclass

import torch
from torch import Tensor

from diacritic.memory.kinds import memory_of
from diacritic.memory.layers import Weight, reader
from diacritic.memory.shape import Architecture, Shape
from diacritic.training.data import Data
from diacritic.training.schedule import Schedule
from diacritic.training.trace import Trace


@dataclass(frozen=True)
class Imitation:
    """(1/T) Σ_t ℓ(π̂(A_t | O_t, C_t)): squared error on standardised actions, or cross-entropy on symbols.

    A stochastic expert enters by its drawn actions or, in the enumeration regime, by its exact law.
    """

    detached: bool = False
    """The policy reads the memory without shaping it (the inverse-only control)."""

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        if memory_of(architecture).acts:
            return {}
        sizes = architecture.feature_size, architecture.code_size, architecture.width
        return reader("act", *sizes, shape.action, hidden=architecture.action_layers)

    def loss(self, trace: Trace, data: Data, schedule: Schedule) -> Tensor:
        prediction = trace.read("act", self.detached) if trace.actions is None else trace.actions
        if data.shape.symbolic:
            return -(trace.targets(data.target) * torch.log_softmax(prediction, -1)).sum((1, 2))
        if trace.heads is not None:
            return trace.heads.squared_error(prediction, data.target, trace.weight)
        target = trace.own(data.target.unsqueeze(0)).flatten(1, 2)
        return trace.mean((prediction - target).square().mean(-1))
