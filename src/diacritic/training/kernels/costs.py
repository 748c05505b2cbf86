"""What codes cost, in one pass each way: vector quantisation and the rate.

Forward passes leave one partial sum a program, so that sums have a fixed order; backward passes compute again what
they need and scale it by what flows into each run's loss.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from diacritic.memory.kernels.blocks import block, put
from diacritic.memory.kernels.launch import launch, pieced, shares, tiles
from diacritic.training.kernels.pulled_codes import each, pulled, scores

FEW = 32
"""Codes up to which a codebook is taken whole."""


@triton.jit
def _gap(proposal, codebook, taken, run, row, rows, K: tl.constexpr, SIZE: tl.constexpr):
    """ẽ − e_C of some rows."""
    pointer = codebook + run * K * SIZE + taken[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    return block(proposal + run * rows * SIZE, row, rows, SIZE) - tl.load(pointer)


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
    PRECISION: tl.constexpr,
    ROWS: tl.constexpr,
    TURNS,
):
    """Σ w ‖ẽ − e_C‖², and Σ w (ẽ − e_C) of every code in a piece of the codebook, over a share of the rows."""
    run, piece = tl.program_id(1).to(tl.int64), tl.program_id(2)
    label, column = piece * CODES + tl.arange(0, CODES), tl.arange(0, SIZE)
    total = tl.zeros((ROWS,), tl.float32)
    codes = tl.zeros((CODES, SIZE), tl.float32)
    for turn in range(TURNS):
        row = (turn * tl.num_programs(0) + tl.program_id(0)) * ROWS + tl.arange(0, ROWS)
        taken, share = each(code, run, row, rows), each(weight, run, row, rows)
        gap = _gap(proposal, codebook, taken, run, row, rows, K, SIZE)
        total += tl.sum(gap * gap, 1) * share
        chosen = tl.where(taken[None, :] == label[:, None], share[None, :], 0.0)
        codes = tl.dot(chosen, gap, codes, input_precision=PRECISION)
    into += (tl.program_id(0) * tl.num_programs(1) + run) * (CODES * SIZE + 1) * tl.num_programs(2)
    tl.store(into + (label[:, None] * SIZE + column[None, :]), codes)
    tl.store(into + CODES * SIZE * tl.num_programs(2) + piece, tl.sum(total))


@triton.jit
def _commit(
    proposal, codebook, code, weight, pull, into, rows, K: tl.constexpr, SIZE: tl.constexpr, ROWS: tl.constexpr
):
    """pull · w (ẽ − e_C) of every row."""
    run = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    gap = _gap(proposal, codebook, each(code, run, row, rows), run, row, rows, K, SIZE)
    share = tl.load(pull + run) * each(weight, run, row, rows)
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
        name = _sized("quantise", K)
        codes, pieces = pieced(name, K)
        programs, turns = shares(name, R, S * pieces)
        into = proposal.new_empty(programs, S, pieces * (codes * d + 1))
        sizes = {"K": K, "CODES": codes, "SIZE": d, "PRECISION": _precision(K), "TURNS": turns}
        launch(name, _quantise, (programs, S, pieces), *given, into, R, **sizes)
        total = into.sum(0)
        ctx.save_for_backward(*given, total[:, : K * d].view(S, K, d))
        ctx.low, ctx.commitment = path.dtype, commitment
        return total[:, -pieces] * ((1 + commitment) / d)  # every piece has the whole of it

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
def _cost(logits, code, weight, into, normal, held, rows, K: tl.constexpr, CODES: tl.constexpr, ROWS: tl.constexpr):
    """Σ w (−log r(C | O)) over a tile; and of every row log Σ_k exp(logit_k) and the logit of C."""
    run = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    wanted = each(code, run, row, rows)
    peak = tl.full((ROWS,), float("-inf"), tl.float32)
    total, mine = tl.zeros((ROWS,), tl.float32), tl.zeros((ROWS,), tl.float32)
    for first in range(0, K, CODES):
        label = first + tl.arange(0, CODES)
        score = scores(logits, run, row, rows, label, K)
        top = tl.maximum(peak, tl.max(score, 1))
        total = total * tl.exp(peak - top) + tl.sum(tl.exp(score - top[:, None]), 1)
        mine += tl.sum(tl.where(label[None, :] == wanted[:, None], score, 0.0), 1)
        peak = top
    total = peak + tl.log(total)
    tl.store(normal + run * rows + row, total, mask=row < rows)
    tl.store(held + run * rows + row, mine, mask=row < rows)
    spent = tl.sum((total - mine) * each(weight, run, row, rows))
    tl.store(into + tl.program_id(0) * tl.num_programs(1) + run, spent)


@triton.jit
def _lean(
    proposal,
    codebook,
    logits,
    code,
    weight,
    pull,
    normal,
    held,
    into,
    into_logits,
    near_mass,
    near_price,
    rows,
    K: tl.constexpr,
    CODES: tl.constexpr,
    SIZE: tl.constexpr,
    SOFT: tl.constexpr,
    PRECISION: tl.constexpr,
    ROWS: tl.constexpr,
):
    """What flows into logits from the cost of C and, with SOFT, into proposals from the expected cost under q.

    Then log Σ_k exp(2 ẽ·e_k − ‖e_k‖²) of every row is left behind, and the expected price.
    """
    run = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    wanted = each(code, run, row, rows)
    share = tl.load(pull + run) * each(weight, run, row, rows)
    total, mine = each(normal, run, row, rows), each(held, run, row, rows)
    if SOFT:
        here, codebook = block(proposal + run * rows * SIZE, row, rows, SIZE), codebook + run * K * SIZE
        peak = tl.full((ROWS,), float("-inf"), tl.float32)
        mass, spent = tl.zeros((ROWS,), tl.float32), tl.zeros((ROWS,), tl.float32)
        middle, dear = tl.zeros((ROWS, SIZE), tl.float32), tl.zeros((ROWS, SIZE), tl.float32)
    for first in range(0, K, CODES):
        label = first + tl.arange(0, CODES)
        real = label < K
        score = scores(logits, run, row, rows, label, K)
        chosen = label[None, :] == wanted[:, None]
        flow = share[:, None] * (tl.exp(score - total[:, None]) - chosen.to(tl.float32))
        pointer = into_logits + (run * rows + row)[:, None] * K + label[None, :]
        tl.store(pointer, flow.to(into_logits.dtype.element_ty), mask=(row < rows)[:, None] & real[None, :])
        if SOFT:
            shown = codebook + label[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
            codes = tl.load(shown, mask=real[:, None], other=0.0)
            near = 2 * tl.dot(here, tl.trans(codes), input_precision=PRECISION) - tl.sum(codes * codes, 1)[None, :]
            near = tl.where(real[None, :], near, float("-inf"))
            top = tl.maximum(peak, tl.max(near, 1))
            shrunk = tl.exp(peak - top)
            near = tl.exp(near - top[:, None])
            # Prices count from that of C, so that where q is nearly certain no large numbers cancel.
            price = near * tl.where(real[None, :], mine[:, None] - score, 0.0)
            mass = mass * shrunk + tl.sum(near, 1)
            spent = spent * shrunk + tl.sum(price, 1)
            middle = tl.dot(near, codes, middle * shrunk[:, None], input_precision=PRECISION)
            dear = tl.dot(price, codes, dear * shrunk[:, None], input_precision=PRECISION)
            peak = top
    if SOFT:
        lean = dear - (spent / mass)[:, None] * middle
        put(into + run * rows * SIZE, (2 * share / mass)[:, None] * lean, row, rows, SIZE)
        tl.store(near_mass + run * rows + row, peak + tl.log(mass), mask=row < rows)
        tl.store(near_price + run * rows + row, spent / mass, mask=row < rows)


class Cost(torch.autograd.Function):
    """Σ_r w_r (−log r(C_r | O_r)) of every run, [S], from logits [S, R, K] of any precision.

    What flows into `path` is what descends the expected cost under q_k ∝ exp(−‖ẽ − e_k‖²), at given prices; the codes
    descend it too where they are asked for a gradient. Without proposals it is a cross-entropy of classes C.
    """

    @staticmethod
    def forward(
        ctx,
        path: Tensor | None,
        logits: Tensor,
        proposal: Tensor | None,
        codebook: Tensor | None,
        code: Tensor,
        weight: Tensor,
    ) -> Tensor:
        S, R, K = logits.shape
        given = [value.detach().contiguous() for value in (logits, code, weight)]
        state = [None if value is None else value.detach().contiguous() for value in (proposal, codebook)]
        name = _sized("cost", K)
        total, (normal, held) = weight.new_empty(tiles(name, R), S), weight.new_empty(2, S, R)
        launch(name, _cost, (tiles(name, R), S), *given, total, normal, held, R, K=K, CODES=pieced(name, K)[0])
        ctx.save_for_backward(*state, *given, normal, held)
        ctx.low = None if path is None else path.dtype
        return total.sum(0)

    @staticmethod
    def backward(ctx, *flows: Tensor) -> tuple[Tensor | None, ...]:
        proposal, codebook, *given, normal, held = ctx.saved_tensors
        S, R, K = given[0].shape
        into, into_codes, into_logits = None, None, torch.empty_like(given[0])
        state = [normal, normal] if proposal is None else [proposal, codebook]
        mass, price = torch.empty_like(normal), torch.empty_like(normal)
        if proposal is not None:
            into = torch.empty_like(proposal, dtype=ctx.low)
        name = _sized("lean", K)
        sizes = {"K": K, "CODES": pieced(name, K)[0], "SIZE": 16 if proposal is None else proposal.shape[2]}
        kind = {"SOFT": proposal is not None, "PRECISION": _precision(K)}
        pull = flows[0].contiguous()
        results = normal if into is None else into, into_logits, mass, price
        launch(name, _lean, (tiles(name, R), S), *state, *given, pull, normal, held, *results, R, **sizes, **kind)
        if proposal is not None and ctx.needs_input_grad[3]:
            numbers, how = (held, mass, price), (_sized("pulled codes", K), _precision(K))
            into_codes = pulled(proposal, codebook, given[0], given[2], pull, numbers, *how)
        return into, into_logits, None, into_codes, None, None


def _sized(name: str, codes: int) -> str:
    """Large codebooks have sizes of their own."""
    return name if codes <= FEW else f"{name} of many"


def _precision(codes: int) -> str:
    """Of products with a codebook: the CUDA cores' for few codes, the tensor cores' for many."""
    return "ieee" if codes <= FEW else "tf32"
