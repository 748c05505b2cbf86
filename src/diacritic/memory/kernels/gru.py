"""A GRU from zero through all steps on CUDA, by the kernels that its size allows."""

import torch
from torch import Tensor

from diacritic.memory.kernels import narrow_gru, wide_gru
from diacritic.memory.kernels.narrow_gru import NarrowGru
from diacritic.memory.kernels.wide_gru import WideGru


def fits(size: int) -> bool:
    """Whether there are kernels for so many numbers."""
    return size in narrow_gru.WIDTHS + wide_gru.WIDTHS


def states(told: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """States [S, T, N, H] from what the input adds to the gates, [S, T, N, 3H]; `weight` and `bias` are the state's."""
    steps, size = told.shape[1], weight.shape[1]
    if size in wide_gru.WIDTHS:
        return WideGru.apply(told, weight, bias)
    heard = told.flatten(1, 2) + torch.nn.functional.pad(bias[:, : 2 * size], (0, size)).unsqueeze(1)
    return NarrowGru.apply(heard, weight, bias[:, 2 * size :], steps, "tf32x3").unflatten(1, (steps, -1))
