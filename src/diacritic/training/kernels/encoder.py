"""g_o, g_a and the observation part of every head in one kernel, with a backward pass that recomputes narrow layers.

Activations have a low precision; every sum is in fp32, those of the weights' gradients in a fixed order.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from diacritic.training.kernels.launch import launch, shares, tiles


@triton.jit
def square(weight, WIDTH: tl.constexpr):
    """A square matrix."""
    return tall(weight, WIDTH, WIDTH)


@triton.jit
def tall(weight, HEIGHT: tl.constexpr, WIDTH: tl.constexpr):
    """A whole matrix."""
    return tl.load(weight + (tl.arange(0, HEIGHT)[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]))


@triton.jit
def turned(weight, WIDTH: tl.constexpr):
    """Its transpose."""
    side = tl.arange(0, WIDTH)
    return tl.load(weight + (side[None, :] * WIDTH + side[:, None]))


@triton.jit
def block(values, row, rows, WIDTH: tl.constexpr):
    """Some rows of a matrix; rows beyond its end are zero."""
    column = tl.arange(0, WIDTH)
    return tl.load(values + (row[:, None] * WIDTH + column[None, :]), mask=(row < rows)[:, None], other=0.0)


@triton.jit
def put(values, content, row, rows, WIDTH: tl.constexpr):
    """Write some rows of a matrix."""
    column = tl.arange(0, WIDTH)
    place = values + (row[:, None] * WIDTH + column[None, :])
    tl.store(place, content.to(values.dtype.element_ty), mask=(row < rows)[:, None])


@triton.jit
def narrow(inputs, weight, row, rows, INPUTS: tl.constexpr):
    """Some rows of narrow inputs, and relu of their product with a weight."""
    shown = block(inputs, row, rows, INPUTS)
    hidden = tl.dot(shown, weight, input_precision="ieee")
    return shown, tl.maximum(hidden, 0.0).to(shown.dtype)


@triton.jit
def _encode(
    observation,
    previous,
    first,
    acting,
    wide,
    bias,
    features,
    parts,
    rows,
    OBSERVED: tl.constexpr,
    ACTED: tl.constexpr,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
):
    run = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, WIDTH)
    wide += run * (2 + len(parts)) * WIDTH * WIDTH
    bias += run * (1 + len(parts)) * WIDTH + column
    weight = tall(first + run * OBSERVED * WIDTH, OBSERVED, WIDTH)
    hidden = narrow(observation, weight, row, rows, OBSERVED)[1]
    total = tl.dot(hidden, square(wide, WIDTH), input_precision="ieee") + tl.load(bias)[None, :]
    feature = tl.maximum(total, 0.0).to(hidden.dtype)
    put(features + run * rows * WIDTH, feature, row, rows, WIDTH)
    for k in tl.static_range(len(parts)):  # pyright: ignore[reportGeneralTypeIssues]
        total = tl.dot(feature, square(wide + (2 + k) * WIDTH * WIDTH, WIDTH), input_precision="ieee")
        if k == 0:  # the residual also reads the previous action
            hidden = narrow(previous, tall(acting + run * ACTED * WIDTH, ACTED, WIDTH), row, rows, ACTED)[1]
            total = tl.dot(hidden, square(wide + WIDTH * WIDTH, WIDTH), total, input_precision="ieee")
        total += tl.load(bias + (1 + k) * WIDTH)[None, :]
        put(parts[k] + run * rows * WIDTH, total, row, rows, WIDTH)


@triton.jit
def _gather(
    wide,
    features,
    given,
    flows,
    into,
    rows,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    GIVEN: tl.constexpr,
):
    """What flows into g_o's second layer from everything that reads it."""
    run = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    wide += run * (2 + len(flows)) * WIDTH * WIDTH
    flow = tl.zeros((ROWS, WIDTH), tl.float32)
    if GIVEN:
        flow += block(given + run * rows * WIDTH, row, rows, WIDTH)
    for k in tl.static_range(len(flows)):  # pyright: ignore[reportGeneralTypeIssues]
        back = block(flows[k] + run * rows * WIDTH, row, rows, WIDTH)
        flow = tl.dot(back, turned(wide + (2 + k) * WIDTH * WIDTH, WIDTH), flow, input_precision="ieee")
    shown = block(features + run * rows * WIDTH, row, rows, WIDTH)
    put(into + run * rows * WIDTH, tl.where(shown > 0, flow, 0.0), row, rows, WIDTH)


