"""GRUs that start at every step of every episode and follow it to its end, forward and back.

A program follows one start t of a tile of episodes of one run; its weights and its state stay on the chip. States of a
start lie one after another, that of t first, and starts lie one after another: [S, states, N, H]. Pairs (t, u) of a
start and a later step lie likewise. Factors of products are bf16, sums are fp32. Only the first `count` episodes of a
run are computed, those that weigh something; the rest of the memory is neither written nor read.
"""

import triton
import triton.language as tl
from torch import Tensor

from diacritic.memory.kernels.blocks import block, put
from diacritic.memory.kernels.gates import HARDWARE, columns, gates, gates_back
from diacritic.memory.kernels.launch import launch, tiles

INTO = 4
"""Gradients that are stored of each pair: into r, z, n, and into W_n h + b_n."""


@triton.jit
def state_of(start, step, steps):
    """The number of a start's state after a step, among the states of all starts."""
    return start * (2 * steps - start + 1) // 2 + step - start


@triton.jit
def pair_of(start, step, steps):
    """The number of a start and a later step among all such pairs: starts have one state more than pairs."""
    return state_of(start, step, steps) - start - 1


@triton.jit
def _follow(
    told,
    first,
    weight,
    bias,
    count,
    states,
    episodes,
    steps,
    WIDTH: tl.constexpr,
    QUICK: tl.constexpr,
    ROWS: tl.constexpr,
):
    run, tiles = tl.program_id(1).to(tl.int64), tl.cdiv(episodes, ROWS)
    start, tile = tl.program_id(0) // tiles, tl.program_id(0) % tiles
    row, shown = tile * ROWS + tl.arange(0, ROWS), tl.load(count + run)
    if tile * ROWS >= shown:
        return
    weight += run * 3 * WIDTH * WIDTH
    weights = columns(weight, 0, WIDTH), columns(weight, 1, WIDTH), columns(weight, 2, WIDTH)
    added = tl.load(bias + run * WIDTH + tl.arange(0, WIDTH))[None, :]
    state = block(first + (run * (steps - 1) + start) * episodes * WIDTH, row, shown, WIDTH)
    here = (run * state_of(steps - 1, steps - 1, steps) + state_of(start, start, steps)) * episodes
    heard = (run * steps + start) * episodes
    low = state.to(states.dtype.element_ty)
    put(states + here * WIDTH, low, row, shown, WIDTH)
    for _ in range(steps - 1 - start):
        heard += episodes
        here += episodes
        _, update, new, _ = gates(low, told + heard * 3 * WIDTH, row, shown, weights, added, "ieee", QUICK)
        state = new + update * (state - new)
        low = state.to(states.dtype.element_ty)
        put(states + here * WIDTH, low, row, shown, WIDTH)


@triton.jit
def _through(flow, into_reset, into_update, into_inner, weights, shown, steps):
    """What flows into the state before, past the gates and through them.

    There are episodes and steps, so that the conditions hold. They only hide from the compiler that one product adds to
    another: it would then let every warp compute all columns, twice, and run out of registers.
    """
    if shown > 0:
        flow = tl.dot(into_reset, tl.trans(weights[0]), flow, input_precision="ieee")
    if steps > 0:
        flow = tl.dot(into_update, tl.trans(weights[1]), flow, input_precision="ieee")
    return tl.dot(into_inner, tl.trans(weights[2]), flow, input_precision="ieee")


