"""What flows into the codes themselves from the expected cost under the soft assignment.

soft = Σ_k q_k p_k with q ∝ exp(2 ẽ·e_k − ‖e_k‖²) and prices p. Its gradient into e_k is Σ_r g_rk · 2 (ẽ_r − e_k) with
g_k = q_k (p_k − soft). A program sums over its share of the rows for a piece of the codebook.
"""

import triton
import triton.language as tl
from torch import Tensor

from diacritic.memory.kernels.blocks import block
from diacritic.memory.kernels.launch import launch, pieced, shares


@triton.jit
def each(values, run, row, rows):
    """One number for each of some rows; zero beyond the end."""
    return tl.load(values + run * rows + row, mask=row < rows, other=0)


@triton.jit
def scores(logits, run, row, rows, label, K: tl.constexpr):
    """The logits of some codes, for some rows; minus infinity beyond the last code."""
    inside = (row < rows)[:, None] & (label < K)[None, :]
    score = tl.load(logits + (run * rows + row)[:, None] * K + label[None, :], mask=inside, other=0.0)
    return tl.where((label < K)[None, :], score.to(tl.float32), float("-inf"))


@triton.jit
def _pull(
    proposal,
    codebook,
    logits,
    weight,
    pull,
    held,
    mass,
    soft,
    into,
    rows,
    K: tl.constexpr,
    CODES: tl.constexpr,
    SIZE: tl.constexpr,
    PRECISION: tl.constexpr,
    ROWS: tl.constexpr,
    TURNS,
):
    run, piece = tl.program_id(1).to(tl.int64), tl.program_id(2)
    label, column = piece * CODES + tl.arange(0, CODES), tl.arange(0, SIZE)
    real = label < K
    offsets = label[:, None] * SIZE + column[None, :]
    codes = tl.load(codebook + run * K * SIZE + offsets, mask=real[:, None], other=0.0)
    length = tl.sum(codes * codes, 1)[None, :]
    moved, total = tl.zeros((CODES, SIZE), tl.float32), tl.zeros((CODES,), tl.float32)
    for turn in range(TURNS):
        row = (turn * tl.num_programs(0) + tl.program_id(0)) * ROWS + tl.arange(0, ROWS)
        here = block(proposal + run * rows * SIZE, row, rows, SIZE)
        share = tl.load(pull + run) * each(weight, run, row, rows)
        price = each(held, run, row, rows)[:, None] - scores(logits, run, row, rows, label, K)
        price = tl.where(real[None, :], price, 0.0) - each(soft, run, row, rows)[:, None]
        near = 2 * tl.dot(here, tl.trans(codes), input_precision=PRECISION) - length
        near = tl.where(real[None, :], tl.exp(near - each(mass, run, row, rows)[:, None]), 0.0)
        flow = share[:, None] * near * price
        moved = tl.dot(tl.trans(flow), here, moved, input_precision=PRECISION)
        total += tl.sum(flow, 0)
    into += (tl.program_id(0) * tl.num_programs(1) + run) * CODES * SIZE * tl.num_programs(2)
    tl.store(into + offsets, 2 * (moved - total[:, None] * codes))


def pulled(
    proposal: Tensor,
    codebook: Tensor,
    logits: Tensor,
    weight: Tensor,
    pull: Tensor,
    row_numbers: tuple[Tensor, Tensor, Tensor],
    name: str,
    precision: str,
) -> Tensor:
    """The gradient of the codebook [S, K, d]; rows [S, R] are weighted, and runs pulled.

    `row_numbers` are the logit of C, log Σ_k exp(2 ẽ·e_k − ‖e_k‖²), and the expected price from that of C on.
    """
    (S, R, d), K = proposal.shape, codebook.shape[1]
    codes, pieces = pieced(name, K)
    programs, turns = shares(name, R, S * pieces)
    into = codebook.new_empty(programs, S, pieces * codes, d)
    sizes = {"K": K, "CODES": codes, "SIZE": d, "PRECISION": precision, "TURNS": turns}
    given = proposal, codebook, logits, weight, pull, *row_numbers, into, R
    launch(name, _pull, (programs, S, pieces), *given, **sizes)
    return into.sum(0)[:, :K]
