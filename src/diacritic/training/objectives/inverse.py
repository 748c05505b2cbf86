"""Multi-step inverse dynamics: which action was taken between two observations?"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from diacritic.memory.layers import Weight, dense, linear, reader
from diacritic.memory.quantise import look_up
from diacritic.memory.shape import Architecture, Shape
from diacritic.training.data import Data
from diacritic.training.distinct import distinct
from diacritic.training.objectives.base import discrepancy, later_rows
from diacritic.training.schedule import STREAMS, Schedule
from diacritic.training.trace import Trace


@dataclass(frozen=True)
class Inverse:
    """λ E_{t,j}[ℓ(q(A_t | C_t, O_t, O_{t+j}))], j uniform on 1…reach, within the episode."""

    reach: int = 8
    ends: Literal["masked", "cut"] = "masked"
    """An offset that leads beyond the end counts nothing, or is cut to reach the last step."""

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        width = architecture.width
        features = architecture.feature_size
        if not architecture.offset_size:
            head = reader("inverse", features, architecture.code_size, width, shape.action, hidden=2)
            return head | dense("inverse.later", features, width, bias=False)
        told = architecture.offset_size
        bound = (2 * features + architecture.code_size + told) ** -0.5
        sizes = features, architecture.code_size, width, shape.action
        return {
            **reader("inverse", *sizes, hidden=2, more=features + told),
            "inverse.later.weight": Weight((features, width), scale=bound),
            "inverse.offset": Weight((self.reach + 1, told), "normal"),
            "inverse.told.weight": Weight((told, width), scale=bound),
        }

    def loss(self, trace: Trace, data: Data, schedule: Schedule) -> Tensor:
        T, N = data.horizon, trace.rows.episodes
        drawn = schedule.integers(STREAMS["inverse"], min(self.reach, T - 1), T, data.episodes)
        offset = trace.own(1 + drawn)
        time = torch.arange(T, device=offset.device).view(1, -1, 1)
        if self.ends == "cut":
            offset = torch.minimum(offset, (T - 1 - time).clamp(min=1))
        inside = (time + offset < T).to(trace.weight.dtype)
        if (total := self._loss_on_unique_rows(trace, data, offset, inside)) is not None:
            return schedule.auxiliary * total
        later = linear(trace.parameters, "inverse.later", trace.step_features.flatten(1, 2))
        row = (time + offset).clamp(max=T - 1) * N + torch.arange(N, device=offset.device)
        extra = later.gather(1, row.flatten(1).unsqueeze(-1).expand(-1, -1, later.shape[-1]))
        if "inverse.told.weight" in trace.parameters:
            extra = extra + look_up(trace.offset_vectors("inverse"), offset.flatten(1))
        prediction = trace.read_steps("inverse", extra.view(*offset.shape, -1))
        error = discrepancy(prediction, trace.own(data.target.unsqueeze(0)), data.shape.symbolic)
        return schedule.auxiliary * (error * inside * trace.step_weight).sum((1, 2))

    @staticmethod
    def _loss_on_unique_rows(trace: Trace, data: Data, offset: Tensor, inside: Tensor) -> Tensor | None:
        """The same from distinct readings, where known: a row tells its action, what it is paired with the rest."""
        if trace.rows.law is None:
            return None
        told = "inverse.told.weight" in trace.parameters
        shown = data.observation_index.flatten()[later_rows(data, offset)]
        named = offset * len(data.observation) + shown if told else shown
        key = torch.where(inside > 0, named + 1, 0).flatten(1)
        rows = distinct(trace, key, (inside * trace.step_weight).flatten(1))
        if rows is None:
            return None
        later = linear(trace.parameters, "inverse.later", trace.features)
        extra = look_up(later, rows.pick(shown.flatten(1)))
        if told:
            extra = extra + look_up(trace.offset_vectors("inverse"), rows.pick(offset.flatten(1)))
        prediction = rows.read("inverse", extra)
        wanted = data.target.flatten(0, 1)[rows.example]
        return (discrepancy(prediction, wanted, data.shape.symbolic) * rows.weight).sum(1)
