"""Registers through all steps, one kernel forward and one back.

Registers are written in turn, so that step t rewrites register t mod COUNT, and the registers are the last vectors that
were written. A program follows a few episodes of one run and holds their registers on the chip. The inputs' parts of
queries, new vectors and shares are given for all steps; the bias of the keys adds the same to all scores of a step, and
changes nothing. Backward, registers are restored from the written vectors, and what flows into each part is stored.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from diacritic.memory.kernels.blocks import block, put, square
from diacritic.memory.kernels.gates import sigmoid, tanh
from diacritic.memory.kernels.launch import launch, tiles
from diacritic.memory.layers import Parameters, linear
from diacritic.memory.tall import outer

SIZES = (16, 32, 64)
"""Numbers of a register that the kernels take."""


@triton.jit
def _attended(registers, query):
    """The weight of every register, [ROWS, COUNT, 1], and what is read, [ROWS, SIZE]."""
    score = tl.sum(registers * query[:, None, :], 2)
    raised = tl.exp(score - tl.max(score, 1)[:, None])
    weight = (raised / tl.sum(raised, 1)[:, None])[:, :, None]
    return weight, tl.sum(weight * registers, 1)


@triton.jit
def _attended_back(flow, registers, query, weight):
    """What flows into registers and query from what is read."""
    of_weight = tl.sum(registers * flow[:, None, :], 2)[:, :, None]
    of_score = weight * (of_weight - tl.sum(weight * of_weight, 1)[:, None, :])
    return weight * flow[:, None, :] + of_score * query[:, None, :], tl.sum(of_score * registers, 1)


@triton.jit
def _forward(
    query,
    given,
    given_share,
    weight,
    share_weight,
    written,
    shares,
    seen,
    reads,
    episodes,
    STEPS,
    COUNT: tl.constexpr,
    SIZE: tl.constexpr,
    ROWS: tl.constexpr,
):
    run = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    which, inside = tl.arange(0, COUNT)[None, :, None], row < episodes
    inner = square(weight + run * SIZE * SIZE, SIZE)[None, :, :]
    to_share = tl.load(share_weight + run * SIZE + tl.arange(0, SIZE))[None, :]
    registers = tl.zeros((ROWS, COUNT, SIZE), tl.float32)
    begin = run * STEPS * episodes
    for step in range(STEPS):
        asked = block(query + begin * SIZE, row, episodes, SIZE)
        _, read = _attended(registers, asked)
        put(seen + begin * SIZE, read, row, episodes, SIZE)
        share = tl.load(given_share + begin + row, mask=inside, other=0.0) + tl.sum(read * to_share, 1)
        share = sigmoid(share, False)
        tl.store(shares + begin + row, share, mask=inside)
        new = block(given + begin * SIZE, row, episodes, SIZE) + tl.sum(read[:, :, None] * inner, 1)
        new = tanh(new, False)
        chosen = which == step % COUNT
        old = tl.sum(tl.where(chosen, registers, 0.0), 1)
        new = old + share[:, None] * (new - old)
        put(written + begin * SIZE, new, row, episodes, SIZE)
        registers = tl.where(chosen, new[:, None, :], registers)
        _, read = _attended(registers, asked)
        put(reads + begin * SIZE, read, row, episodes, SIZE)
        begin += episodes


@triton.jit
def _backward(
    flows,
    query,
    given,
    weight,
    share_weight,
    written,
    shares,
    seen,
    into_query,
    into_new,
    into_share,
    episodes,
    STEPS,
    COUNT: tl.constexpr,
    SIZE: tl.constexpr,
    ROWS: tl.constexpr,
):
    run = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    which, inside = tl.arange(0, COUNT)[None, :, None], row < episodes
    inner = square(weight + run * SIZE * SIZE, SIZE)[None, :, :]
    to_share = tl.load(share_weight + run * SIZE + tl.arange(0, SIZE))[None, :]
    registers = tl.zeros((ROWS, COUNT, SIZE), tl.float32)
    for back in range(COUNT):  # the last ones that were written
        step = STEPS - 1 - back
        begin = (run * STEPS + step) * episodes
        last = block(written + begin * SIZE, row, tl.where(step >= 0, episodes, 0), SIZE)
        registers = tl.where((which == (step + COUNT) % COUNT) & (step >= 0), last[:, None, :], registers)
    flow = tl.zeros((ROWS, COUNT, SIZE), tl.float32)
    for back in range(STEPS):
        step = STEPS - 1 - back
        begin = (run * STEPS + step) * episodes
        asked = block(query + begin * SIZE, row, episodes, SIZE)
        attention, _ = _attended(registers, asked)
        more, of_query = _attended_back(block(flows + begin * SIZE, row, episodes, SIZE), registers, asked, attention)
        flow += more
        chosen = which == step % COUNT
        before = begin - COUNT * episodes
        old = block(written + before * SIZE, row, tl.where(step >= COUNT, episodes, 0), SIZE)
        registers = tl.where(chosen, old[:, None, :], registers)
        read = block(seen + begin * SIZE, row, episodes, SIZE)
        share = tl.load(shares + begin + row, mask=inside, other=0.0)
        new = block(given + begin * SIZE, row, episodes, SIZE) + tl.sum(read[:, :, None] * inner, 1)
        new = tanh(new, False)
        of_written = tl.sum(tl.where(chosen, flow, 0.0), 1)
        flow = tl.where(chosen, (of_written * (1 - share[:, None]))[:, None, :], flow)
        of_share = tl.sum(of_written * (new - old), 1) * share * (1 - share)
        of_new = of_written * share[:, None] * (1 - new * new)
        tl.store(into_share + begin + row, of_share, mask=inside)
        put(into_new + begin * SIZE, of_new, row, episodes, SIZE)
        of_read = tl.sum(of_new[:, None, :] * inner, 2) + of_share[:, None] * to_share
        attention, _ = _attended(registers, asked)
        more, of_asked = _attended_back(of_read, registers, asked, attention)
        flow += more
        put(into_query + begin * SIZE, of_query + of_asked, row, episodes, SIZE)


class InTurn(torch.autograd.Function):
    """What every step reads of the registers after it, [S, T·N, d], from queries in the space of the registers.

    `given` [S, T·N, d] and `given_share` [S, T·N] are the inputs' parts of the new vector and of its share; `weight`
    [S, d, d] and `share_weight` [S, d] are the layers on what is read before the writing.
    """

    @staticmethod
    def forward(
        ctx,
        query: Tensor,
        given: Tensor,
        given_share: Tensor,
        weight: Tensor,
        share_weight: Tensor,
        steps: int,
        count: int,
    ) -> Tensor:
        values = [value.detach().contiguous() for value in (query, given, given_share, weight, share_weight)]
        S, R, d = query.shape
        written, seen, reads = (torch.empty_like(values[0]) for _ in range(3))
        shares, ctx.settings, episodes = torch.empty_like(values[2]), {"COUNT": count, "SIZE": d}, R // steps
        results = written, shares, seen, reads, episodes, steps
        launch("registers", _forward, (tiles("registers", episodes), S), *values, *results, **ctx.settings)
        ctx.save_for_backward(values[0], values[1], *values[3:], written, shares, seen)
        ctx.steps = steps
        return reads

    @staticmethod
    def backward(ctx, *flows: Tensor) -> tuple[Tensor | None, ...]:
        query, given, weight, share_weight, written, shares, seen = ctx.saved_tensors
        into_query, into_new, into_share = torch.empty_like(query), torch.empty_like(query), torch.empty_like(shares)
        values = flows[0].contiguous(), query, given, weight, share_weight, written, shares, seen
        results, episodes = (into_query, into_new, into_share), query.shape[1] // ctx.steps
        grid = tiles("registers back", episodes), len(query)
        launch("registers back", _backward, grid, *values, *results, episodes, ctx.steps, **ctx.settings)
        of_share = outer(seen, into_share.unsqueeze(-1)).squeeze(-1)
        return into_query, into_new, into_share, outer(seen, into_new), of_share, None, None


def follow(parameters: Parameters, x: Tensor, steps: int, count: int) -> Tensor:
    """What every step reads of the registers after it, [S, T·N, d], from x_t [S, T·N, d]."""
    size = x.shape[-1]
    parts = {"key.weight": parameters["cell.key.weight"].mT}
    query = linear(parts, "key", linear(parameters, "cell.query", x)) * size**-0.5
    for name in ("cell.new", "cell.write"):
        of_input, of_read = parameters[f"{name}.weight"].split(size, 1)
        parts |= {f"{name}.weight": of_input, f"{name}.bias": parameters[f"{name}.bias"], name: of_read}
    given, share = linear(parts, "cell.new", x), linear(parts, "cell.write", x).squeeze(-1)
    return InTurn.apply(query, given, share, parts["cell.new"], parts["cell.write"].squeeze(-1), steps, count)


def fits(size: int) -> bool:
    """Whether the kernels take registers of so many numbers."""
    return size in SIZES
