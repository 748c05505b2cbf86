"""Causal attention over short episodes (T ≤ 64) on CUDA: one program holds all of one head of one episode.

Library kernels are built for long sequences; at T = 47 most of their time is overhead. Queries, keys and values stay
side by side as the projection wrote them, and so do their gradients.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

LONGEST = 64


def attend(parts: Tensor) -> Tensor:
    """softmax(q kᵀ / √D, causal) v for contiguous parts [rows, T, 3, heads, D]; gives [rows, T, heads, D].

    Products of fp32 are rounded to TF32 where PyTorch may round its own.
    """
    return _Attention.apply(parts)


def fits(parts: Tensor) -> bool:
    """Whether one program can hold a head of an episode."""
    _, steps, _, _, size = parts.shape
    return steps <= LONGEST and size in (16, 32, 64)


def _start(kernel: Any, programs: int, *arguments: Any) -> None:
    kernel[(programs,)](*arguments, num_warps=4)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, parts: Tensor) -> Tensor:
        rows, steps, _, heads, size = parts.shape
        out = parts.new_empty(rows, steps, heads, size)
        ctx.precision = "tf32" if torch.get_float32_matmul_precision() == "high" else "ieee"
        _start(_forward, rows * heads, parts, out, steps, size**-0.5, heads, size, LONGEST, ctx.precision)
        ctx.save_for_backward(parts)
        return out

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> Tensor:
        (parts,) = ctx.saved_tensors
        rows, steps, _, heads, size = parts.shape
        slope = torch.empty_like(parts)
        out = slopes[0].contiguous()
        sizes = steps, size**-0.5, heads, size, LONGEST, ctx.precision
        _start(_backward, rows * heads, parts, out, slope, *sizes)
        return slope


@triton.jit
def _law(query, key, steps, scale, BLOCK: tl.constexpr, PRECISION: tl.constexpr):
    """The attention of every step to itself and those before it."""
    now, then = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    score = tl.where(
        (then <= now) & (then < steps), tl.dot(query, tl.trans(key), input_precision=PRECISION) * scale, float("-inf")
    )
    score = tl.exp(score - tl.max(score, 1)[:, None])
    return score / tl.sum(score, 1)[:, None]


@triton.jit
def _forward(
    parts, out, steps, scale, HEADS: tl.constexpr, SIZE: tl.constexpr, BLOCK: tl.constexpr, PRECISION: tl.constexpr
):
    row, head = (tl.program_id(0) // HEADS).to(tl.int64), tl.program_id(0) % HEADS
    time, unit = tl.arange(0, BLOCK)[:, None], tl.arange(0, SIZE)[None, :]
    inside = time < steps
    pointer = parts + row * steps * 3 * HEADS * SIZE + time * 3 * HEADS * SIZE + head * SIZE + unit
    query = tl.load(pointer, inside, 0.0)
    key = tl.load(pointer + HEADS * SIZE, inside, 0.0)
    value = tl.load(pointer + 2 * HEADS * SIZE, inside, 0.0)
    law = _law(query, key, steps, scale, BLOCK, PRECISION)
    target = out + row * steps * HEADS * SIZE + time * HEADS * SIZE + head * SIZE + unit
    tl.store(target, tl.dot(law.to(value.dtype), value, input_precision=PRECISION).to(value.dtype), inside)


@triton.jit
def _backward(
    parts,
    out_slope,
    slope,
    steps,
    scale,
    HEADS: tl.constexpr,
    SIZE: tl.constexpr,
    BLOCK: tl.constexpr,
    PRECISION: tl.constexpr,
):
    row, head = (tl.program_id(0) // HEADS).to(tl.int64), tl.program_id(0) % HEADS
    time, unit = tl.arange(0, BLOCK)[:, None], tl.arange(0, SIZE)[None, :]
    inside = time < steps
    offset = row * steps * 3 * HEADS * SIZE + time * 3 * HEADS * SIZE + head * SIZE + unit
    query = tl.load(parts + offset, inside, 0.0)
    key = tl.load(parts + offset + HEADS * SIZE, inside, 0.0)
    value = tl.load(parts + offset + 2 * HEADS * SIZE, inside, 0.0)
    above = tl.load(out_slope + row * steps * HEADS * SIZE + time * HEADS * SIZE + head * SIZE + unit, inside, 0.0)
    law = _law(query, key, steps, scale, BLOCK, PRECISION)
    kind = query.dtype
    value_slope = tl.dot(tl.trans(law.to(kind)), above, input_precision=PRECISION)
    law_slope = tl.dot(above, tl.trans(value), input_precision=PRECISION)
    score_slope = (law * (law_slope - tl.sum(law * law_slope, 1)[:, None]) * scale).to(kind)
    tl.store(slope + offset, tl.dot(score_slope, key, input_precision=PRECISION).to(kind), inside)
    tl.store(
        slope + offset + HEADS * SIZE, tl.dot(tl.trans(score_slope), query, input_precision=PRECISION).to(kind), inside
    )
    tl.store(slope + offset + 2 * HEADS * SIZE, value_slope.to(kind), inside)