@triton.jit
def _second(
    inputs,
    first,
    flow,
    into,
    into_bias,
    rows,
    INPUTS: tl.constexpr,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    TURNS: tl.constexpr,
):
    """Gradients of the second weight and bias of relu(inputs·first)·second + bias, over a share of the rows."""
    run = tl.program_id(1).to(tl.int64)
    column = tl.arange(0, WIDTH)
    # Weights are loaded once and stay on the chip while the program goes through its rows.
    inward = tall(first + run * INPUTS * WIDTH, INPUTS, WIDTH)
    total = tl.zeros((WIDTH, WIDTH), tl.float32)
    bias = tl.zeros((WIDTH,), tl.float32)
    for turn in range(TURNS):
        row = (turn * tl.num_programs(0) + tl.program_id(0)) * ROWS + tl.arange(0, ROWS)
        back = block(flow + run * rows * WIDTH, row, rows, WIDTH)
        hidden = narrow(inputs, inward, row, rows, INPUTS)[1]
        bias += tl.sum(back.to(tl.float32), 0)
        total = tl.dot(tl.trans(hidden), back, total, input_precision="ieee")
    share = tl.program_id(0) * tl.num_programs(1) + run
    tl.store(into + share * WIDTH * WIDTH + column[:, None] * WIDTH + column[None, :], total)
    tl.store(into_bias + share * WIDTH + column, bias)


@triton.jit
def _first(
    inputs,
    first,
    second,
    flow,
    into,
    rows,
    stacked,
    INPUTS: tl.constexpr,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    TURNS: tl.constexpr,
):
    """The gradient of the first weight of relu(inputs·first)·second, over a share of the rows."""
    run = tl.program_id(1).to(tl.int64)
    inward = tall(first + run * INPUTS * WIDTH, INPUTS, WIDTH)
    outward = turned(second + run * stacked, WIDTH)
    total = tl.zeros((INPUTS, WIDTH), tl.float32)
    for turn in range(TURNS):
        row = (turn * tl.num_programs(0) + tl.program_id(0)) * ROWS + tl.arange(0, ROWS)
        shown, hidden = narrow(inputs, inward, row, rows, INPUTS)
        back = tl.dot(block(flow + run * rows * WIDTH, row, rows, WIDTH), outward, input_precision="ieee")
        back = tl.where(hidden > 0, back, 0.0).to(hidden.dtype)
        total = tl.dot(tl.trans(shown), back, total, input_precision="ieee")
    share = tl.program_id(0) * tl.num_programs(1) + run
    place = tl.arange(0, INPUTS)[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]
    tl.store(into + share * INPUTS * WIDTH + place, total)


@triton.jit
def _outer(left, right, into, into_bias, rows, WIDTH: tl.constexpr, ROWS: tl.constexpr, TURNS: tl.constexpr):
    """leftᵀ·right and the column sums of right, over a share of the rows."""
    run = tl.program_id(1).to(tl.int64)
    column = tl.arange(0, WIDTH)
    total = tl.zeros((WIDTH, WIDTH), tl.float32)
    bias = tl.zeros((WIDTH,), tl.float32)
    for turn in range(TURNS):
        row = (turn * tl.num_programs(0) + tl.program_id(0)) * ROWS + tl.arange(0, ROWS)
        flow = block(right + run * rows * WIDTH, row, rows, WIDTH)
        total = tl.dot(
            tl.trans(block(left + run * rows * WIDTH, row, rows, WIDTH)), flow, total, input_precision="ieee"
        )
        bias += tl.sum(flow.to(tl.float32), 0)
    share = tl.program_id(0) * tl.num_programs(1) + run
    tl.store(into + share * WIDTH * WIDTH + column[:, None] * WIDTH + column[None, :], total)
    tl.store(into_bias + share * WIDTH + column, bias)


