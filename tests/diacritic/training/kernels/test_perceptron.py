"""The kernels of small networks against torch, in Triton's interpreter."""

import pytest
import torch
from torch import Tensor

from diacritic.training.kernels.perceptron import perceptron

S, R, H = 2, 150, 32


@pytest.mark.parametrize(
    ("left", "right", "deep", "outputs", "table"),
    [(27, 0, False, 20, 0), (16, 8, True, 4, 0), (16, 16, False, 4, 7), (4, 3, True, 33, 5)],
)
def test_outputs_and_gradients_are_those_of_torch(left: int, right: int, deep: bool, outputs: int, table: int) -> None:
    made = torch.Generator().manual_seed(left)

    def normal(*size: int, scale: float = 1.0) -> Tensor:
        return (scale * torch.randn(S, *size, generator=made)).requires_grad_()

    inputs = normal(R, left), normal(R, right) if right else None
    first = normal(left, H, scale=0.3), normal(right, H, scale=0.3) if right else None, normal(H)
    inner = (normal(H, H, scale=0.3), normal(H)) if deep else (None, None)
    last = normal(H, outputs, scale=0.3), normal(outputs)
    index = torch.randint(max(table, 1), (S, R), generator=made)
    told = (normal(table, H), index) if table else None
    actual = perceptron(inputs, first, inner, last, rough=False, told=told)

    hidden = inputs[0] @ first[0] + first[2].unsqueeze(1)
    if inputs[1] is not None and first[1] is not None:
        hidden = hidden + inputs[1] @ first[1]
    if told is not None:
        hidden = hidden + told[0].gather(1, index.unsqueeze(-1).expand(-1, -1, H))
    hidden = hidden.relu()
    if inner[0] is not None and inner[1] is not None:
        hidden = (hidden @ inner[0] + inner[1].unsqueeze(1)).relu()
    expected = hidden @ last[0] + last[1].unsqueeze(1)
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-4)

    pull = torch.randn(actual.shape, generator=made)
    given = [*inputs, *first, *inner, *last, None if told is None else told[0]]
    wanted = [value for value in given if value is not None]
    flows = [torch.autograd.grad((result * pull).sum(), wanted) for result in (actual, expected)]
    for one, other in zip(*flows, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)


def test_inputs_that_nothing_flows_into_are_left_out() -> None:
    made = torch.Generator().manual_seed(0)
    first, last, bias, end = (torch.randn(S, *size, generator=made) for size in ((5, H), (H, 3), (H,), (3,)))
    shown = torch.randn(S, R, 5, generator=made)
    out = perceptron((shown, None), (first.requires_grad_(), None, bias), (None, None), (last, end), rough=False)
    (flow,) = torch.autograd.grad(out.sum(), first)
    expected = torch.autograd.grad(
        (((shown @ first + bias.unsqueeze(1)).relu() @ last) + end.unsqueeze(1)).sum(), first
    )
    torch.testing.assert_close(flow, expected[0], rtol=1e-3, atol=1e-3)
