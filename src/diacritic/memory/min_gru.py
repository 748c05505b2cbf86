"""minGRU (Feng et al. 2024): a GRU whose gate and candidate do not read the state."""

import torch
from torch import Tensor

from diacritic.memory.layers import Parameters, Weight, dense, linear
from diacritic.memory.protocol import register
from diacritic.memory.shape import Architecture, Shape
from diacritic.memory.vector import LinearMemory


@register
class MinGru(LinearMemory):
    """s_t = (1 − z_t) s_{t−1} + z_t W x_t with z_t = σ(V x_t)."""

    name = "min-gru"

    def cell(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        return dense("cell", architecture.state_size, 2 * architecture.state_size)

    def gates(self, parameters: Parameters, x: Tensor) -> tuple[Tensor, Tensor]:
        gate, new = linear(parameters, "cell", torch.relu(x)).chunk(2, -1)
        return torch.sigmoid(-gate), torch.sigmoid(gate) * new
