"""Task-informed supervision: which action will each pending decision take?"""

from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from certify.errors import UserError
from diacritic.memory.layers import Weight, reader
from diacritic.memory.shape import Architecture, Shape
from diacritic.training.data import Data
from diacritic.training.objectives.base import Numbers, discrepancy, need
from diacritic.training.schedule import Schedule
from diacritic.training.trace import Trace


@dataclass(frozen=True)
class PendingDecisions:
    """λ Σ_d 1{t_r ≤ t < t_d} ℓ(q_d(O_t, C_t), ã_d(H_t)): the action at each decision step d until it is reached.

    It needs to know when cues end (t_r) and when decisions fall (t_d); degraded and wrong forecasters enter as data.
    """

    decisions: int = 2
    target: Literal["forecast", "recorded"] = "forecast"
    since: Literal["last-reveal", "start"] = "last-reveal"
    stride: int = 1
    """Supervise every so many steps."""
    reads: Literal["observation", "symbol"] = "observation"
    """`symbol`: q_d(Ō_t, C_t), as the read-side controls must have it."""
    numbers: Numbers = "mean"

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        sizes = architecture.feature_size, architecture.code_size, architecture.width
        return reader("pending", *sizes, self.decisions * shape.action, hidden=architecture.head_layers)

    def loss(self, trace: Trace, data: Data, schedule: Schedule) -> Tensor:
        if len(data.decisions) != self.decisions:
            raise UserError(
                "data.decisions", f"{len(data.decisions)} decision steps, but the learner supervises {self.decisions}"
            )
        if self.target == "recorded":  # one step at a time: a CUDA graph takes no list of steps from the CPU
            taken = torch.stack([data.target[step] for step in data.decisions], 1)
            wanted = taken.expand(1, data.horizon, -1, -1, -1)
        else:
            wanted = need(data.pending, "pending", "pending decisions")
        seen = replace(trace, features=trace.side, heads=None) if self.reads == "symbol" else trace
        prediction = seen.read_steps("pending").unflatten(-1, (self.decisions, data.shape.action))
        time = torch.arange(data.horizon, device=data.target.device)
        first = data.last_reveal if self.since == "last-reveal" else 0
        supervised = (time >= first) & ((time - first) % self.stride == 0)
        mask = torch.stack([supervised & (time < step) for step in data.decisions], 1)
        error = discrepancy(prediction, trace.own(wanted), data.shape.symbolic, self.numbers)
        error = error * mask.to(trace.weight.dtype)[None, :, None]
        return schedule.auxiliary * (error.sum(-1) * trace.step_weight).sum((1, 2))
