"""The forward scan of hard codes as one kernel: a program follows a tile of episodes of one run through all steps."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from diacritic.memory.kernels.launch import padded, start

LARGEST = 1024
"""Codes that a program goes through at every step at most; above, the loop in `training.scan` takes over."""
PIECE, FEW = 128, 64
"""Codes whose scores one program holds at a time; and those up to which the CUDA cores multiply fast enough."""


@triton.jit
def _scan(
    driven,
    entering,
    scoring,
    fixed,
    twin,
    codes,
    episodes,
    STEPS,
    K: tl.constexpr,
    PIECE: tl.constexpr,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    CHUNK: tl.constexpr,
    PRECISION: tl.constexpr,
):
    run = tl.program_id(1).to(tl.int64)
    driven += run * STEPS * episodes * WIDTH
    codes += run * STEPS * episodes
    entering += run * (K + 1) * WIDTH
    scoring += run * WIDTH * K
    fixed += run * (K + 1) * K
    twin += run * K
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = row < episodes
    part = tl.arange(0, CHUNK)
    code = tl.full((ROWS,), K, tl.int32)
    for _ in range(STEPS):
        best = tl.full((ROWS,), float("-inf"), tl.float32)
        after = tl.full((ROWS,), K - 1, tl.int32)  # a NaN picks some code, as in `lowest_maximum`
        for begin in range(0, K, PIECE):
            label = begin + tl.arange(0, PIECE)
            real = label[None, :] < K
            score = tl.load(fixed + code[:, None] * K + label[None, :], mask=real, other=float("-inf"))
            for first in tl.static_range(0, WIDTH, CHUNK):  # pyright: ignore[reportGeneralTypeIssues]
                column = first + part
                now = tl.load(driven + row[:, None] * WIDTH + column[None, :], mask=inside[:, None], other=0.0)
                held = tl.load(entering + code[:, None] * WIDTH + column[None, :])
                reads = tl.load(scoring + column[:, None] * K + label[None, :], mask=real, other=0.0)
                score = tl.dot(tl.maximum(now + held, 0.0), reads, score, input_precision=PRECISION)
            top = tl.max(score, 1)
            lowest = tl.min(tl.where(score == top[:, None], label[None, :], K), 1)
            after = tl.where(top > best, lowest, after)
            best = tl.maximum(best, top)
        code = tl.load(twin + after).to(tl.int32)
        tl.store(codes + row, code.to(tl.int64), mask=inside)
        driven += episodes * WIDTH
        codes += episodes


def scan_codes_cuda(driven: Tensor, entering: Tensor, scoring: Tensor, fixed: Tensor, twin: Tensor) -> Tensor:
    """C_t = twin[argmax_j relu(driven_t + entering[C_{t−1}])·scoring_j + fixed[C_{t−1}, j]]: [S, T, N].

    driven [S, T, N, H], entering [S, K+1, H], scoring [S, H, K], fixed [S, K+1, K]; C_0 = K, ties to the lowest index.
    `twin` [S, K] is the lowest code with the same vector, which wins however the products round.
    All in fp32, and in true fp32 for few codes; products of many are three of the tensor cores', with 21 bits or so.
    """
    return launch(driven, entering, scoring, fixed, twin, rows=16 if scoring.shape[-1] <= PIECE else 32)


def launch(
    driven: Tensor,
    entering: Tensor,
    scoring: Tensor,
    fixed: Tensor,
    twin: Tensor,
    rows: int = 16,
    chunk: int = 32,
    warps: int = 1,
    stages: int = 2,
    piece: int = PIECE,
) -> Tensor:
    """The kernel with its sizes: episodes of a program, columns of a product, warps for 16 codes, stages of loads.

    `piece` is how many codes a program compares at a time.
    """
    S, T, N, width = driven.shape
    K = scoring.shape[-1]
    codes = torch.empty(S, T, N, dtype=torch.int64, device=driven.device)
    compared = min(piece, padded(K))
    sizes = {
        "STEPS": T,
        "K": K,
        "PIECE": compared,
        "WIDTH": width,
        "ROWS": rows,
        "CHUNK": min(chunk, width),
        "PRECISION": "ieee" if K <= FEW else "tf32x3",
    }
    arguments = [*(table.contiguous() for table in (driven, entering, scoring, fixed, twin)), codes, N]
    start(_scan, (-(-N // rows), S), arguments, sizes, warps * compared // 16, stages)
    return codes


def fits(driven: Tensor, codes: int) -> bool:
    """Whether the kernel takes these sizes; `training.scan` loops over steps where it does not."""
    width = driven.shape[-1]
    return driven.dtype == torch.float32 and codes <= LARGEST and width >= 16 and width & (width - 1) == 0
