"""The state: hard values forward, and backward the reverse running sum of what flows into it."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from diacritic.memory.kernels.launch import launch, tiles


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
    index = (run * rows + row)[:, None] * SIZE + column
    carried = tl.load(codebook + held * SIZE + column, mask=held < K, other=0.0)
    tl.store(proposal + index, carried + tl.load(residual + index, mask=shown, other=0.0), mask=shown)
    tl.store(embedding + index, tl.load(codebook + taken * SIZE + column), mask=shown)


@triton.jit
def _sum_back(flows, into, columns, STEPS, ROWS: tl.constexpr):
    run = tl.program_id(1).to(tl.int64)
    column = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    shown = column < columns
    index = (run * STEPS + STEPS - 1) * columns + column
    total = tl.zeros((ROWS,), tl.float32)
    for _ in range(STEPS):
        for k in tl.static_range(len(flows)):  # pyright: ignore[reportGeneralTypeIssues]
            total += tl.load(flows[k] + index, mask=shown, other=0.0).to(tl.float32)
        tl.store(into + index, total, mask=shown)
        index -= columns


class State(torch.autograd.Function):
    """Proposals ẽ_t = e_{C_{t−1}} + f_t and vectors e_{C_t}, both [S, T·N, d], from f [S, T·N, d] and codes [S, T·N].

    Both carry the gradient of the running sum F_t = e₀ + Σ_{s≤t} f_s, so f_t receives what flows into all later steps.
    After them come `paths` tensors of that shape without content: a kernel that knows the state by its codes sends
    what flows back, of precision `low`, along one of its own.
    """

    @staticmethod
    def forward(
        ctx,
        residual: Tensor,
        codebook: Tensor,
        before: Tensor,
        code: Tensor,
        steps: int,
        paths: int = 0,
        low: torch.dtype = torch.float32,
    ) -> tuple[Tensor, ...]:
        S, R, d = residual.shape
        proposal, embedding = torch.empty_like(residual), torch.empty_like(residual)
        given = [value.detach().contiguous() for value in (residual, codebook, before, code)]
        arguments = *given, proposal, embedding, R
        launch("enter", _enter, (tiles("enter", R), S), *arguments, K=codebook.shape[1], SIZE=d)
        ctx.steps = steps
        ctx.set_materialize_grads(False)
        empty = [torch.empty_strided((S, R, d), (0, 0, 0), dtype=low, device=residual.device) for _ in range(paths)]
        return proposal, embedding, *empty

    @staticmethod
    def backward(ctx, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        flows = tuple(flow.contiguous() for flow in gradients if flow is not None)
        S, R, d = flows[0].shape
        columns = R // ctx.steps * d
        into = torch.empty(S, R, d, device=flows[0].device)
        launch("sum back", _sum_back, (tiles("sum back", columns), S), flows, into, columns, STEPS=ctx.steps)
        return into, None, None, None, None, None, None
