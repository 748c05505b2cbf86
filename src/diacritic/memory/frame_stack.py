"""Frame stacks: the last k observations and actions, and nothing older."""

from typing import ClassVar

import torch
from torch import Tensor

from diacritic.memory.layers import Parameters, Weight, dense, linear
from diacritic.memory.protocol import Memory, register
from diacritic.memory.quantise import look_up
from diacritic.memory.repeats import Repeats
from diacritic.memory.shape import Architecture, Shape
from diacritic.memory.vector import VectorMemory

TOKEN = 32
"""Numbers that one frame leaves behind."""


class FrameStack(VectorMemory):
    """s_t is x_t and the k − 1 before it, oldest first; zeros stand for frames before the first."""

    frames: ClassVar[int]

    def entering(self, architecture: Architecture) -> int:
        return TOKEN

    def size(self, architecture: Architecture) -> int:
        return self.frames * TOKEN

    def cell(self, shape: Shape, architecture: Architecture) -> dict[str, Weight]:
        return dense("cell", self.frames * TOKEN, self.frames * TOKEN)

    def advance(self, parameters: Parameters, state: Tensor, x: Tensor) -> Tensor:
        return torch.cat([state[..., TOKEN:], x], -1)

    def states(self, parameters: Parameters, architecture: Architecture, x: Tensor) -> Tensor:
        before = torch.nn.functional.pad(x, (0, 0, 0, 0, self.frames - 1, 0))
        return before.unfold(1, self.frames, 1).transpose(-1, -2).flatten(-2)

    def history_states(self, parameters: Parameters, architecture: Architecture, x: Tensor, repeats: Repeats) -> Tensor:
        assert repeats.windows is not None  # as its `window` asks
        before = torch.nn.functional.pad(x, (0, 0, 0, 1))  # zeros stand for frames before the first
        return look_up(before, repeats.windows.flatten().expand(len(x), -1)).view(len(x), len(repeats.windows), -1)

    def readout(self, parameters: Parameters, state: Tensor, x: Tensor) -> Tensor:
        return linear(parameters, "memory.out", torch.relu(linear(parameters, "cell", state)))


def stack_of(count: int) -> type[Memory]:
    """The memory of a stack of so many frames, registered."""
    return register(
        type(f"FrameStack{count}", (FrameStack,), {"name": f"frames-{count}", "frames": count, "window": count})
    )


for _count in (1, 4, 16):
    stack_of(_count)
