"""What flows from the gates of all chains into what steps are told, and into the weight of the state.

A program takes one gate and a share of the run's steps and tiles of episodes; at each it sums over all starts before.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from diacritic.memory.kernels.blocks import block
from diacritic.memory.kernels.gates import put_third
from diacritic.memory.kernels.launch import SIZES, launch, tiles
from diacritic.training.kernels.chains import pair_of, state_of


@triton.jit
def _sum(
    states,
    into,
    count,
    into_told,
    sums,
    sum_bias,
    episodes,
    steps,
    WIDTH: tl.constexpr,
    NEW: tl.constexpr,
    ROWS: tl.constexpr,
):
    """For r and z, whose gradient is the same on both sides; or, NEW, for n, whose is not."""
    run, gate = tl.program_id(1).to(tl.int64), 2 if NEW else tl.program_id(2)
    LOW: tl.constexpr = states.dtype.element_ty
    shown, tiles = tl.load(count + run), tl.cdiv(episodes, ROWS)
    wide, few = tl.arange(0, WIDTH), tl.arange(0, 16)
    apart = pair_of(steps - 1, steps, steps).to(tl.int64) * episodes * WIDTH
    states += run * state_of(steps - 1, steps - 1, steps) * episodes * WIDTH
    into += (run * 4 + gate) * apart
    ones = tl.full((16, ROWS), 1.0, tl.float32).to(LOW)
    total, total_bias = tl.zeros((WIDTH, WIDTH), tl.float32), tl.zeros((16, WIDTH), tl.float32)
    for item in range(tl.program_id(0), tiles * steps, tl.num_programs(0)):
        step, tile = steps - 1 - item // tiles, item % tiles
        row = tile * ROWS + tl.arange(0, ROWS)
        told = tl.zeros((ROWS, WIDTH), tl.float32)
        for start in range(tl.where(tile * ROWS < shown, step, 0)):
            before = state_of(start, step - 1, steps).to(tl.int64) * episodes * WIDTH
            here = pair_of(start, step, steps).to(tl.int64) * episodes * WIDTH
            state = block(states + before, row, shown, WIDTH)
            flow = block(into + here, row, shown, WIDTH)
            told += flow.to(tl.float32)
            if NEW:
                flow = block(into + apart + here, row, shown, WIDTH)
                total_bias = tl.dot(ones, flow, total_bias, input_precision="ieee")
            total = tl.dot(tl.trans(state), flow, total, input_precision="ieee")
        put_third(into_told + (run * steps + step) * episodes * 3 * WIDTH, told, row, episodes, gate, WIDTH)
    which = (tl.program_id(0) * tl.num_programs(1) + run) * tl.num_programs(2) + tl.program_id(2)
    tl.store(sums + which * WIDTH * WIDTH + (wide[:, None] * WIDTH + wide[None, :]), total)
    if NEW:
        tl.store(sum_bias + which * 16 * WIDTH + (few[:, None] * WIDTH + wide[None, :]), total_bias)


def sum_starts(states: Tensor, into: Tensor, count: Tensor, episodes: int, steps: int) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of what steps are told [S, T·N, 3H], of the state's weight [S, H, 3H] and of the bias of n [S, H].

    `states` are those of `chains.follow`, and `into` [S, 4, pairs · N, H] is what `chains.follow_back` gives.
    """
    S, _, H = states.shape
    into_told = count.new_empty(S, steps * episodes, 3 * H, dtype=torch.float32)
    items, weights, bias = tiles("chain sums", episodes) * steps, [], into_told
    for new, many in ((False, 2), (True, 1)):
        programs = max(1, min(items, SIZES["chain sums"].programs // (S * many)))
        sums, bias = into_told.new_empty(programs, S, many, H, H), into_told.new_empty(programs, S, 16, H)
        given = states, into, count, into_told, sums, bias, episodes, steps
        launch("chain sums", _sum, (programs, S, many), *given, WIDTH=H, NEW=new)
        weights.append(sums.sum(0))
    return into_told, torch.cat(weights, 1).transpose(1, 2).flatten(2), bias.sum(0)[:, 0]
