"""An external memory of slots with the least recently written one rewritten, after ELMUR (Cherepanov et al. 2025)."""

import torch
from torch import Tensor

from diacritic.memory.layers import Parameters, Weight, dense, linear
from diacritic.memory.protocol import register
from diacritic.memory.shape import Architecture, Shape
from diacritic.memory.vector import VectorMemory

SLOTS, SLOT = 8, 32


@register
class Slots(VectorMemory):
    """Each step reads all slots by attention and blends a new vector into the one that was written longest ago.

    The state is the slots, end to end, and for each one how long ago it was written.
    """

    name = "slots"

    def entering(self, architecture: Architecture) -> int:
        return SLOT

    def size(self, architecture: Architecture) -> int:
        return SLOTS * SLOT + SLOTS

    def cell(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        return {
            **dense("cell.query", SLOT, SLOT),
            **dense("cell.key", SLOT, SLOT),
            **dense("cell.new", 2 * SLOT, SLOT),
            **dense("cell.write", 2 * SLOT, 1),
        }

    def weights(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        return super().weights(shape, architecture) | dense("memory.out", 2 * SLOT, architecture.code_size)

    def advance(self, parameters: Parameters, state: Tensor, x: Tensor) -> Tensor:
        slots, age = _split(state)
        seen = torch.cat([x, self._read(parameters, slots, x)], -1)
        oldest = torch.nn.functional.one_hot((age + _order(age)).argmax(-1), SLOTS).to(age.dtype)
        share = oldest * torch.sigmoid(linear(parameters, "cell.write", seen))
        new = torch.tanh(linear(parameters, "cell.new", seen))
        slots = torch.lerp(slots, new.unsqueeze(-2), share.unsqueeze(-1))
        return torch.cat([slots.flatten(-2), (age + 1) * (1 - oldest)], -1)

    def readout(self, parameters: Parameters, state: Tensor, x: Tensor) -> Tensor:
        return linear(parameters, "memory.out", torch.cat([x, self._read(parameters, _split(state)[0], x)], -1))

    def _read(self, parameters: Parameters, slots: Tensor, x: Tensor) -> Tensor:
        """Attention of x to the slots, [runs, rows, SLOT]."""
        query = linear(parameters, "cell.query", x).unsqueeze(-2)
        keys = linear(parameters, "cell.key", slots.flatten(1, 2)).view(slots.shape)
        weight = torch.softmax((query * keys).sum(-1) * SLOT**-0.5, -1)
        return (weight.unsqueeze(-1) * slots).sum(-2)


def _split(state: Tensor) -> tuple[Tensor, Tensor]:
    return state[..., : SLOTS * SLOT].unflatten(-1, (SLOTS, SLOT)), state[..., SLOTS * SLOT :]


def _order(age: Tensor) -> Tensor:
    """Less than one step each, so that slots of one age are written in order."""
    return torch.arange(SLOTS, 0, -1, device=age.device, dtype=age.dtype) / (2 * SLOTS)