class Encode(torch.autograd.Function):
    """(features, *parts) of low precision from inputs [R, ·] that end in a column of ones.

    `first` and `acting` [S, ·, H] have the bias as the row of that column. `wide` [S, 2 + n, H, H] holds the second
    layer of g_o, the residual's reading of g_a, and every head's of g_o, the residual first; `bias` [S, 1 + n, H]
    those of all but g_a's reading. Gradients are in fp32.
    """

    @staticmethod
    def forward(
        ctx, observation: Tensor, previous: Tensor, first: Tensor, acting: Tensor, wide: Tensor, bias: Tensor
    ) -> tuple[Tensor, ...]:
        low = observation.dtype
        weights = [first.to(low), acting.to(low), wide.to(low).contiguous()]
        S, stacked, _, H = wide.shape
        R = len(observation)
        features, *parts = (torch.empty(S, R, H, dtype=low, device=wide.device) for _ in range(stacked - 1))
        arguments = observation, previous, *weights, bias.contiguous(), features, tuple(parts), R
        sizes = {"OBSERVED": observation.shape[1], "ACTED": previous.shape[1], "WIDTH": H}
        launch("encode", _encode, (tiles("encode", R), S), *arguments, **sizes)
        ctx.save_for_backward(observation, previous, *weights, features)
        ctx.set_materialize_grads(False)
        return features, *parts

    @staticmethod
    def backward(ctx, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        observation, previous, first, acting, wide, features = ctx.saved_tensors
        given, *found = gradients
        given = None if given is None else given.contiguous()
        flows = [torch.zeros_like(features) if flow is None else flow.contiguous() for flow in found]
        S, R, H = features.shape
        into = torch.empty_like(features)
        arguments = wide, features, features if given is None else given, tuple(flows), into, R
        launch("gather", _gather, (tiles("gather", R), S), *arguments, WIDTH=H, GIVEN=given is not None)
        of_first, second, bias = _branch(observation, first, wide, 0, into)
        of_acting, action, _ = _branch(previous, acting, wide, 1, flows[0])
        readings, biases = zip(*(outer(features, flow) for flow in flows), strict=True)
        of_wide = torch.stack([second, action, *readings], 1)
        return None, None, of_first, of_acting, of_wide, torch.stack([bias, *biases], 1)


def _branch(inputs: Tensor, first: Tensor, wide: Tensor, second: int, flow: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of one branch's two layers and of the second one's bias."""
    S, stacked, _, H = wide.shape
    R, size = inputs.shape
    made = {"dtype": torch.float32, "device": wide.device}
    programs, turns = shares("encoder first", R, S)
    into = torch.empty(programs, S, size, H, **made)
    arguments = inputs, first, wide[:, second], flow, into, R, stacked * H * H
    launch("encoder first", _first, (programs, S), *arguments, INPUTS=size, WIDTH=H, TURNS=turns)
    programs, turns = shares("encoder second", R, S)
    into_second, into_bias = torch.empty(programs, S, H, H, **made), torch.empty(programs, S, H, **made)
    arguments = inputs, first, flow, into_second, into_bias, R
    launch("encoder second", _second, (programs, S), *arguments, INPUTS=size, WIDTH=H, TURNS=turns)
    return into.sum(0), into_second.sum(0), into_bias.sum(0)


def outer(left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    """leftᵀ·right [S, H, H] and the column sums of right [S, H] in fp32, both [S, R, H]."""
    S, R, H = left.shape
    programs, turns = shares("outer", R, S)
    total = torch.empty(programs, S, H, H, device=left.device)
    bias = torch.empty(programs, S, H, device=left.device)
    launch("outer", _outer, (programs, S), left, right, total, bias, R, WIDTH=H, TURNS=turns)
    return total.sum(0), bias.sum(0)
