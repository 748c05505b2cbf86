"""The carousel's state: hard values forward, the reverse running sum of what flows into it backward."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from diacritic.training.kernels.launch import launch, tiles


@triton.jit
def _enter(
    residual, codebook, before, code, proposal, embedding, rows, K: tl.constexpr, SIZE: tl.constexpr, ROWS: tl.constexpr
):
    run = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, SIZE)[None, :]
    shown = (row < rows)[:, None]
    held = tl.load(before + run * rows + row, mask=row < rows, other=K)[:, None]
    taken = tl.load(code + run * rows + row, mask=row < rows, other=0)[:, None]
    codebook += run * K * SIZE
    place = (run * rows + row)[:, None] * SIZE + column
    carried = tl.load(codebook + held * SIZE + column, mask=held < K, other=0.0)
    tl.store(proposal + place, carried + tl.load(residual + place, mask=shown, other=0.0), mask=shown)
    tl.store(embedding + place, tl.load(codebook + taken * SIZE + column), mask=shown)


@triton.jit
def _sum_back(first, second, into, columns, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    run = tl.program_id(1).to(tl.int64)
    column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    shown = column < columns
    place = (run * STEPS + STEPS - 1) * columns + column
    total = tl.zeros((BLOCK,), tl.float32)
    for _ in range(STEPS):
        total += tl.load(first + place, mask=shown, other=0.0) + tl.load(second + place, mask=shown, other=0.0)
        tl.store(into + place, total, mask=shown)
        place -= columns


class Carousel(torch.autograd.Function):
    """Proposals ẽ_t = e_{C_{t−1}} + f_t and vectors e_{C_t}, both [S, T·N, d], from f [S, T·N, d] and codes [S, T·N].

    Both carry the gradient of the running sum F_t = e₀ + Σ_{s≤t} f_s, so f_t receives what flows into all later steps.
    """

    @staticmethod
    def forward(
        ctx, residual: Tensor, codebook: Tensor, before: Tensor, code: Tensor, steps: int
    ) -> tuple[Tensor, Tensor]:
        S, R, d = residual.shape
        proposal, embedding = torch.empty_like(residual), torch.empty_like(residual)
        given = [value.detach().contiguous() for value in (residual, codebook, before, code)]
        arguments = *given, proposal, embedding, R
        launch(_enter, (tiles(R, 64), S), *arguments, K=codebook.shape[1], SIZE=d, ROWS=64, num_warps=4)
        ctx.steps = steps
        return proposal, embedding

    @staticmethod
    def backward(ctx, *flows: Tensor) -> tuple[Tensor | None, ...]:
        proposal, embedding = flows
        S, R, d = proposal.shape
        columns = R // ctx.steps * d
        into = torch.empty_like(proposal, memory_format=torch.contiguous_format)
        arguments = proposal.contiguous(), embedding.contiguous(), into, columns
        launch(_sum_back, (tiles(columns, 256), S), *arguments, STEPS=ctx.steps, BLOCK=256, num_warps=2)
        return into, None, None, None, None
