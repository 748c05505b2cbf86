"""Event-agnostic supervision at all offsets by one wide head."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from diacritic.memory.layers import Weight, reader
from diacritic.memory.shape import Architecture, Shape
from diacritic.training.data import Data
from diacritic.training.objectives.base import Numbers, discrepancy, need
from diacritic.training.schedule import Schedule
from diacritic.training.trace import Trace


@dataclass(frozen=True)
class AllLaterActions:
    """λ (1/T) Σ_t Σ_{j ≥ 1} 1{t+j < T} ‖q_j(O_t, C_t) − ã_{t,j}(H_t)‖²: one output for each offset and number.

    λ is held until `anneal[0]` of training and brought linearly to 0 at `anneal[1]`; (1, 1) never anneals.
    """

    target: Literal["forecast", "recorded"] = "forecast"
    anneal: tuple[float, float] = (1, 1)
    numbers: Numbers = "mean"

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        sizes = architecture.feature_size, architecture.code_size, architecture.width
        return reader("later", *sizes, (shape.horizon - 1) * shape.action, hidden=architecture.head_layers)

    def loss(self, trace: Trace, data: Data, schedule: Schedule) -> Tensor:
        T = data.horizon
        step = torch.arange(T, device=data.target.device)
        later = step.unsqueeze(1) + torch.arange(1, T, device=data.target.device)
        if self.target == "recorded":
            wanted = data.target[later.clamp(max=T - 1)].transpose(1, 2).unsqueeze(0)
        else:
            wanted = need(data.forecast, "forecast", "all later actions")
        prediction = trace.read_steps("later").unflatten(-1, (T - 1, data.shape.action))
        error = discrepancy(prediction, trace.own(wanted), data.shape.symbolic, self.numbers)
        inside = (later < T).to(error.dtype)[None, :, None]
        total = ((error * inside).sum(-1) * trace.step_weight).sum((1, 2))
        return schedule.auxiliary * schedule.falling(*self.anneal) * total
