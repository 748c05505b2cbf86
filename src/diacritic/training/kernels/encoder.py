"""g_o, g_a and the driven part of f in one kernel, with a backward pass that recomputes narrow layers.

The observation parts of the other heads are never stored: heads compute them from g_o, and send what flows into them.

Activations have a low precision; every sum is in fp32, those of the weights' gradients in a fixed order.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from diacritic.memory.kernels.blocks import block, put, square, tall, turned
from diacritic.memory.kernels.launch import launch, shares, tiles


@triton.jit
def origin(origins, apart, run, row, rows, inputs):
    """Which of the inputs that all runs share a run's rows read; beyond the end, none of them."""
    return tl.load(origins + run * apart + row, mask=row < rows, other=inputs)


@triton.jit
def narrow(values, weight, source, inputs, INPUTS: tl.constexpr):
    """Some rows of narrow inputs, and relu of their product with a weight."""
    shown = block(values, source, inputs, INPUTS)
    hidden = tl.dot(shown, weight, input_precision="ieee")
    return shown, tl.maximum(hidden, 0.0).to(shown.dtype)


@triton.jit
def _encode(
    observation,
    previous,
    origins,
    apart,
    inputs,
    first,
    acting,
    wide,
    bias,
    features,
    driven,
    rows,
    stacked,
    OBSERVED: tl.constexpr,
    ACTED: tl.constexpr,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    TURNS,
):
    run = tl.program_id(1).to(tl.int64)
    wide += run * stacked * WIDTH * WIDTH
    bias += run * (stacked - 1) * WIDTH + tl.arange(0, WIDTH)
    # Weights are loaded once and stay on the chip while the program goes through its rows.
    inward = tall(first + run * OBSERVED * WIDTH, OBSERVED, WIDTH)
    second, second_bias = square(wide, WIDTH), tl.load(bias)[None, :]
    acted = tall(acting + run * ACTED * WIDTH, ACTED, WIDTH)
    of_action, of_feature = square(wide + WIDTH * WIDTH, WIDTH), square(wide + 2 * WIDTH * WIDTH, WIDTH)
    driven_bias = tl.load(bias + WIDTH)[None, :]
    for turn in range(TURNS):
        row = (turn * tl.num_programs(0) + tl.program_id(0)) * ROWS + tl.arange(0, ROWS)
        source = origin(origins, apart, run, row, rows, inputs)
        hidden = narrow(observation, inward, source, inputs, OBSERVED)[1]
        feature = tl.dot(hidden, second, input_precision="ieee") + second_bias
        feature = tl.maximum(feature, 0.0).to(hidden.dtype)
        put(features + run * rows * WIDTH, feature, row, rows, WIDTH)
        hidden = narrow(previous, acted, source, inputs, ACTED)[1]
        total = tl.dot(hidden, of_action, tl.dot(feature, of_feature, input_precision="ieee"), input_precision="ieee")
        put(driven + run * rows * WIDTH, total + driven_bias, row, rows, WIDTH)


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
    values,
    origins,
    apart,
    inputs,
    first,
    flow,
    into,
    rows,
    INPUTS: tl.constexpr,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    TURNS,
):
    """Gradients of the second weight and bias of relu(values·first)·second + bias, over a share of the rows."""
    run = tl.program_id(1).to(tl.int64)
    column = tl.arange(0, WIDTH)
    # Weights are loaded once and stay on the chip while the program goes through its rows.
    inward = tall(first + run * INPUTS * WIDTH, INPUTS, WIDTH)
    total = tl.zeros((WIDTH, WIDTH), tl.float32)
    bias = tl.zeros((WIDTH,), tl.float32)
    for turn in range(TURNS):
        row = (turn * tl.num_programs(0) + tl.program_id(0)) * ROWS + tl.arange(0, ROWS)
        back = block(flow + run * rows * WIDTH, row, rows, WIDTH)
        source = origin(origins, apart, run, row, rows, inputs)
        hidden = narrow(values, inward, source, inputs, INPUTS)[1]
        bias += tl.sum(back.to(tl.float32), 0)
        total = tl.dot(tl.trans(hidden), back, total, input_precision="ieee")
    into += (tl.program_id(0) * tl.num_programs(1) + run) * (WIDTH + 1) * WIDTH
    tl.store(into + column[:, None] * WIDTH + column[None, :], total)
    tl.store(into + WIDTH * WIDTH + column, bias)


