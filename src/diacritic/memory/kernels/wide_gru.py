"""A GRU of many numbers from zero through all steps: at each step one product of all runs and one kernel.

Its weight is too large to stay on the chip. Products are PyTorch's, rounded as it is told to. Backward, gates are
computed again from the stored products, and what flows into them is stored, so that gradients of weights are large
products.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from diacritic.memory.kernels.gates import gates_back, sigmoid, tanh
from diacritic.memory.kernels.launch import launch, tiles
from diacritic.memory.tall import outer

WIDTHS = (128, 256)
"""Numbers of the state that are worth it."""


@triton.jit
def _sum(told, product, bias, index, unit, shown, which, SIZE: tl.constexpr):
    """What a gate hears of the input, and of the state with its bias."""
    heard = tl.load(told + index + which * SIZE, mask=shown, other=0.0)
    inner = tl.load(product + index + which * SIZE, mask=shown, other=0.0)
    return heard, inner + tl.load(bias + which * SIZE + unit)


@triton.jit
def _gates(told, product, bias, index, unit, shown, SIZE: tl.constexpr):
    """r, z, n and W_n h + b_n."""
    heard, inner = _sum(told, product, bias, index, unit, shown, 0, SIZE)
    reset = sigmoid(heard + inner, False)
    heard, inner = _sum(told, product, bias, index, unit, shown, 1, SIZE)
    update = sigmoid(heard + inner, False)
    heard, inner = _sum(told, product, bias, index, unit, shown, 2, SIZE)
    return reset, update, tanh(heard + reset * inner, False), inner


@triton.jit
def _forward(told, product, bias, before, after, apart, between, numbers, SIZE: tl.constexpr, ROWS: tl.constexpr):
    """The next state; runs lie `apart` numbers from each other in what is told, and `between` in the states."""
    run = tl.program_id(1).to(tl.int64)
    number = tl.program_id(0) * ROWS + tl.arange(0, ROWS)  # of all episodes, end to end
    shown, unit = number < numbers, number % SIZE
    index, bias = run * apart + number // SIZE * 3 * SIZE + unit, bias + run * 3 * SIZE
    _, update, new, _ = _gates(told, product, bias, index, unit, shown, SIZE)
    state = tl.load(before + run * between + number, mask=shown, other=0.0)
    tl.store(after + run * between + number, new + update * (state - new), mask=shown)


@triton.jit
def _backward(
    flows,
    past,
    told,
    product,
    bias,
    before,
    into_told,
    into_state,
    apart,
    between,
    beside,
    numbers,
    SIZE: tl.constexpr,
    ROWS: tl.constexpr,
):
    """What flows into the gates of one step; `past` [S, N, H] holds what later steps send, then what goes past them."""
    run = tl.program_id(1).to(tl.int64)
    number = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    shown, unit = number < numbers, number % SIZE
    index, bias = run * apart + number // SIZE * 3 * SIZE + unit, bias + run * 3 * SIZE
    reset, update, new, inner = _gates(told, product, bias, index, unit, shown, SIZE)
    state = tl.load(before + run * between + number, mask=shown, other=0.0)
    flow = tl.load(flows + run * beside + number, mask=shown, other=0.0)
    flow += tl.load(past + run * numbers + number, mask=shown, other=0.0)
    into_reset, into_update, into_new, flow = gates_back(flow, state, reset, update, new, inner)
    tl.store(past + run * numbers + number, flow, mask=shown)
    tl.store(into_told + index, into_reset, mask=shown)
    tl.store(into_state + index, into_reset, mask=shown)
    tl.store(into_told + index + SIZE, into_update, mask=shown)
    tl.store(into_state + index + SIZE, into_update, mask=shown)
    tl.store(into_told + index + 2 * SIZE, into_new, mask=shown)
    tl.store(into_state + index + 2 * SIZE, into_new * reset, mask=shown)


class WideGru(torch.autograd.Function):
    """States [S, T, N, H] of a GRU from zero on, from what it is told, [S, T, N, 3H], and its weight and bias."""

    @staticmethod
    def forward(ctx, told: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        told, weight, bias = (value.detach().contiguous() for value in (told, weight, bias))
        (S, T, N, _), H = told.shape, weight.shape[1]
        products, states = torch.empty_like(told), told.new_empty(S, T + 1, N, H)
        states[:, 0] = 0
        grid = tiles("wide GRU", N * H), S
        for t in range(T):
            torch.bmm(states[:, t], weight, out=products[:, t])
            given = told[:, t], products[:, t], bias, states[:, t], states[:, t + 1]
            launch("wide GRU", _forward, grid, *given, told.stride(0), states.stride(0), N * H, SIZE=H)
        ctx.save_for_backward(told, weight, bias, products, states)
        return states[:, 1:]

    @staticmethod
    def backward(ctx, *flows: Tensor) -> tuple[Tensor, ...]:
        told, weight, bias, products, states = ctx.saved_tensors
        (S, T, N, _), H, flow = told.shape, weight.shape[1], flows[0].contiguous()
        into_told, into_state, past = torch.empty_like(told), torch.empty_like(told), told.new_zeros(S, N, H)
        grid, strides = (tiles("wide GRU back", N * H), S), (told.stride(0), states.stride(0), flow.stride(0))
        for t in reversed(range(T)):
            given = flow[:, t], past, told[:, t], products[:, t], bias, states[:, t], into_told[:, t], into_state[:, t]
            launch("wide GRU back", _backward, grid, *given, *strides, N * H, SIZE=H)
            past.baddbmm_(into_state[:, t], weight.mT)
        rows = into_state.flatten(1, 2)
        return into_told, outer(states[:, :-1].flatten(1, 2), rows), rows.sum(1)
