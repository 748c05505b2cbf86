"""Triton kernels of `pixel_blocks` for CUDA: bytes as blocks in one pass, and bias and ReLU in one each way."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

_ELEMENTS, _WARPS = 8192, 8
"""Numbers of one program, and the warps that share them."""


@triton.jit
def _byte_blocks(
    frames,
    into,
    positions,
    PIXELS: tl.constexpr,
    BLOCK: tl.constexpr,
    CHANNELS: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Blocks of a tile of positions (frame, line, column)."""
    at = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    channel = tl.arange(0, CHANNELS)[None, :]
    across: tl.constexpr = PIXELS // BLOCK
    wide: tl.constexpr = 3 * BLOCK
    # Frames lie one after the other, so that lines of blocks count on.
    line, column = (at // across)[:, None], (at % across)[:, None]
    source = (line * BLOCK + channel // wide) * (3 * PIXELS) + column * wide + channel % wide
    inside = (at < positions)[:, None]
    value = tl.load(frames + source, mask=inside & (channel < BLOCK * wide), other=0).to(tl.float32)
    value = tl.where(channel == BLOCK * wide, 1.0, value)
    tl.store(into + at[:, None] * CHANNELS + channel, value.to(into.dtype.element_ty), mask=inside)


@triton.jit
def _rectify(
    values,
    bias,
    into,
    positions,
    CHANNELS: tl.constexpr,
    BIASED: tl.constexpr,
    ROWS: tl.constexpr,
):
    """ReLU of a tile of positions; not a number stays so."""
    at = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    channel = tl.arange(0, CHANNELS)[None, :]
    inside = (at < positions)[:, None]
    here = at[:, None] * CHANNELS + channel
    value = tl.load(values + here, mask=inside, other=0.0).to(tl.float32)
    if BIASED:
        value += tl.load(bias + channel).to(tl.float32)
    value = tl.where(value < 0, 0.0, value)
    tl.store(into + here, value.to(into.dtype.element_ty), mask=inside)


@triton.jit
def _rectify_back(
    flow,
    outputs,
    into,
    sums,
    positions,
    CHANNELS: tl.constexpr,
    BIASED: tl.constexpr,
    ROWS: tl.constexpr,
):
    """What flows into the values of a tile, and its sum over the tile for the bias."""
    at = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    channel = tl.arange(0, CHANNELS)[None, :]
    inside = (at < positions)[:, None]
    here = at[:, None] * CHANNELS + channel
    output = tl.load(outputs + here, mask=inside, other=0.0).to(tl.float32)
    pull = tl.load(flow + here, mask=inside, other=0.0).to(tl.float32)
    pull = tl.where(output <= 0, 0.0, pull)
    tl.store(into + here, pull.to(into.dtype.element_ty), mask=inside)
    if BIASED:
        tl.store(sums + tl.program_id(0).to(tl.int64) * CHANNELS + channel, tl.sum(pull, 0)[None, :])


def byte_blocks(frames: Tensor, block: int, channels: int, kind: torch.dtype) -> Tensor:
    """`pixel_blocks.byte_blocks` with so many channels."""
    pixels = frames.shape[-2]
    across = pixels // block
    into = torch.empty(len(frames), across, across, channels, dtype=kind, device=frames.device)
    positions = into.numel() // channels
    grid, rows = _cut(positions, channels)
    sizes: dict[str, Any] = {"PIXELS": pixels, "BLOCK": block, "CHANNELS": channels, "ROWS": rows, "num_warps": _WARPS}
    _byte_blocks[grid](frames.contiguous(), into, positions, **sizes)
    return into.movedim(-1, 1)


class Rectified(torch.autograd.Function):
    """`pixel_blocks.rectified`; channels are a power of two, and the bias' gradient is summed in fp32."""

    @staticmethod
    def forward(ctx, x: Tensor, bias: Tensor | None) -> Tensor:
        values = x.movedim(1, -1).contiguous()
        into, channels = torch.empty_like(values), values.shape[-1]
        positions = values.numel() // channels
        grid, tile = _cut(positions, channels)
        sizes = {"CHANNELS": channels, "BIASED": bias is not None, "ROWS": tile, "num_warps": _WARPS}
        _rectify[grid](values, values if bias is None else bias.contiguous(), into, positions, **sizes)
        ctx.save_for_backward(into)
        ctx.how = grid, sizes, None if bias is None else bias.dtype
        return into.movedim(-1, 1)

    @staticmethod
    def backward(ctx, *flows: Tensor) -> tuple[Tensor | None, ...]:
        (outputs,), (grid, sizes, kind) = ctx.saved_tensors, ctx.how
        flow, into, channels = flows[0].movedim(1, -1).contiguous(), torch.empty_like(outputs), outputs.shape[-1]
        sums = torch.empty(grid[0] if kind else 1, channels, device=flow.device)
        _rectify_back[grid](flow, outputs, into, sums, into.numel() // channels, **sizes)
        return into.movedim(-1, 1), sums.sum(0).to(kind) if kind else None


def _cut(positions: int, channels: int) -> tuple[tuple[int], int]:
    """The grid, and the positions of one program."""
    rows = _ELEMENTS // channels
    return (-(-positions // rows),), rows
