"""Codes on a lattice through all steps, one kernel forward and one back: C_t = Q(e_{t−1} + f(e_{t−1}, ·)).

A program follows a few episodes of one run. The state has so few numbers that products with it are sums of fp32, not
of tensor cores. Q is a sign, or rounds tanh to levels. The part of f that does not depend on the code is given.
Forward, the hidden layer and the slope of Q are stored; backward, what flows into each layer is stored, so that
gradients of weights are large products. With the carousel nothing flows back through f's reading of the code.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from diacritic.memory.kernels.blocks import block, put
from diacritic.memory.kernels.gates import tanh
from diacritic.memory.kernels.launch import launch, tiles
from diacritic.memory.layers import Parameters
from diacritic.memory.shape import Architecture
from diacritic.memory.tall import outer

WIDTHS = (16, 32, 64, 128, 256)
"""Numbers of f's hidden layer that the kernels take."""


@triton.jit
def _narrow(values, row, rows, NUMBERS: tl.constexpr, PADDED: tl.constexpr):
    """Some rows of few numbers, padded with zeros to a power of two."""
    number = tl.arange(0, PADDED)
    shown = (row < rows)[:, None] & (number < NUMBERS)[None, :]
    return tl.load(values + row[:, None] * NUMBERS + number[None, :], mask=shown, other=0.0)


@triton.jit
def _put_narrow(values, content, row, rows, NUMBERS: tl.constexpr, PADDED: tl.constexpr):
    number = tl.arange(0, PADDED)
    shown = (row < rows)[:, None] & (number < NUMBERS)[None, :]
    tl.store(values + row[:, None] * NUMBERS + number[None, :], content, mask=shown)


@triton.jit
def _layers(entering, leaving, NUMBERS: tl.constexpr, PADDED: tl.constexpr, WIDTH: tl.constexpr):
    """The first and the last layer of f, both as [1, PADDED, WIDTH]."""
    number, hidden = tl.arange(0, PADDED)[:, None], tl.arange(0, WIDTH)[None, :]
    inward = tl.load(entering + number * WIDTH + hidden, mask=number < NUMBERS, other=0.0)
    outward = tl.load(leaving + hidden * NUMBERS + number, mask=number < NUMBERS, other=0.0)
    return inward[None, :, :], outward[None, :, :]


@triton.jit
def _forward(
    driven,
    entering,
    leaving,
    leaving_bias,
    hidden,
    points,
    slopes,
    codes,
    half,
    offset,
    shift,
    episodes,
    STEPS,
    LEVELS: tl.constexpr,
    SIGN: tl.constexpr,
    NUMBERS: tl.constexpr,
    PADDED: tl.constexpr,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
):
    run = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    number = tl.arange(0, PADDED)
    weights = entering + run * NUMBERS * WIDTH, leaving + run * NUMBERS * WIDTH
    layers = _layers(weights[0], weights[1], NUMBERS, PADDED, WIDTH)
    inward, outward = layers  # pyright: ignore[reportGeneralTypeIssues]
    bias = tl.load(leaving_bias + run * NUMBERS + number, mask=number < NUMBERS, other=0.0)[None, :]
    stride = tl.full((PADDED,), 1, tl.int32)
    for k in tl.static_range(NUMBERS - 1):  # pyright: ignore[reportGeneralTypeIssues]
        stride = tl.where(number > k, stride * LEVELS, stride)
    state = tl.zeros((ROWS, PADDED), tl.float32)
    begin = run * STEPS * episodes
    for _ in range(STEPS):
        layer = block(driven + begin * WIDTH, row, episodes, WIDTH) + tl.sum(state[:, :, None] * inward, 1)
        layer = tl.maximum(layer, 0.0)
        put(hidden + begin * WIDTH, layer, row, episodes, WIDTH)
        value = state + (tl.sum(layer[:, None, :] * outward, 2) + bias)
        if SIGN:
            level = tl.where(value > 0, 1.0, 0.0)
            state = 2 * level - 1
        else:
            squashed = tanh(value + shift, False)
            rounded = tl.floor(squashed * half - offset + 0.5)
            _put_narrow(slopes + begin * NUMBERS, 1 - squashed * squashed, row, episodes, NUMBERS, PADDED)
            level, state = rounded + LEVELS // 2, rounded / (LEVELS // 2)
        state = tl.where((number < NUMBERS)[None, :], state, 0.0)
        _put_narrow(points + begin * NUMBERS, state, row, episodes, NUMBERS, PADDED)
        code = tl.sum(tl.where(number < NUMBERS, stride, 0)[None, :] * level.to(tl.int32), 1)
        tl.store(codes + begin + row, code.to(tl.int64), mask=row < episodes)
        begin += episodes


