"""Bistable units through all steps, one kernel forward and one back: a unit reads no other, so that each goes alone.

Backward, gates are computed again from the stored states. Gradients of the two weights of a unit are summed over the
steps of an episode here, and over episodes afterwards.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from diacritic.memory.kernels.gates import sigmoid, tanh
from diacritic.memory.kernels.launch import launch, tiles


@triton.jit
def _gates(entering, column, shown, state, feedback, hold, SIZE: tl.constexpr):
    """1 + tanh(·), σ(·), and the new value of some units."""
    gain = 1 + tanh(tl.load(entering + column, mask=shown, other=0.0) + feedback * state, False)
    keep = sigmoid(tl.load(entering + column + SIZE, mask=shown, other=0.0) + hold * state, False)
    new = tanh(tl.load(entering + column + 2 * SIZE, mask=shown, other=0.0) + gain * state, False)
    return gain, keep, new


@triton.jit
def _forward(entering, feedback, hold, states, units, STEPS, SIZE: tl.constexpr, ROWS: tl.constexpr):
    run = tl.program_id(1).to(tl.int64)
    unit = tl.program_id(0) * ROWS + tl.arange(0, ROWS)  # of all episodes, end to end
    shown, column = unit < units, unit // SIZE * 3 * SIZE + unit % SIZE
    of_gain = tl.load(feedback + run * SIZE + unit % SIZE)
    of_keep = tl.load(hold + run * SIZE + unit % SIZE)
    state = tl.zeros((ROWS,), tl.float32)
    begin = run * STEPS * units
    for _ in range(STEPS):
        _, keep, new = _gates(entering + 3 * begin, column, shown, state, of_gain, of_keep, SIZE)
        state = keep * state + (1 - keep) * new
        tl.store(states + begin + unit, state, mask=shown)
        begin += units


@triton.jit
def _backward(
    flows,
    entering,
    feedback,
    hold,
    states,
    into,
    into_feedback,
    into_hold,
    units,
    STEPS,
    SIZE: tl.constexpr,
    ROWS: tl.constexpr,
):
    run = tl.program_id(1).to(tl.int64)
    unit = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    shown, column = unit < units, unit // SIZE * 3 * SIZE + unit % SIZE
    of_gain = tl.load(feedback + run * SIZE + unit % SIZE)
    of_keep = tl.load(hold + run * SIZE + unit % SIZE)
    flow = tl.zeros((ROWS,), tl.float32)
    total_gain, total_keep = flow, flow
    for back in range(STEPS):
        step = STEPS - 1 - back
        begin = (run * STEPS + step) * units
        flow += tl.load(flows + begin + unit, mask=shown, other=0.0)
        state = tl.load(states + begin - units + unit, mask=shown & (step > 0), other=0.0)
        gain, keep, new = _gates(entering + 3 * begin, column, shown, state, of_gain, of_keep, SIZE)
        into_new = flow * (1 - keep) * (1 - new * new)
        into_keep = flow * (state - new) * keep * (1 - keep)
        into_gain = into_new * state * (1 - (gain - 1) * (gain - 1))
        tl.store(into + 3 * begin + column, into_gain, mask=shown)
        tl.store(into + 3 * begin + column + SIZE, into_keep, mask=shown)
        tl.store(into + 3 * begin + column + 2 * SIZE, into_new, mask=shown)
        total_gain += into_gain * state
        total_keep += into_keep * state
        flow = flow * keep + into_new * gain + into_gain * of_gain + into_keep * of_keep
    tl.store(into_feedback + run * units + unit, total_gain, mask=shown)
    tl.store(into_hold + run * units + unit, total_keep, mask=shown)


class Bistable(torch.autograd.Function):
    """States [S, T, N, H] from zero on, from what enters the gates, [S, T, N, 3H], and a unit's weights, [S, H]."""

    @staticmethod
    def forward(ctx, entering: Tensor, gain: Tensor, keep: Tensor) -> Tensor:
        given = [value.detach().contiguous() for value in (entering, gain, keep)]
        (S, T, N, _), H = entering.shape, gain.shape[1]
        states = entering.new_empty(S, T, N, H)
        launch("bistable", _forward, (tiles("bistable", N * H), S), *given, states, N * H, T, SIZE=H)
        ctx.save_for_backward(*given, states)
        return states

    @staticmethod
    def backward(ctx, *flows: Tensor) -> tuple[Tensor, ...]:
        *given, states = ctx.saved_tensors
        S, T, N, H = states.shape
        into, sums = torch.empty_like(given[0]), [states.new_empty(S, N, H) for _ in range(2)]
        arguments = flows[0].contiguous(), *given, states, into, *sums, N * H, T
        launch("bistable back", _backward, (tiles("bistable back", N * H), S), *arguments, SIZE=H)
        return into, *(one.sum(1) for one in sums)