@triton.jit
def _first(
    values,
    origins,
    apart,
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
    TURNS,
):
    """The gradient of the first weight of relu(values·first)·second, over a share of the rows."""
    run = tl.program_id(1).to(tl.int64)
    inward = tall(first + run * INPUTS * WIDTH, INPUTS, WIDTH)
    outward = turned(second + run * stacked, WIDTH)
    total = tl.zeros((INPUTS, WIDTH), tl.float32)
    for turn in range(TURNS):
        row = (turn * tl.num_programs(0) + tl.program_id(0)) * ROWS + tl.arange(0, ROWS)
        source = origin(origins, apart, run, row, rows, inputs)
        shown, hidden = narrow(values, inward, source, inputs, INPUTS)
        back = tl.dot(block(flow + run * rows * WIDTH, row, rows, WIDTH), outward, input_precision="ieee")
        back = tl.where(hidden > 0, back, 0.0).to(hidden.dtype)
        total = tl.dot(tl.trans(shown), back, total, input_precision="ieee")
    share = tl.program_id(0) * tl.num_programs(1) + run
    index = tl.arange(0, INPUTS)[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]
    tl.store(into + share * INPUTS * WIDTH + index, total)


@triton.jit
def _outer(left, rights, into, rows, WIDTH: tl.constexpr, ROWS: tl.constexpr, TURNS):
    """leftᵀ·right and the column sums of right, over a share of the rows, for one of the factors on the right."""
    run = tl.program_id(1).to(tl.int64)
    # Neighbours take the same rows of the left factor, which then comes from memory once.
    which, share = tl.program_id(0) % len(rights), tl.program_id(0) // len(rights)
    right = rights[0]
    for k in tl.static_range(1, len(rights)):  # pyright: ignore[reportGeneralTypeIssues]
        if which == k:
            right = rights[k]
    left += run * rows * WIDTH
    right += run * rows * WIDTH
    column = tl.arange(0, WIDTH)
    total = tl.zeros((WIDTH, WIDTH), tl.float32)
    bias = tl.zeros((WIDTH,), tl.float32)
    for turn in range(TURNS):
        row = (turn * (tl.num_programs(0) // len(rights)) + share) * ROWS + tl.arange(0, ROWS)
        flow = block(right, row, rows, WIDTH)
        total = tl.dot(tl.trans(block(left, row, rows, WIDTH)), flow, total, input_precision="ieee")
        bias += tl.sum(flow.to(tl.float32), 0)
    into += ((share * tl.num_programs(1) + run) * len(rights) + which) * (WIDTH + 1) * WIDTH
    tl.store(into + column[:, None] * WIDTH + column[None, :], total)
    tl.store(into + WIDTH * WIDTH + column, bias)


class Encode(torch.autograd.Function):
    """(features, driven, *parts) of low precision from inputs that end in a column of ones, at `origins` [S, R].

    `first` and `acting` [S, ·, H] have the bias as the row of that column. `wide` [S, 2 + n, H, H] holds the second
    layer of g_o, the residual's reading of g_a, and every head's of g_o, the residual first; `bias` [S, 1 + n, H]
    those of all but g_a's reading; `low` is `wide` in the precision of the inputs. Gradients are in fp32.
    `driven` is the residual's part; the parts of the n − 1 heads after it have no content, and receive gradients.
    """

    @staticmethod
    def forward(
        ctx,
        observation: Tensor,
        previous: Tensor,
        origins: Tensor,
        first: Tensor,
        acting: Tensor,
        wide: Tensor,
        bias: Tensor,
        low: Tensor,
    ) -> tuple[Tensor, ...]:
        made = {"dtype": low.dtype, "device": low.device}
        weights = [first.to(low.dtype), acting.to(low.dtype), low]
        S, stacked, _, H = wide.shape
        R = origins.shape[1]
        features, driven = (torch.empty(S, R, H, **made) for _ in range(2))
        programs, turns = shares("encode", R, S)
        shown = observation, previous, *_where(origins, observation)
        arguments = *shown, *weights, bias.contiguous(), features, driven, R, stacked
        sizes = {"OBSERVED": observation.shape[1], "ACTED": previous.shape[1], "WIDTH": H, "TURNS": turns}
        launch("encode", _encode, (programs, S), *arguments, **sizes)
        ctx.save_for_backward(observation, previous, origins, *weights, features)
        ctx.set_materialize_grads(False)
        parts = (torch.empty_strided((S, R, H), (0, 0, 0), **made) for _ in range(stacked - 3))
        return features, driven, *parts

    @staticmethod
    def backward(ctx, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        observation, previous, origins, first, acting, wide, features = ctx.saved_tensors
        given, *rest = gradients
        given = None if given is None else given.contiguous()
        flows = [torch.zeros_like(features) if flow is None else flow.contiguous() for flow in rest]
        S, R, H = features.shape
        into = torch.empty_like(features)
        arguments = wide, features, features if given is None else given, tuple(flows), into, R
        launch("gather", _gather, (tiles("gather", R), S), *arguments, WIDTH=H, GIVEN=given is not None)
        of_first, second = _branch(observation, origins, first, wide, 0, into)
        of_acting, action = _branch(previous, origins, acting, wide, 1, flows[0])
        of_wide = torch.cat([torch.stack([second, action], 1), outer(features, *flows)], 1)
        of_bias = torch.cat([of_wide[:, :1, H], of_wide[:, 2:, H]], 1)
        return None, None, None, of_first, of_acting, of_wide[:, :, :H], of_bias, None


def _where(origins: Tensor, inputs: Tensor) -> tuple[Tensor, int, int]:
    """What a kernel needs in order to find a run's inputs among those that all runs share."""
    return origins, origins.stride(0), len(inputs)


def _branch(
    inputs: Tensor, origins: Tensor, first: Tensor, wide: Tensor, second: int, flow: Tensor
) -> tuple[Tensor, Tensor]:
    """Gradients of one branch's two layers; the second one's ends in the row of its bias."""
    S, stacked, _, H = wide.shape
    R, size = origins.shape[1], inputs.shape[1]
    shown = inputs, *_where(origins, inputs)
    made = {"dtype": torch.float32, "device": wide.device}
    programs, turns = shares("encoder first", R, S)
    into = torch.empty(programs, S, size, H, **made)
    arguments = *shown, first, wide[:, second], flow, into, R, stacked * H * H
    launch("encoder first", _first, (programs, S), *arguments, INPUTS=size, WIDTH=H, TURNS=turns)
    programs, turns = shares("encoder second", R, S)
    into_second = torch.empty(programs, S, H + 1, H, **made)
    arguments = *shown, first, flow, into_second, R
    launch("encoder second", _second, (programs, S), *arguments, INPUTS=size, WIDTH=H, TURNS=turns)
    return into.sum(0), into_second.sum(0)


def outer(left: Tensor, *rights: Tensor) -> Tensor:
    """leftᵀ·right and, as one row more, the column sums of right: [S, n, H + 1, H] in fp32 from [S, R, H] each."""
    (S, R, H), n = left.shape, len(rights)
    programs, turns = shares("outer", R, S * n)
    into = torch.empty(programs, S, n, H + 1, H, device=left.device)
    launch("outer", _outer, (programs * n, S), left, rights, into, R, WIDTH=H, TURNS=turns)
    return into.sum(0)
