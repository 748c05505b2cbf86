"""Camera features: three convolutions on a 64 × 64 frame and one layer that brings them to the width of g_o."""

import torch
import torch.nn.functional as F
from torch import Tensor

from diacritic.memory.layers import Parameters, Weight, dense, linear

SIDE = 64
# (channels in, channels out, kernel, stride): 64 → 15 → 6 → 4 pixels a side
LAYERS = ((3, 32, 8, 4), (32, 64, 4, 2), (64, 64, 3, 1))
FLAT = 64 * 4 * 4


def weights(width: int = 128) -> dict[str, Weight]:
    """Convolutions that start as PyTorch's do, and the layer on their output."""
    front = {}
    for k, (channels, outputs, kernel, _) in enumerate(LAYERS):
        bound = (channels * kernel**2) ** -0.5
        front[f"pixels.{k}.weight"] = Weight((outputs, channels, kernel, kernel), scale=bound)
        front[f"pixels.{k}.bias"] = Weight((outputs,), scale=bound)
    return front | dense("pixels.out", FLAT, width)


def features(parameters: Parameters, frames: Tensor) -> Tensor:
    """What the frames [rows, 64, 64, 3] (bytes) add to the first layer of g_o, [runs, rows, width].

    Frames may have a leading axis of runs. All runs are one convolution, whose groups they are.
    """
    if frames.shape[-3:] != (SIDE, SIDE, 3) or frames.dtype != torch.uint8:
        given = f"{tuple(frames.shape)} of {frames.dtype}"
        raise ValueError(
            f"frames: expected bytes of shape [..., {SIDE}, {SIDE}, 3], found {given}; crop and resize them"
        )
    kind = parameters["pixels.0.weight"]
    runs, rows = len(kind), frames.shape[-4]
    x = frames.movedim(-1, -3).to(kind.dtype) / 255 - 0.5
    x = x.movedim(0, 1).flatten(1, 2) if x.dim() == 5 else x
    for k, (channels, *_, stride) in enumerate(LAYERS):
        kernel, bias = parameters[f"pixels.{k}.weight"], parameters[f"pixels.{k}.bias"]
        groups = x.shape[1] // channels  # one where the frames are shared, else one for each run
        x = torch.relu(F.conv2d(x, kernel.flatten(0, 1), bias.flatten(), stride, groups=groups))
    return linear(parameters, "pixels.out", x.reshape(rows, runs, FLAT).transpose(0, 1))
