"""A selective state space (Mamba's recurrence, Gu and Dao 2023): step, input and readout depend on what is seen."""

import torch
from torch import Tensor

from diacritic.memory.layers import Parameters, Weight, dense, linear
from diacritic.memory.protocol import register
from diacritic.memory.shape import Architecture, Shape
from diacritic.memory.vector import LinearMemory

MODES = 8
"""States of each channel; they decay at rates 1 to 8, at the start."""


@register
class Selective(LinearMemory):
    """Channel c, mode n: s ← exp(−Δ_c(x) n) s + Δ_c(x) B_n(x) x_c, read by Σ_n C_n(x) s."""

    name = "selective"

    def entering(self, architecture: Architecture) -> int:
        return architecture.state_size // MODES

    def size(self, architecture: Architecture) -> int:
        return self.entering(architecture) * MODES

    def cell(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        channels = self.entering(architecture)
        return {
            **dense("cell.step", channels, channels),
            **dense("cell.in", channels, MODES, bias=False),
            **dense("cell.read", channels, MODES, bias=False),
            "cell.decay": Weight((channels, MODES), "zero"),
        }

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        out = dense("memory.out", self.entering(architecture), architecture.code_size)
        return super().weights(shape, architecture) | out

    def gates(self, parameters: Parameters, x: Tensor) -> tuple[Tensor, Tensor]:
        step = torch.nn.functional.softplus(linear(parameters, "cell.step", x) - 3)  # about 0.05 at the start
        modes = torch.arange(1, MODES + 1, device=x.device, dtype=x.dtype)
        decay = (modes * torch.exp(parameters["cell.decay"])).unsqueeze(1)
        kept = torch.exp(-step.unsqueeze(-1) * decay)
        new = (step * x).unsqueeze(-1) * linear(parameters, "cell.in", x).unsqueeze(-2)
        return kept.flatten(-2), new.flatten(-2)

    def readout(self, parameters: Parameters, state: Tensor, x: Tensor) -> Tensor:
        read = state.unflatten(-1, (-1, MODES)) * linear(parameters, "cell.read", x).unsqueeze(-2)
        return linear(parameters, "memory.out", read.sum(-1))