@triton.jit
def _follow_back(
    told,
    weight,
    bias,
    count,
    states,
    flows,
    pull,
    into,
    into_first,
    episodes,
    steps,
    WIDTH: tl.constexpr,
    QUICK: tl.constexpr,
    ROWS: tl.constexpr,
):
    """From what flows into each state to what flows into its gates, and into the first state of every start."""
    run, tiles = tl.program_id(1).to(tl.int64), tl.cdiv(episodes, ROWS)
    start, tile = tl.program_id(0) // tiles, tl.program_id(0) % tiles
    row, shown = tile * ROWS + tl.arange(0, ROWS), tl.load(count + run)
    if tile * ROWS >= shown:
        return
    LOW: tl.constexpr = states.dtype.element_ty
    weight += run * 3 * WIDTH * WIDTH
    weights = columns(weight, 0, WIDTH), columns(weight, 1, WIDTH), columns(weight, 2, WIDTH)
    added = tl.load(bias + run * WIDTH + tl.arange(0, WIDTH))[None, :]
    strength = tl.load(pull + run)
    pairs = pair_of(steps - 1, steps, steps)
    apart = pairs.to(tl.int64) * episodes * WIDTH  # from one of the four gradients to the next
    states += run * state_of(steps - 1, steps - 1, steps) * episodes * WIDTH
    flows += run * apart
    into += run * 4 * apart
    told += run * steps * episodes * 3 * WIDTH
    flow = tl.zeros((ROWS, WIDTH), tl.float32)
    into_reset = tl.zeros((ROWS, WIDTH), tl.float32).to(LOW)
    into_update, into_inner = into_reset, into_reset
    for back in range(steps - 1 - start):
        flow = _through(flow, into_reset, into_update, into_inner, weights, shown, steps)
        step = steps - 1 - back
        before = state_of(start, step - 1, steps).to(tl.int64) * episodes * WIDTH
        here = pair_of(start, step, steps).to(tl.int64) * episodes * WIDTH
        low = block(states + before, row, shown, WIDTH)
        heard = told + step.to(tl.int64) * episodes * 3 * WIDTH
        reset, update, new, inner = gates(low, heard, row, shown, weights, added, "ieee", QUICK)
        flow += strength * block(flows + here, row, shown, WIDTH).to(tl.float32)
        into_reset, into_update, into_new, flow = gates_back(flow, low.to(tl.float32), reset, update, new, inner)
        into_reset, into_update, into_inner = into_reset.to(LOW), into_update.to(LOW), (into_new * reset).to(LOW)
        put(into + here, into_reset, row, shown, WIDTH)
        put(into + apart + here, into_update, row, shown, WIDTH)
        put(into + 2 * apart + here, into_new, row, shown, WIDTH)
        put(into + 3 * apart + here, into_inner, row, shown, WIDTH)
    flow = _through(flow, into_reset, into_update, into_inner, weights, shown, steps)
    put(into_first + (run * (steps - 1) + start) * episodes * WIDTH, flow, row, shown, WIDTH)


def follow(told: Tensor, first: Tensor, weight: Tensor, bias: Tensor, count: Tensor, steps: int) -> Tensor:
    """States [S, states · N, H] in bf16, from what steps are told [S, T·N, 3H] and first states [S, (T − 1)·N, H].

    `weight` [S, H, 3H] and what is told are bf16, `bias` [S, H] of n is fp32, `count` [S] is int32.
    """
    (S, R, _), H = told.shape, weight.shape[1]
    episodes = R // steps
    states = told.new_empty(S, (steps * (steps + 1) // 2 - 1) * episodes, H)
    given = told, first, weight, bias, count, states, episodes, steps
    grid = tiles("chains", episodes) * (steps - 1), S
    launch("chains", _follow, grid, *given, WIDTH=H, QUICK=HARDWARE)
    return states


def follow_back(
    told: Tensor, weight: Tensor, bias: Tensor, count: Tensor, states: Tensor, flows: Tensor, pull: Tensor, steps: int
) -> tuple[Tensor, Tensor]:
    """What flows into the gates, [S, 4, pairs · N, H] in bf16, and into first states, from `pull` [S] times `flows`."""
    S, R, H = flows.shape
    episodes = told.shape[1] // steps
    into = flows.new_empty(S, INTO, R, H)
    into_first = bias.new_zeros(S, (steps - 1) * episodes, H)
    given = told, weight, bias, count, states, flows, pull, into, into_first, episodes, steps
    grid = tiles("chains back", episodes) * (steps - 1), S
    launch("chains back", _follow_back, grid, *given, WIDTH=H, QUICK=HARDWARE)
    return into, into_first
