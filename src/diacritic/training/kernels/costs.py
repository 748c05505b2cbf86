"""What codes cost, in one pass each way: vector quantisation and the rate.

Forward passes leave one partial sum a program, so that sums have a fixed order; backward passes compute again what
they need and scale it by what flows into each run's loss.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from diacritic.training.kernels.encoder import block, put
from diacritic.training.kernels.launch import launch, padded, shares, tiles


@triton.jit
def _each(values, run, row, rows):
    """One number for each of some rows; zero beyond the end."""
    return tl.load(values + run * rows + row, mask=row < rows, other=0)


@triton.jit
def _gap(proposal, codebook, taken, run, row, rows, K: tl.constexpr, SIZE: tl.constexpr):
    """ẽ − e_C of some rows."""
    place = codebook + run * K * SIZE + taken[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    return block(proposal + run * rows * SIZE, row, rows, SIZE) - tl.load(place)


@triton.jit
def _quantise(
    proposal,
    codebook,
    code,
    weight,
    into,
    rows,
    K: tl.constexpr,
    CODES: tl.constexpr,
    SIZE: tl.constexpr,
    ROWS: tl.constexpr,
    TURNS: tl.constexpr,
):
    """Σ w ‖ẽ − e_C‖², and Σ w (ẽ − e_C) of every code, over a share of the rows."""
    run = tl.program_id(1).to(tl.int64)
    label, column = tl.arange(0, CODES), tl.arange(0, SIZE)
    total = tl.zeros((ROWS,), tl.float32)
    codes = tl.zeros((CODES, SIZE), tl.float32)
    for turn in range(TURNS):
        row = (turn * tl.num_programs(0) + tl.program_id(0)) * ROWS + tl.arange(0, ROWS)
        taken, share = _each(code, run, row, rows), _each(weight, run, row, rows)
        gap = _gap(proposal, codebook, taken, run, row, rows, K, SIZE)
        total += tl.sum(gap * gap, 1) * share
        chosen = tl.where(taken[None, :] == label[:, None], share[None, :], 0.0)
        codes = tl.dot(chosen, gap, codes, input_precision="ieee")
    into += (tl.program_id(0) * tl.num_programs(1) + run) * (CODES * SIZE + 1)
    tl.store(into + (label[:, None] * SIZE + column[None, :]), codes)
    tl.store(into + CODES * SIZE, tl.sum(total))


@triton.jit
def _commit(
    proposal, codebook, code, weight, pull, into, rows, K: tl.constexpr, SIZE: tl.constexpr, ROWS: tl.constexpr
):
    """pull · w (ẽ − e_C) of every row."""
    run = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    gap = _gap(proposal, codebook, _each(code, run, row, rows), run, row, rows, K, SIZE)
    share = tl.load(pull + run) * _each(weight, run, row, rows)
    put(into + run * rows * SIZE, share[:, None] * gap, row, rows, SIZE)


class Quantise(torch.autograd.Function):
    """L_VQ of every run, [S]: Σ_r w_r (‖sg(ẽ_r) − e_C‖² + γ ‖ẽ_r − sg(e_C)‖²) / d.

    ẽ [S, R, d] is a value; what flows into it goes to `path`, a tensor of that shape whose content is never read.
    """

    @staticmethod
    def forward(
        ctx, path: Tensor, codebook: Tensor, proposal: Tensor, code: Tensor, weight: Tensor, commitment: float
    ) -> Tensor:
        (S, R, d), K = proposal.shape, codebook.shape[1]
        given = [value.detach().contiguous() for value in (proposal, codebook, code, weight)]
        programs, turns = shares("quantise", R, S)
        into = proposal.new_empty(programs, S, padded(K) * d + 1)
        sizes = {"K": K, "CODES": padded(K), "SIZE": d, "TURNS": turns}
        launch("quantise", _quantise, (programs, S), *given, into, R, **sizes)
        total = into.sum(0)
        ctx.save_for_backward(*given, total[:, : K * d].view(S, K, d))
        ctx.low, ctx.commitment = path.dtype, commitment
        return total[:, -1] * ((1 + commitment) / d)

    @staticmethod
    def backward(ctx, *flows: Tensor) -> tuple[Tensor | None, ...]:
        *given, codes = ctx.saved_tensors
        S, R, d = given[0].shape
        pull = flows[0] * (2 / d)
        into = torch.empty_like(given[0], dtype=ctx.low)
        arguments = *given, pull * ctx.commitment, into, R
        launch("commit", _commit, (tiles("commit", R), S), *arguments, K=given[1].shape[1], SIZE=d)
        return into, -pull.view(-1, 1, 1) * codes, None, None, None, None


@triton.jit
def _prices(logits, run, row, rows, K: tl.constexpr, CODES: tl.constexpr):
    """−log r(k | O) of every code, for some rows; infinite beyond the last code."""
    label = tl.arange(0, CODES)[None, :]
    place = logits + (run * rows + row)[:, None] * K + label
    score = tl.load(place, mask=(row < rows)[:, None] & (label < K), other=0.0)
    score = tl.where(label < K, score, float("-inf"))
    peak = tl.max(score, 1)
    total = peak + tl.log(tl.sum(tl.exp(score - peak[:, None]), 1))
    return total[:, None] - score


@triton.jit
def _cost(logits, code, weight, into, rows, K: tl.constexpr, CODES: tl.constexpr, ROWS: tl.constexpr):
    """Σ w (−log r(C | O)) over a tile."""
    run = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    price = _prices(logits, run, row, rows, K, CODES)
    chosen = tl.arange(0, CODES)[None, :] == _each(code, run, row, rows)[:, None]
    total = tl.sum(tl.sum(tl.where(chosen, price, 0.0), 1) * _each(weight, run, row, rows))
    tl.store(into + tl.program_id(0) * tl.num_programs(1) + run, total)


@triton.jit
def _lean(
    proposal,
    codebook,
    logits,
    code,
    weight,
    pull,
    into,
    into_logits,
    rows,
    K: tl.constexpr,
    CODES: tl.constexpr,
    SIZE: tl.constexpr,
    ROWS: tl.constexpr,
):
    """What flows into proposals from the expected cost under q, and into logits from the cost of C."""
    run = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    label, column = tl.arange(0, CODES), tl.arange(0, SIZE)
    price = _prices(logits, run, row, rows, K, CODES)
    chosen = label[None, :] == _each(code, run, row, rows)[:, None]
    share = tl.load(pull + run) * _each(weight, run, row, rows)
    flow = share[:, None] * (tl.exp(-price) - chosen.to(tl.float32))
    place = into_logits + (run * rows + row)[:, None] * K + label[None, :]
    tl.store(place, flow, mask=(row < rows)[:, None] & (label < K)[None, :])
    codebook += run * K * SIZE
    real = (label < K)[:, None]
    codes = tl.load(codebook + label[:, None] * SIZE + column[None, :], mask=real, other=0.0)
    near = tl.dot(block(proposal + run * rows * SIZE, row, rows, SIZE), tl.trans(codes), input_precision="ieee")
    near = 2 * near - tl.sum(codes * codes, 1)[None, :]
    near = tl.where((label < K)[None, :], near, float("-inf"))
    near = tl.exp(near - tl.max(near, 1)[:, None])
    near = near / tl.sum(near, 1)[:, None]
    price = tl.where((label < K)[None, :], price, 0.0)
    mean = tl.sum(near * price, 1)
    lean = 2 * share[:, None] * near * (price - mean[:, None])
    put(into + run * rows * SIZE, tl.dot(lean, codes, input_precision="ieee"), row, rows, SIZE)


class Cost(torch.autograd.Function):
    """Σ_r w_r (−log r(C_r | O_r)) of every run, [S], from the prior's logits [S, R, K].

    What flows into `path` is what descends the expected cost under q_k ∝ exp(−‖ẽ − e_k‖²), at given prices.
    """

    @staticmethod
    def forward(
        ctx, path: Tensor, logits: Tensor, proposal: Tensor, codebook: Tensor, code: Tensor, weight: Tensor
    ) -> Tensor:
        S, R, K = logits.shape
        given = [value.detach().contiguous() for value in (proposal, codebook, logits, code, weight)]
        total = logits.new_empty(tiles("cost", R), S)
        launch("cost", _cost, (tiles("cost", R), S), *given[2:], total, R, K=K, CODES=padded(K))
        ctx.save_for_backward(*given)
        ctx.low = path.dtype
        return total.sum(0)

    @staticmethod
    def backward(ctx, *flows: Tensor) -> tuple[Tensor | None, ...]:
        proposal, codebook, logits, code, weight = ctx.saved_tensors
        (S, R, d), K = proposal.shape, logits.shape[2]
        into, into_logits = torch.empty_like(proposal, dtype=ctx.low), torch.empty_like(logits)
        arguments = proposal, codebook, logits, code, weight, flows[0].contiguous(), into, into_logits, R
        launch("lean", _lean, (tiles("lean", R), S), *arguments, K=K, CODES=padded(K), SIZE=d)
        return into, into_logits, None, None, None, None
