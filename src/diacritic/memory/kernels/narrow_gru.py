"""A GRU of few numbers from zero through all steps, one kernel forward and one back.

A program follows a tile of episodes of one run. Backward, gates are computed again from the stored states, and what
flows into them is stored, so that gradients of weights are large products.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from diacritic.memory.kernels.blocks import block, put
from diacritic.memory.kernels.gates import columns, gates, step_back
from diacritic.memory.kernels.launch import launch, tiles
from diacritic.memory.tall import outer

WIDTHS = (16, 32, 64)
"""Numbers of the state that the kernels take."""


@triton.jit
def _forward(
    told, weight, bias, states, episodes, STEPS, WIDTH: tl.constexpr, PRECISION: tl.constexpr, ROWS: tl.constexpr
):
    run = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    weight += run * 3 * WIDTH * WIDTH
    weights = columns(weight, 0, WIDTH), columns(weight, 1, WIDTH), columns(weight, 2, WIDTH)
    added = tl.load(bias + run * WIDTH + tl.arange(0, WIDTH))[None, :]
    state = tl.zeros((ROWS, WIDTH), tl.float32)
    begin = run * STEPS * episodes
    for _ in range(STEPS):
        _, update, new, _ = gates(state, told + begin * 3 * WIDTH, row, episodes, weights, added, PRECISION, False)
        state = new + update * (state - new)
        put(states + begin * WIDTH, state, row, episodes, WIDTH)
        begin += episodes


@triton.jit
def _backward(
    flows,
    told,
    weight,
    bias,
    states,
    into_told,
    into_state,
    episodes,
    STEPS,
    WIDTH: tl.constexpr,
    PRECISION: tl.constexpr,
    ROWS: tl.constexpr,
):
    """What flows into the gates on the side of the input, and on that of the state, where n has the factor r."""
    run = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    weight += run * 3 * WIDTH * WIDTH
    weights = columns(weight, 0, WIDTH), columns(weight, 1, WIDTH), columns(weight, 2, WIDTH)
    added = tl.load(bias + run * WIDTH + tl.arange(0, WIDTH))[None, :]
    flow = tl.zeros((ROWS, WIDTH), tl.float32)
    for back in range(STEPS):
        step = STEPS - 1 - back
        begin = (run * STEPS + step) * episodes
        flow += block(flows + begin * WIDTH, row, episodes, WIDTH)
        state = block(states + (begin - episodes) * WIDTH, row, tl.where(step > 0, episodes, 0), WIDTH)
        here = told + begin * 3 * WIDTH, into_told + begin * 3 * WIDTH, into_state + begin * 3 * WIDTH
        flow = step_back(flow, state, here[0], here[1], here[2], row, episodes, weights, added, PRECISION, False)


class NarrowGru(torch.autograd.Function):
    """States [S, T·N, H] of a GRU that starts from zero, from what it is told [S, T·N, 3H].

    That holds the biases of r and z; `bias` [S, H] is that of n on the side of the state. `weight` is [S, H, 3H].
    """

    @staticmethod
    def forward(ctx, told: Tensor, weight: Tensor, bias: Tensor, steps: int, precision: str) -> Tensor:
        told, weight, bias = (value.detach().contiguous() for value in (told, weight, bias))
        (S, R, _), H = told.shape, weight.shape[1]
        states = told.new_empty(S, R, H)
        ctx.settings, episodes = {"WIDTH": H, "PRECISION": precision}, R // steps
        grid = tiles("narrow GRU", episodes), S
        launch("narrow GRU", _forward, grid, told, weight, bias, states, episodes, steps, **ctx.settings)
        ctx.save_for_backward(told, weight, bias, states)
        ctx.steps = steps
        return states

    @staticmethod
    def backward(ctx, *flows: Tensor) -> tuple[Tensor | None, ...]:
        told, weight, bias, states = ctx.saved_tensors
        (S, R, H), steps = states.shape, ctx.steps
        episodes, into_told, into_state = R // steps, torch.empty_like(told), torch.empty_like(told)
        given = flows[0].contiguous(), told, weight, bias, states, into_told, into_state, episodes, steps
        launch("narrow GRU back", _backward, (tiles("narrow GRU back", episodes), S), *given, **ctx.settings)
        before = torch.cat([states.new_zeros(S, episodes, H), states[:, :-episodes]], 1)
        return into_told, outer(before, into_state), into_state[..., 2 * H :].sum(1), None, None
