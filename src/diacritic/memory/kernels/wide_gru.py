"""A GRU of many numbers from zero through all steps: its weight is too large to stay on the chip between steps.

Of few episodes, one kernel a step computes products and gates, each program those of a few units; cuBLAS has few
programs there. Of many episodes, products are PyTorch's, rounded as it is told to, and a kernel computes the gates.
Backward, gates are computed again from the stored products, and what flows into them is stored, so that gradients of
weights are large products.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from diacritic.memory.kernels.gates import gates_back, sigmoid, tanh
from diacritic.memory.kernels.launch import SIZES, launch, tiles
from diacritic.memory.tall import outer

WIDTHS = (128, 256)
"""Numbers of the state that the kernels take."""
FEW = 64
"""Episodes up to which the kernels compute the products."""
UNITS = 16
"""Of the state, in one program."""


@triton.jit
def _matrix(values, row, rows, width, column):
    """Some rows and columns of a matrix; rows beyond its end are zero."""
    return tl.load(values + row[:, None] * width + column[None, :], mask=(row < rows)[:, None], other=0.0)


@triton.jit
def _forward(
    told,
    product,
    weight,
    bias,
    before,
    after,
    apart,
    between,
    episodes,
    SIZE: tl.constexpr,
    UNITS: tl.constexpr,
    MULTIPLY: tl.constexpr,
    CHUNK: tl.constexpr,
    ROWS: tl.constexpr,
):
    """The next state; runs lie `apart` numbers from each other in what is told, and `between` in the states."""
    run = tl.program_id(2).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    unit = tl.program_id(1) * UNITS + tl.arange(0, UNITS)
    inside, index = (row < episodes)[:, None], row[:, None] * 3 * SIZE + unit[None, :]
    told, product, bias = told + run * apart, product + run * apart, bias + run * 3 * SIZE + unit
    before, after = before + run * between, after + run * between
    if MULTIPLY:
        weight += run * 3 * SIZE * SIZE
        of_reset = tl.zeros((ROWS, UNITS), tl.float32)
        of_update, of_new = of_reset, of_reset
        for begin in range(0, SIZE, CHUNK):
            number = begin + tl.arange(0, CHUNK)
            state = _matrix(before, row, episodes, SIZE, number)
            column = _matrix(weight, number, SIZE, 3 * SIZE, unit)
            of_reset = tl.dot(state, column, of_reset, input_precision="tf32x3")
            column = _matrix(weight, number, SIZE, 3 * SIZE, SIZE + unit)
            of_update = tl.dot(state, column, of_update, input_precision="tf32x3")
            column = _matrix(weight, number, SIZE, 3 * SIZE, 2 * SIZE + unit)
            of_new = tl.dot(state, column, of_new, input_precision="tf32x3")
        tl.store(product + index, of_reset, mask=inside)
        tl.store(product + index + SIZE, of_update, mask=inside)
        tl.store(product + index + 2 * SIZE, of_new, mask=inside)
    else:
        of_reset = tl.load(product + index, mask=inside, other=0.0)
        of_update = tl.load(product + index + SIZE, mask=inside, other=0.0)
        of_new = tl.load(product + index + 2 * SIZE, mask=inside, other=0.0)
    gated = _gates(told + index, of_reset, of_update, of_new, bias, inside, SIZE)
    _, update, new, _ = gated  # pyright: ignore[reportGeneralTypeIssues]
    state = _matrix(before, row, episodes, SIZE, unit)
    tl.store(after + row[:, None] * SIZE + unit[None, :], new + update * (state - new), mask=inside)


@triton.jit
def _gates(told, of_reset, of_update, of_new, bias, inside, SIZE: tl.constexpr):
    """r, z, n and W_n h + b_n, from what is told and the products of the state."""
    heard = tl.load(told, mask=inside, other=0.0)
    reset = sigmoid(heard + of_reset + tl.load(bias)[None, :], False)
    heard = tl.load(told + SIZE, mask=inside, other=0.0)
    update = sigmoid(heard + of_update + tl.load(bias + SIZE)[None, :], False)
    heard, inner = tl.load(told + 2 * SIZE, mask=inside, other=0.0), of_new + tl.load(bias + 2 * SIZE)[None, :]
    return reset, update, tanh(heard + reset * inner, False), inner


@triton.jit
def _backward(
    flows,
    past,
    told,
    product,
    weight,
    bias,
    before,
    into_told,
    into_state,
    apart,
    between,
    beside,
    episodes,
    length,
    SIZE: tl.constexpr,
    UNITS: tl.constexpr,
    MULTIPLY: tl.constexpr,
    CHUNK: tl.constexpr,
    ROWS: tl.constexpr,
):
    """What flows into the gates of one step; `past` [S, N, H] holds what goes past those of the next step.

    `length` is how many gates of the next step send something back through the weight: none after the last step.
    """
    run = tl.program_id(2).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    unit = tl.program_id(1) * UNITS + tl.arange(0, UNITS)
    inside, index = (row < episodes)[:, None], row[:, None] * 3 * SIZE + unit[None, :]
    told, product, bias = told + run * apart, product + run * apart, bias + run * 3 * SIZE + unit
    into_told, into_state, past = into_told + run * apart, into_state + run * apart, past + run * episodes * SIZE
    flow = _matrix(flows + run * beside, row, episodes, SIZE, unit) + _matrix(past, row, episodes, SIZE, unit)
    if MULTIPLY:
        later, weight = into_state + episodes * 3 * SIZE, weight + run * 3 * SIZE * SIZE
        for begin in range(0, length, CHUNK):
            gate = begin + tl.arange(0, CHUNK)
            back = tl.load(weight + unit[None, :] * 3 * SIZE + gate[:, None])
            flow = tl.dot(_matrix(later, row, episodes, 3 * SIZE, gate), back, flow, input_precision="tf32x3")
    of_reset = tl.load(product + index, mask=inside, other=0.0)
    of_update = tl.load(product + index + SIZE, mask=inside, other=0.0)
    of_new = tl.load(product + index + 2 * SIZE, mask=inside, other=0.0)
    reset, update, new, inner = _gates(told + index, of_reset, of_update, of_new, bias, inside, SIZE)
    state = _matrix(before + run * between, row, episodes, SIZE, unit)
    into_reset, into_update, into_new, flow = gates_back(flow, state, reset, update, new, inner)
    tl.store(past + row[:, None] * SIZE + unit[None, :], flow, mask=inside)
    tl.store(into_told + index, into_reset, mask=inside)
    tl.store(into_told + index + SIZE, into_update, mask=inside)
    tl.store(into_told + index + 2 * SIZE, into_new, mask=inside)
    tl.store(into_state + index, into_reset, mask=inside)
    tl.store(into_state + index + SIZE, into_update, mask=inside)
    tl.store(into_state + index + 2 * SIZE, into_new * reset, mask=inside)


class WideGru(torch.autograd.Function):
    """States [S, T, N, H] of a GRU from zero on, from what it is told, [S, T, N, 3H], and its weight and bias."""

    @staticmethod
    def forward(ctx, told: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        told, weight, bias = (value.detach().contiguous() for value in (told, weight, bias))
        (S, T, N, _), H = told.shape, weight.shape[1]
        products, states = torch.empty_like(told), told.new_empty(S, T + 1, N, H)
        states[:, 0] = 0
        grid, strides = (tiles("wide GRU", N), H // UNITS, S), (told.stride(0), states.stride(0))
        constants = _constants("wide GRU", H, N)
        for t in range(T):
            if N > FEW:
                torch.bmm(states[:, t], weight, out=products[:, t])
            given = told[:, t], products[:, t], weight, bias, states[:, t], states[:, t + 1]
            launch("wide GRU", _forward, grid, *given, *strides, N, **constants)
        ctx.save_for_backward(told, weight, bias, products, states)
        return states[:, 1:]

    @staticmethod
    def backward(ctx, *flows: Tensor) -> tuple[Tensor, ...]:
        told, weight, bias, products, states = ctx.saved_tensors
        (S, T, N, _), H, flow = told.shape, weight.shape[1], flows[0].contiguous()
        into_told, into_state, past = torch.empty_like(told), torch.empty_like(told), told.new_zeros(S, N, H)
        strides, constants = (told.stride(0), states.stride(0), flow.stride(0)), _constants("wide GRU back", H, N)
        grid = tiles("wide GRU back", N), H // UNITS, S
        for t in reversed(range(T)):
            given = flow[:, t], past, told[:, t], products[:, t], weight, bias, states[:, t]
            into, length = (into_told[:, t], into_state[:, t]), 3 * H if t < T - 1 else 0
            launch("wide GRU back", _backward, grid, *given, *into, *strides, N, length, **constants)
            if N > FEW:
                past.baddbmm_(into_state[:, t], weight.mT)
        rows = into_state.flatten(1, 2)
        return into_told, outer(states[:, :-1].flatten(1, 2), rows), rows.sum(1)


def _constants(name: str, size: int, episodes: int) -> dict[str, int]:
    return {"SIZE": size, "UNITS": UNITS, "MULTIPLY": episodes <= FEW, "CHUNK": SIZES[name].chunk}
