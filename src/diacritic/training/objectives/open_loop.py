"""Open-loop targets: the whole future from (C_t, O_t) alone."""

from dataclasses import dataclass

import torch
from torch import Tensor

from diacritic.memory.layers import Weight, reader
from diacritic.memory.shape import Architecture, Shape
from diacritic.training.data import Data
from diacritic.training.objectives.base import discrepancy
from diacritic.training.schedule import Schedule
from diacritic.training.trace import Trace


@dataclass(frozen=True)
class OpenLoop:
    """λ E_t[mean_{j} ℓ(q_j(O_t, C_t), A_{t+j})], and with `observations` also ℓ(p_j(O_t, C_t), O_{t+j}).

    The decoder sees nothing of what comes between: it charges the code for whatever the future would have shown.
    """

    observations: bool = False

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        sizes = (architecture.feature_size, architecture.code_size, architecture.width)
        layers = reader("ahead", *sizes, (shape.horizon - 1) * shape.action, hidden=2)
        if self.observations:
            layers |= reader("world", *sizes, (shape.horizon - 1) * shape.observation, hidden=2)
        return layers

    def loss(self, trace: Trace, data: Data, schedule: Schedule) -> Tensor:
        total = _ahead(trace, "ahead", data.target, data.shape.symbolic)
        if self.observations:
            total = total + _ahead(trace, "world", data.observation[data.observation_index], data.shape.symbolic)
        return schedule.auxiliary * total


def _ahead(trace: Trace, name: str, values: Tensor, symbolic: bool) -> Tensor:
    T, _, size = values.shape
    step = torch.arange(T, device=values.device)
    later = step.unsqueeze(1) + torch.arange(1, T, device=values.device)
    inside = (later < T).to(values.dtype)
    wanted = values[later.clamp(max=T - 1)].transpose(1, 2).unsqueeze(0)  # [1, T, N, T−1, size]
    prediction = trace.read_steps(name).unflatten(-1, (T - 1, size))
    error = discrepancy(prediction, trace.own(wanted), symbolic) * inside[None, :, None]
    mean = error.sum(-1) / inside.sum(-1).clamp(min=1)[None, :, None]
    return (mean * trace.step_weight).sum((1, 2))
