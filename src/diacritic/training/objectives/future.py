"""Event-agnostic supervision: what will the expert do at a random later step?"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from diacritic.memory.layers import Weight, reader
from diacritic.memory.quantise import look_up
from diacritic.memory.shape import Architecture, Shape
from diacritic.training.data import Data
from diacritic.training.distinct import distinct
from diacritic.training.objectives.base import Numbers, discrepancy, later_rows, need
from diacritic.training.schedule import STREAMS, Schedule
from diacritic.training.trace import Trace


@dataclass(frozen=True)
class FutureBehaviour:
    """λ E_{t,j}[1{t+j ≤ T} ℓ(q(O_t, C_t, j), ã_{t,j}(H_t))], j uniform on 1…T−1; ã: a forecast or the recorded action.

    λ is the run's auxiliary weight, held until `anneal[0]` of training and brought linearly to 0 at `anneal[1]`.
    """

    target: Literal["forecast", "recorded"] = "forecast"
    anneal: tuple[float, float] = (0.6, 0.8)
    """(1, 1) never anneals."""
    numbers: Numbers = "mean"
    each_draw: bool = False
    """Every draw of a demonstration has offsets of its own; equal demonstrations of a model share them otherwise."""

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        width, told = architecture.width, architecture.offset_size
        sizes = architecture.feature_size, architecture.code_size, width
        head = reader("future", *sizes, shape.action, hidden=architecture.head_layers, more=told)
        if not told:
            return {**head, "future.offset": Weight((shape.horizon, width), "normal", width**-0.5)}
        bound = (architecture.feature_size + architecture.code_size + told) ** -0.5
        return {
            **head,
            "future.offset": Weight((shape.horizon, told), "normal"),
            "future.told.weight": Weight((told, width), scale=bound),
        }

    def loss(self, trace: Trace, data: Data, schedule: Schedule) -> Tensor:
        if self.each_draw and trace.draws is not None and data.shape.symbolic:
            trace = trace.by_draw(trace.draws)
            offset = 1 + schedule.integers(STREAMS["offset"], data.horizon - 1, data.horizon, trace.rows.episodes)
        else:
            offset = 1 + schedule.integers(STREAMS["offset"], data.horizon - 1, data.horizon, data.episodes)
            offset = trace.own(offset)
        total = self._at(trace, data, offset)  # one for each episode, or draw, and step
        scale = data.shape.action if self.numbers == "sum" and not data.shape.symbolic else 1
        return schedule.auxiliary * schedule.falling(*self.anneal) * total * scale

    def _wanted(self, data: Data) -> Tensor:
        """What the kernels compare with: a forecast of every later step, or what was recorded."""
        return data.target if self.target == "recorded" else need(data.forecast, "forecast", "future behaviour")

    def _at(self, trace: Trace, data: Data, offset: Tensor) -> Tensor:
        if (total := self._loss_on_unique_rows(trace, data, offset)) is not None:
            return total
        prediction = trace.read_at("future", offset)
        if trace.heads is not None and not data.shape.symbolic:
            shown = prediction.flatten(1, 2), self._wanted(data), trace.weight, offset.flatten(1)
            return trace.heads.squared_error(*shown)
        wanted = later_actions(trace, data, offset, self.target)
        error = discrepancy(prediction, wanted, data.shape.symbolic)
        return (error * self._inside(data, offset, trace) * trace.step_weight).sum((1, 2))

    @staticmethod
    def _inside(data: Data, offset: Tensor, trace: Trace) -> Tensor:
        """1 where the step at the offset is within the episode, else 0."""
        time = torch.arange(data.horizon, device=offset.device).view(1, -1, 1)
        return (time + offset < data.horizon).to(trace.weight.dtype)

    def _loss_on_unique_rows(self, trace: Trace, data: Data, offset: Tensor) -> Tensor | None:
        """The same from distinct readings, where known: steps of one row, offset and expert's law are alike."""
        if self.target != "recorded" or trace.rows.law is None:
            return None
        inside = self._inside(data, offset, trace)
        later = later_rows(data, offset, trace.own(torch.arange(data.episodes, device=offset.device).view(1, 1, -1)))
        law = trace.rows.law.flatten()[later]
        key = torch.where(inside > 0, offset * (int(law.max()) + 1) + law, 0).flatten(1)
        rows = distinct(trace, key, (inside * trace.step_weight).flatten(1))
        if rows is None:
            return None
        told = look_up(trace.offset_vectors("future"), rows.pick(offset.flatten(1)))
        wanted = data.target.flatten(0, 1)[rows.pick(later.flatten(1))]
        error = discrepancy(rows.read("future", told), wanted, data.shape.symbolic)
        return (error * rows.weight).sum(1)


def later_actions(trace: Trace, data: Data, offset: Tensor, target: str) -> Tensor:
    """ã_{t,j} for every step and episode, [S, T, N, A]; beyond the end the value is arbitrary and masked."""
    episode = trace.own(torch.arange(data.episodes, device=offset.device).view(1, 1, -1))
    if target == "recorded":
        return data.target.flatten(0, 1)[later_rows(data, offset, episode)]
    forecast = need(data.forecast, "forecast", "future behaviour")
    row = later_rows(data, torch.zeros_like(offset), episode)
    run = torch.arange(len(offset), device=offset.device).view(-1, 1, 1) % len(forecast)
    return forecast.flatten(1, 2)[run, row, offset - 1]