@triton.jit
def _backward(
    flows,
    entering,
    leaving,
    hidden,
    slopes,
    into_driven,
    into_out,
    factor,
    episodes,
    STEPS,
    SIGN: tl.constexpr,
    FULL: tl.constexpr,
    NUMBERS: tl.constexpr,
    PADDED: tl.constexpr,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
):
    run = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    weights = entering + run * NUMBERS * WIDTH, leaving + run * NUMBERS * WIDTH
    layers = _layers(weights[0], weights[1], NUMBERS, PADDED, WIDTH)
    inward, outward = layers  # pyright: ignore[reportGeneralTypeIssues]
    flow = tl.zeros((ROWS, PADDED), tl.float32)
    begin = (run * STEPS + STEPS - 1) * episodes
    for _ in range(STEPS):
        flow += _narrow(flows + begin * NUMBERS, row, episodes, NUMBERS, PADDED)
        if not SIGN:
            flow = flow * factor * _narrow(slopes + begin * NUMBERS, row, episodes, NUMBERS, PADDED)
        _put_narrow(into_out + begin * NUMBERS, flow, row, episodes, NUMBERS, PADDED)
        back = tl.sum(flow[:, :, None] * outward, 1)
        back = tl.where(block(hidden + begin * WIDTH, row, episodes, WIDTH) > 0, back, 0.0)
        put(into_driven + begin * WIDTH, back, row, episodes, WIDTH)
        if FULL:
            flow += tl.sum(back[:, None, :] * inward, 2)
        begin -= episodes


class OnLattice(torch.autograd.Function):
    """Points [S, T·N, n] and codes [S, T·N] from zero on, from what drives f's hidden layer, [S, T·N, H].

    f's layers are `entering` [S, n, H] and `leaving` [S, H, n] with its bias. `squash` holds the half width, offset and
    shift of the tanh that is rounded, or zeros for a sign. `full`: gradients flow through f's reading of the code, too.
    """

    @staticmethod
    def forward(
        ctx,
        driven: Tensor,
        entering: Tensor,
        leaving: Tensor,
        bias: Tensor,
        steps: int,
        levels: int,
        squash: tuple[float, float, float],
        full: bool,
    ) -> tuple[Tensor, Tensor]:
        driven, entering, leaving, bias = (value.detach().contiguous() for value in (driven, entering, leaving, bias))
        (S, R, H), n = driven.shape, entering.shape[1]
        episodes, hidden, points = R // steps, torch.empty_like(driven), driven.new_empty(S, R, n)
        slopes, codes = torch.empty_like(points), torch.empty(S, R, dtype=torch.int64, device=driven.device)
        constants = {"SIGN": squash[0] == 0, "NUMBERS": n, "PADDED": 1 << (n - 1).bit_length(), "WIDTH": H}
        numbers = hidden, points, slopes, codes, *squash, episodes, steps
        grid = tiles("lattice", episodes), S
        launch("lattice", _forward, grid, driven, entering, leaving, bias, *numbers, LEVELS=levels, **constants)
        ctx.save_for_backward(entering, leaving, hidden, slopes, points)
        ctx.steps, ctx.factor, ctx.constants = steps, squash[0] / (levels // 2), {**constants, "FULL": full}
        ctx.mark_non_differentiable(codes)
        return points, codes

    @staticmethod
    def backward(ctx, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        entering, leaving, hidden, slopes, points = ctx.saved_tensors
        (S, R, n), into_driven, into_out = points.shape, torch.empty_like(hidden), torch.empty_like(points)
        episodes = R // ctx.steps
        given = gradients[0].contiguous(), entering, leaving, hidden, slopes, into_driven, into_out, ctx.factor
        grid = tiles("lattice back", episodes), S
        launch("lattice back", _backward, grid, *given, episodes, ctx.steps, **ctx.constants)
        before = torch.cat([points.new_zeros(S, episodes, n), points[:, :-episodes]], 1)
        of_layers = outer(before, into_driven), outer(hidden, into_out), into_out.sum(1)
        return into_driven, *of_layers, None, None, None, None


def follow(
    parameters: Parameters, driven: Tensor, steps: int, levels: int, squash: tuple[float, float, float], full: bool
) -> tuple[Tensor, Tensor]:
    """Points and codes of all rows from the driven part of f's hidden layer."""
    layers = (parameters[f"residual.{name}"] for name in ("code.weight", "out.weight", "out.bias"))
    points, codes = OnLattice.apply(driven, *layers, steps, levels, squash, full)
    return points, codes


def fits(architecture: Architecture) -> bool:
    """Whether the kernels take this residual; others are followed step by step."""
    return architecture.width in WIDTHS and architecture.residual_layers == 1 and architecture.persistent
