"""Linear state spaces with a diagonal transition: LRU (Orvieto et al. 2023) and diagonal S5 (Smith et al. 2023)."""

import math

import torch
from torch import Tensor

from diacritic.memory.layers import Parameters, Weight, dense, linear
from diacritic.memory.protocol import register
from diacritic.memory.shape import Architecture, Shape
from diacritic.memory.vector import LinearMemory

LIFETIMES = (1.0, 1000.0)
"""Steps after which e⁻¹ is left, at the start: log-uniform between these."""


class Diagonal(LinearMemory):
    """s_t = λ s_{t−1} + B x_t with complex λ; half of the state are real, half imaginary parts."""

    def cell(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        units = architecture.state_size // 2
        return {
            "cell.lifetime": Weight((units,)),  # −1…1 on the scale of LIFETIMES
            "cell.turn": Weight((units,)),
            **dense("cell.in", architecture.state_size, 2 * units, bias=False),
        }

    def readout(self, parameters: Parameters, state: Tensor, x: Tensor) -> Tensor:
        return linear(parameters, "memory.out", torch.nn.functional.gelu(state))

    def rate(self, parameters: Parameters) -> Tensor:
        """1 / lifetime, [runs, 1, units]."""
        shortest, longest = (math.log(steps) for steps in LIFETIMES)
        fraction = (parameters["cell.lifetime"] + 1) / 2
        return torch.exp(-(shortest + fraction * (longest - shortest))).unsqueeze(1)


@register
class Lru(Diagonal):
    """|λ| = exp(−1/lifetime), an angle of up to 2π/10 at the start, inputs scaled by √(1 − |λ|²)."""

    name = "lru"

    def gates(self, parameters: Parameters, x: Tensor) -> tuple[Tensor, Tensor]:
        size = torch.exp(-self.rate(parameters))
        turn = parameters["cell.turn"].unsqueeze(1) * (2 * math.pi / 10)
        real, imaginary = linear(parameters, "cell.in", x).chunk(2, -1)
        scale = torch.sqrt(1 - size.square())
        return torch.polar(size, turn), torch.complex(scale * real, scale * imaginary)


@register
class S5(Diagonal):
    """A continuous system −½ + iπn sampled at steps Δ of its own: λ = exp(ΛΔ), B̄ = (λ − 1) Λ⁻¹ B."""

    name = "s5"

    def gates(self, parameters: Parameters, x: Tensor) -> tuple[Tensor, Tensor]:
        step = 2 * self.rate(parameters)
        turn = parameters["cell.turn"].unsqueeze(1) + torch.arange(step.shape[-1], device=x.device, dtype=x.dtype)
        system = torch.complex(torch.full_like(turn, -0.5), math.pi * turn)
        kept = torch.exp(system * step)
        real, imaginary = linear(parameters, "cell.in", x).chunk(2, -1)
        return kept, (kept - 1) / system * torch.complex(real, imaginary)
