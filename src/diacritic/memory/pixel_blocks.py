"""The convolutions of a camera front on blocks of pixels, which a GPU computes faster than strided ones.

A convolution of stride s whose outputs come in blocks of b × b pixels is one of stride 1 on blocks of s·b × s·b
pixels; a block's pixels are its channels. The sums are the same, and the added weights are zeros. So the first layer
reads many channels instead of three, no gradient goes back through a stride, and outputs in blocks are what the next
layer reads. The first layer's bias is the weight of a channel that is one everywhere.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from diacritic.memory.layers import Parameters
from diacritic.memory.pixels import SIDE, Front

_WHOLE = 16
"""Channels of the first layer are a multiple of this."""


def in_blocks(front: Front, parameters: Parameters, frames: Tensor, kind: torch.dtype) -> Tensor:
    """Outputs of the convolutions, run by run in that precision, [runs, rows, ·], as `front.blocks` says."""
    runs = len(parameters[f"{front.name}.0.weight"])
    block = front.layers[0][3] * front.blocks[0]
    shared = byte_blocks(frames, block, kind) if frames.dim() == 4 else None
    outputs = []
    for run in range(runs):
        x = byte_blocks(frames[run], block, kind) if shared is None else shared
        for k in range(len(front.layers)):
            kernel, bias = (parameters[f"{front.name}.{k}.{part}"][run] for part in ("weight", "bias"))
            x = _layer(front, k, x, kernel, bias)
        x = F.avg_pool2d(x, front.pooled) if front.pooled > 1 else x
        outputs.append(x.flatten(1))
    return torch.stack(outputs)


def _layer(front: Front, k: int, x: Tensor, kernel: Tensor, bias: Tensor | None) -> Tensor:
    """One convolution and its ReLU; its outputs lie in the blocks that the next one reads."""
    *_, stride, padding = front.layers[k]
    if k == 0:
        kernel = kernel / 255
    if front.blocks[k]:
        kernel, stride, padding = blocked(kernel, stride, padding, front.blocks[k]), 1, 1
    if k == 0 and bias is not None:
        kernel, bias = _with_bias(kernel, bias, x.shape[1]), None
    kernel = kernel.to(x.dtype).contiguous(memory_format=torch.channels_last)
    x = F.conv2d(x, kernel, None, stride, padding)
    return rectified(x, bias)


def blocked(kernel: Tensor, stride: int, padding: int, outputs: int) -> Tensor:
    """The kernel [outputs² · O, (stride · outputs)² · C, 3, 3] of stride 1 and padding 1 that does the same on blocks.

    A block's channels are ordered by line, column and channel of its pixels.
    """
    made, read, taps, _ = kernel.shape
    side = stride * outputs
    before = [side + stride * at - padding for at in range(outputs)]
    if min(before) < 0 or max(before) + taps > 3 * side:
        raise ValueError(f"blocks: {taps} taps reach beyond the blocks beside one of {side} pixels")
    parts = []
    for line in before:
        for column in before:
            whole = F.pad(kernel, (column, 3 * side - taps - column, line, 3 * side - taps - line))
            tiled = whole.view(made, read, 3, side, 3, side).permute(0, 3, 5, 1, 2, 4)
            parts.append(tiled.reshape(made, side * side * read, 3, 3))
    return torch.cat(parts)


def _with_bias(kernel: Tensor, bias: Tensor, channels: int) -> Tensor:
    """The kernel for so many channels, the first of which after its own is one everywhere; the others are zero."""
    more = channels - kernel.shape[1]
    column = bias.repeat(len(kernel) // len(bias)).view(-1, 1, 1, 1)
    return torch.cat([kernel, F.pad(column, (1, 1, 1, 1, 0, more - 1))], 1)


def byte_blocks(frames: Tensor, block: int, kind: torch.dtype) -> Tensor:
    """Bytes [rows, 64, 64, 3] as blocks, [rows, channels, 64 / block, 64 / block], channels-last.

    After the channels of a block's pixels comes one that is one everywhere, then zeros up to a multiple of 16.
    """
    own = 3 * block * block
    channels = _WHOLE * (own // _WHOLE + 1)
    if frames.is_cuda:
        from diacritic.memory.kernels import pixels as kernels

        return kernels.byte_blocks(frames, block, channels, kind)
    across = SIDE // block
    x = frames.view(-1, across, block, across, 3 * block).transpose(2, 3).flatten(3).to(kind)
    return F.pad(F.pad(x, (0, 1), value=1.0), (0, channels - own - 1)).movedim(-1, 1)


def rectified(x: Tensor, bias: Tensor | None) -> Tensor:
    """ReLU of x [rows, C, n, n] and its bias, channels-last."""
    if x.is_cuda:
        from diacritic.memory.kernels import pixels as kernels

        return kernels.Rectified.apply(x, bias)
    y = x if bias is None else (x + bias.view(-1, 1, 1)).to(x.dtype)
    return torch.relu(y).contiguous(memory_format=torch.channels_last)
