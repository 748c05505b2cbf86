"""The kernels of the encoder against torch, in Triton's interpreter."""

import pytest
import torch
from torch import Tensor

from diacritic.training.kernels.encoder import Encode, outer

RUNS, ROWS, WIDTH, HEADS = 2, 150, 32, 3


def case(low: torch.dtype) -> tuple[list[Tensor], list[Tensor]]:
    """Inputs that end in ones, and weights of a usual size."""
    made = torch.Generator().manual_seed(1)
    inputs = [torch.randn(ROWS, 16, generator=made) for _ in range(2)]
    for shown in inputs:
        shown[:, 5] = 1
        shown[:, 6:] = 0
    sizes = ((RUNS, 16, WIDTH), (RUNS, 16, WIDTH), (RUNS, 2 + HEADS, WIDTH, WIDTH), (RUNS, 1 + HEADS, WIDTH))
    weights = [(torch.randn(size, generator=made) / size[-2] ** 0.5).requires_grad_() for size in sizes]
    return [shown.to(low) for shown in inputs], weights


def in_torch(inputs: list[Tensor], weights: list[Tensor]) -> tuple[Tensor, ...]:
    """In float64, with weights and activations rounded as they are stored, so that the same units are active."""
    low = inputs[0].dtype
    observation, previous = (shown.double() for shown in inputs)
    first, acting, wide = (weight.to(low).double() for weight in weights[:3])
    bias = weights[3].double()
    hidden, acted = ((shown @ w).relu().to(low).double() for shown, w in ((observation, first), (previous, acting)))
    features = (hidden @ wide[:, 0] + bias[:, :1]).relu().to(low).double()
    parts = [features @ wide[:, 2 + k] + bias[:, 1 + k : 2 + k] for k in range(HEADS)]
    return features, parts[0] + acted @ wide[:, 1], *parts[1:]


def error(found: Tensor, expected: Tensor) -> float:
    return float(((found - expected).norm() / expected.norm()).detach())


@pytest.mark.parametrize(("low", "close"), [(torch.float32, 1e-5), (torch.float16, 3e-3), (torch.bfloat16, 0.1)])
@pytest.mark.parametrize("used", [(0, 1, 2, 3), (1, 2)])  # outputs that something reads: features, and a head's part
def test_values_and_gradients_are_those_of_torch(low: torch.dtype, close: float, used: tuple[int, ...]) -> None:
    inputs, weights = case(low)
    found, expected = Encode.apply(*inputs, *weights), in_torch(inputs, weights)
    assert isinstance(found, tuple)
    pull = torch.randn(expected[0].shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == low
        assert error(one, other) < close
    flows = [
        torch.autograd.grad(torch.stack([out[k] * pull for k in used]).sum(), weights) for out in (found, expected)
    ]
    for one, other in zip(*flows, strict=True):
        assert one.dtype == torch.float32
        assert error(one, other) < close


def test_products_over_rows_are_summed_in_full() -> None:
    made = torch.Generator().manual_seed(3)
    left, right = (torch.randn(3, 200, 16, generator=made) for _ in range(2))
    product, total = outer(left, right)
    torch.testing.assert_close(product, left.mT @ right, rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(total, right.sum(1), rtol=1e-5, atol=1e-4)
