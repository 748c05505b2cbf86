"""An external memory whose least recently written register is rewritten, after ELMUR (Cherepanov et al. 2025)."""

import torch
from torch import Tensor

from diacritic.memory.kernels.launch import usable
from diacritic.memory.layers import Parameters, Weight, dense, linear
from diacritic.memory.protocol import register
from diacritic.memory.shape import Architecture, Shape
from diacritic.memory.vector import VectorMemory

REGISTERS = 8


@register
class Registers(VectorMemory):
    """Each step reads all registers by attention and blends a new vector into the one that was written longest ago.

    The state is the registers of `code_size` numbers, end to end, and for each one how long ago it was written.
    """

    name = "registers"

    def entering(self, architecture: Architecture) -> int:
        return architecture.code_size

    def size(self, architecture: Architecture) -> int:
        return REGISTERS * (architecture.code_size + 1)

    def cell(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        size = architecture.code_size
        return {
            **dense("cell.query", size, size),
            **dense("cell.key", size, size),
            **dense("cell.new", 2 * size, size),
            **dense("cell.write", 2 * size, 1),
        }

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        size = architecture.code_size
        return super().weights(shape, architecture) | dense("memory.out", 2 * size, size)

    def advance(self, parameters: Parameters, state: Tensor, x: Tensor) -> Tensor:
        registers, age = _split(state)
        seen = torch.cat([x, self._read(parameters, registers, x)], -1)
        oldest = torch.nn.functional.one_hot((age + _order(age)).argmax(-1), REGISTERS).to(age.dtype)
        share = oldest * torch.sigmoid(linear(parameters, "cell.write", seen))
        new = torch.tanh(linear(parameters, "cell.new", seen))
        registers = torch.lerp(registers, new.unsqueeze(-2), share.unsqueeze(-1))
        return torch.cat([registers.flatten(-2), (age + 1) * (1 - oldest)], -1)

    def readout(self, parameters: Parameters, state: Tensor, x: Tensor) -> Tensor:
        return linear(parameters, "memory.out", torch.cat([x, self._read(parameters, _split(state)[0], x)], -1))

    def readouts(self, parameters: Parameters, architecture: Architecture, x: Tensor, steps: int) -> Tensor:
        if usable(x):
            from diacritic.memory.kernels import registers as kernels

            if kernels.fits(x.shape[-1]):
                read = kernels.follow(parameters, x, steps, REGISTERS)
                return linear(parameters, "memory.out", torch.cat([x, read], -1))
        return super().readouts(parameters, architecture, x, steps)

    def _read(self, parameters: Parameters, registers: Tensor, x: Tensor) -> Tensor:
        """Attention of x to the registers, [runs, rows, ·]."""
        query = linear(parameters, "cell.query", x).unsqueeze(-2)
        keys = linear(parameters, "cell.key", registers.flatten(1, 2)).view(registers.shape)
        weight = torch.softmax((query * keys).sum(-1) * x.shape[-1] ** -0.5, -1)
        return (weight.unsqueeze(-1) * registers).sum(-2)


def _split(state: Tensor) -> tuple[Tensor, Tensor]:
    return state[..., :-REGISTERS].unflatten(-1, (REGISTERS, -1)), state[..., -REGISTERS:]


def _order(age: Tensor) -> Tensor:
    """Less than one step each, so that registers of one age are written in order."""
    return torch.arange(REGISTERS, 0, -1, device=age.device, dtype=age.dtype) / (2 * REGISTERS)
