"""A head on every state of the chains and its squared error, forward and backward in one pass.

The loss of a run is a weighted sum, so that what flows into the head is known up to one number. A program goes through
its share of the run's tiles, and sums the loss and the gradients of the head's weights.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from diacritic.memory.kernels.blocks import block, put, square
from diacritic.memory.kernels.launch import SIZES, launch, tiles
from diacritic.training.kernels.chains import state_of

OUTPUTS = 16
"""Numbers of an action at most: the rows of a narrow product."""


@triton.jit
def _read(
    states,
    pairs,
    target,
    origins,
    spread,
    weight,
    count,
    first,
    first_bias,
    last,
    last_bias,
    flows,
    sum_square,
    sums,
    episodes,
    steps,
    amount,
    outputs,
    WIDTH: tl.constexpr,
    OUTPUTS: tl.constexpr,
    ROWS: tl.constexpr,
):
    run, programs = tl.program_id(1).to(tl.int64), tl.num_programs(0)
    LOW: tl.constexpr = states.dtype.element_ty
    wide, answer = tl.arange(0, WIDTH), tl.arange(0, OUTPUTS)
    real, shown = answer < outputs, tl.load(count + run)
    onward = square(first + run * WIDTH * WIDTH, WIDTH)
    onward_bias = tl.load(first_bias + run * WIDTH + wide)[None, :]
    out = tl.load(last + run * WIDTH * outputs + (wide[None, :] * outputs + answer[:, None]), real[:, None], other=0.0)
    out_bias = tl.load(last_bias + run * outputs + answer, mask=real, other=0.0)[:, None]
    nothing = tl.zeros((ROWS, WIDTH), tl.float32).to(LOW)
    ones = tl.full((OUTPUTS, ROWS), 1.0, tl.float32).to(LOW)
    sum_onward, sum_onward_bias = tl.zeros((WIDTH, WIDTH), tl.float32), tl.zeros((OUTPUTS, WIDTH), tl.float32)
    sum_out, sum_out_bias = tl.zeros((OUTPUTS, WIDTH), tl.float32), tl.zeros((OUTPUTS, ROWS), tl.float32)
    total = tl.zeros((OUTPUTS, ROWS), tl.float32)
    states += run * state_of(steps - 1, steps - 1, steps) * episodes * WIDTH
    for item in range(tl.program_id(0), tl.cdiv(shown, ROWS) * amount, programs):
        pair, row = item % amount, item // amount * ROWS + tl.arange(0, ROWS)
        start, step = tl.load(pairs + pair), tl.load(pairs + amount + pair)
        state = block(states + state_of(start, step, steps).to(tl.int64) * episodes * WIDTH, row, shown, WIDTH)
        if shown > 0:  # as it is here; the condition hides that products follow one another, as in `chains._through`
            hidden = tl.maximum(tl.dot(state, onward, input_precision="ieee") + onward_bias, 0.0).to(LOW)
        else:
            hidden = nothing
        # Few outputs are rows rather than columns here: tensor cores take products of 16 rows.
        gap = tl.dot(out, tl.trans(hidden), input_precision="ieee") + out_bias
        inside, counted = row < shown, real[:, None] & (row < shown)[None, :]
        source = tl.load(origins + run * spread + step * episodes + row, mask=inside, other=0)
        gap -= tl.load(target + (source[None, :] * outputs + answer[:, None]), mask=counted, other=0.0)
        gap = tl.where(counted, gap, 0.0)
        share = tl.load(weight + (run * (steps - 1) + start) * episodes + row, mask=inside, other=0.0) / outputs
        flow = 2 * share[None, :] * gap
        total += share[None, :] * gap * gap
        sum_out_bias += flow
        flow = flow.to(LOW)
        sum_out = tl.dot(flow, hidden, sum_out, input_precision="ieee")
        if shown > 0:
            back = tl.where(hidden > 0, tl.dot(tl.trans(flow), out, input_precision="ieee"), 0.0).to(LOW)
        else:
            back = nothing
        sum_onward_bias = tl.dot(ones, back, sum_onward_bias, input_precision="ieee")
        sum_onward = tl.dot(tl.trans(state), back, sum_onward, input_precision="ieee")
        into = tl.dot(back, tl.trans(onward), input_precision="ieee")
        put(flows + (run * amount + pair) * episodes * WIDTH, into, row, shown, WIDTH)
    which = tl.program_id(0) * tl.num_programs(1) + run
    tl.store(sum_square + which * WIDTH * WIDTH + (wide[:, None] * WIDTH + wide[None, :]), sum_onward)
    sums += which * (2 * OUTPUTS * WIDTH + 2 * OUTPUTS)
    tall = answer[:, None] * WIDTH + wide[None, :]
    tl.store(sums + tall, sum_out)
    tl.store(sums + OUTPUTS * WIDTH + tall, sum_onward_bias)
    sums += 2 * OUTPUTS * WIDTH
    tl.store(sums + answer, tl.sum(sum_out_bias, 1))
    tl.store(sums + OUTPUTS + answer, tl.sum(total, 1))


def read(
    states: Tensor, target: Tensor, origins: Tensor, weight: Tensor, count: Tensor, layers: tuple[Tensor, ...]
) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
    """The loss of every run, what flows into the states of all pairs, and the gradients of the head's four weights.

    `states` are those of `chains.follow`. `target` is [·, A], and `origins` [S, T·N] says which row of it each step
    is. `weight` [S, T − 1, N] is that of every start's squared error. `layers` are the hidden layer's weight [S, H, H]
    and bias and the output's weight [S, H, A] and bias; the weights are bf16.
    """
    (S, before, N), (_, H, outputs) = weight.shape, layers[2].shape
    steps, amount = before + 1, before * (before + 1) // 2
    programs = max(1, min(tiles("chain head", N) * amount, SIZES["chain head"].programs // S))
    pairs = torch.triu_indices(steps, steps, 1, dtype=torch.int32, device=states.device)
    flows = states.new_empty(S, amount * N, H)
    sum_square = weight.new_empty(programs, S, H, H)
    sums = weight.new_empty(programs, S, 2 * OUTPUTS * H + 2 * OUTPUTS)
    given = states, pairs, target, origins, origins.stride(0), weight, count, *layers
    numbers = flows, sum_square, sums, N, steps, amount, outputs
    launch("chain head", _read, (programs, S), *given, *numbers, WIDTH=H, OUTPUTS=OUTPUTS)
    parts = sums.sum(0).split([OUTPUTS * H, OUTPUTS * H, OUTPUTS, OUTPUTS], 1)
    of_out, of_hidden_bias = parts[0].view(S, OUTPUTS, H)[:, :outputs].mT, parts[1].view(S, OUTPUTS, H)[:, 0]
    return parts[3].sum(1), flows, (sum_square.sum(0), of_hidden_bias, of_out, parts[2][:, :outputs])
