"""Behavioural future sufficiency from every step, as the paper's authors released it, and its blind variant."""

from dataclasses import dataclass

import torch
from torch import Tensor

from diacritic.memory.encoders import encode_action
from diacritic.memory.layers import Parameters, Weight, dense, gru_cell, linear
from diacritic.memory.shape import Architecture, Shape
from diacritic.training.data import Data
from diacritic.training.objectives.base import discrepancy
from diacritic.training.schedule import Schedule
from diacritic.training.trace import Trace


@dataclass(frozen=True)
class EveryContinuation:
    """λ (1/T) Σ_t mean_{1 ≤ j < T − t} ℓ(q(A_{t+j} | C_t, O_t, A_t, O_{t+1}, …, O_{t+j})).

    A GRU starts from (g_o(O_t), e_t) of every step and reads what the episode really showed and did from there on.
    `blind`, it reads nothing more: the code must supply the whole future.
    """

    blind: bool = False
    world: bool = False
    """Also the observations O_{t+j}."""
    reach: int = 100
    """Largest j."""

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        width, features = architecture.width, architecture.feature_size
        layers = dense("bfs.start", features + architecture.code_size, width)
        for name, inputs in (("input", 2 * features), ("state", width)):  # as PyTorch's GRU starts
            layers[f"bfs.{name}.weight"] = Weight((inputs, 3 * width), scale=width**-0.5)
            layers[f"bfs.{name}.bias"] = Weight((3 * width,), scale=width**-0.5)
        layers |= dense("bfs.hidden", width, width) | dense("bfs.out", width, shape.action)
        if self.world:
            layers |= dense("bfs.world.hidden", width, width) | dense("bfs.world.out", width, shape.observation)
        return layers

    def loss(self, trace: Trace, data: Data, schedule: Schedule) -> Tensor:
        return schedule.auxiliary * (self.residual(trace, data) * trace.step_weight).sum((1, 2))

    def residual(self, trace: Trace, data: Data) -> Tensor:
        """The mean error of each step's continuation, [S, T, N]; the last step has none."""
        (S, T, N), parameters = trace.step_code.shape, trace.parameters
        features = trace.step_features
        hidden = torch.cat([features, trace.step_embedding.to(features.dtype)], -1).flatten(1, 2)
        hidden = torch.tanh(linear(parameters, "bfs.start", hidden))
        told = self._told(trace, data, features)
        actions = trace.own(data.target.unsqueeze(0)).flatten(1, 2)
        seen = trace.own(data.observation[data.observation_index].unsqueeze(0)).flatten(1, 2) if self.world else None
        total = trace.weight.new_zeros(S, T * N)
        for j in range(1, min(T, self.reach + 1)):
            going = (T - j) * N  # those that have j steps before them come first
            hidden = gru_cell(parameters, "bfs.state", told[:, j * N :], hidden[:, :going])
            symbolic = data.shape.symbolic
            error = discrepancy(_read(parameters, "bfs", hidden), actions[:, j * N :], symbolic)
            if seen is not None:
                error = error + discrepancy(_read(parameters, "bfs.world", hidden), seen[:, j * N :], symbolic)
            total = total + torch.nn.functional.pad(error.to(total.dtype), (0, T * N - going))
        left = (T - 1 - torch.arange(T, device=total.device)).clamp(1, self.reach).to(total.dtype)
        return total.unflatten(1, (T, N)) / left.unsqueeze(-1)

    def _told(self, trace: Trace, data: Data, features: Tensor) -> Tensor:
        """The GRU's input projection of every row, [S, T·N, 3 width]; blind, of blanks."""
        S, T, N, _ = features.shape
        if self.blind:
            return trace.parameters["bfs.input.bias"].unsqueeze(1).expand(-1, T * N, -1)
        previous = trace.own(data.previous[data.previous_index].unsqueeze(0)).flatten(1, 2)
        acted = encode_action(trace.parameters, previous if len(previous) == S else previous[0])
        rows = torch.cat([features.flatten(1, 2), acted.to(features.dtype)], -1)
        return linear(trace.parameters, "bfs.input", rows)


def _read(parameters: Parameters, name: str, hidden: Tensor) -> Tensor:
    return linear(parameters, f"{name}.out", torch.relu(linear(parameters, f"{name}.hidden", hidden)))
