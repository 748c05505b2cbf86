"""One linear layer of many narrow rows, whose weight's gradient is summed over parts of the rows."""

import torch
from torch import Tensor

from diacritic.training.kernels.perceptron import outer


class _Layer(torch.autograd.Function):
    """x·W + b, [S, R, B], from [S, R, A], [S, A, B] and [S, B]."""

    @staticmethod
    def forward(ctx, rows: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(rows, weight)
        return torch.baddbmm(bias.unsqueeze(1), rows, weight)

    @staticmethod
    def backward(ctx, *flows: Tensor) -> tuple[Tensor, ...]:
        rows, weight = ctx.saved_tensors
        return torch.bmm(flows[0], weight.mT), outer(rows, flows[0]), flows[0].sum(1)


def layer(rows: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """A linear layer of every row, [S, R, B]: products of few columns and many rows have many programs."""
    return _Layer.apply(rows, weight, bias)
