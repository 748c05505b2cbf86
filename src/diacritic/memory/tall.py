"""Layers of very many rows and few columns: the gradient of the weight is summed over parts of the rows.

A product of few columns has few programs on a GPU, however many rows it sums over.
"""

import torch
from torch import Tensor

PARTS = 8
"""Parts of the rows at most."""
TALL = 4096
"""Rows from which it is worth it."""
EVEN = 8
"""Columns of half precision are padded to a multiple of this, which tensor cores take."""


class _Tall(torch.autograd.Function):
    """x·W + b, [S, R, B], from [S, R, A], [S, A, B] and [S, B]."""

    @staticmethod
    def forward(ctx, rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(rows, weight)
        return torch.bmm(rows, weight) if bias is None else torch.baddbmm(bias.unsqueeze(1), rows, weight)

    @staticmethod
    def backward(ctx, *flows: Tensor) -> tuple[Tensor | None, ...]:
        (rows, weight), flow = ctx.saved_tensors, flows[0]
        of_rows, of_weight, of_bias = ctx.needs_input_grad
        return (
            torch.bmm(flow, weight.mT) if of_rows else None,
            outer(rows, flow) if of_weight else None,
            flow.sum(1) if of_bias else None,
        )


def tall_linear(rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """A linear layer of every row, [S, R, B]."""
    return _Tall.apply(rows, weight, bias)


def outer(left: Tensor, right: Tensor) -> Tensor:
    """leftᵀ·right of every run, [S, A, B] from [S, R, A] and [S, R, B]."""
    (S, R, A), B = left.shape, right.shape[2]
    parts = next(count for count in (PARTS, 4, 2, 1) if R % count == 0)
    cut = [_even(value).contiguous().view(S * parts, R // parts, -1) for value in (left, right)]
    return torch.bmm(cut[0].mT, cut[1])[:, :A, :B].unflatten(0, (S, parts)).sum(1)


def _even(values: Tensor) -> Tensor:
    missing = -values.shape[2] % EVEN if values.dtype.itemsize == 2 else 0
    return torch.nn.functional.pad(values, (0, missing)) if missing else values
