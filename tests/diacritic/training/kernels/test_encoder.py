"""The kernels of the encoder against torch, in Triton's interpreter."""

import pytest
import torch
from torch import Tensor

from diacritic.training.kernels.encoder import Encode, outer

RUNS, ROWS, WIDTH, HEADS = 2, 150, 32, 3


def case(low: torch.dtype, drawn: bool) -> tuple[list[Tensor], Tensor, list[Tensor]]:
    """Inputs that end in ones, which of them each row reads, and weights of a usual size."""
    made = torch.Generator().manual_seed(1)
    count = 90 if drawn else ROWS
    inputs = [torch.randn(count, 16, generator=made) for _ in range(2)]
    origins = torch.arange(ROWS, dtype=torch.int32).expand(RUNS, -1)
    if drawn:
        origins = torch.randint(count, (RUNS, ROWS), generator=made, dtype=torch.int32)
    for shown in inputs:
        shown[:, 5] = 1
        shown[:, 6:] = 0
    sizes = ((RUNS, 16, WIDTH), (RUNS, 16, WIDTH), (RUNS, 2 + HEADS, WIDTH, WIDTH), (RUNS, 1 + HEADS, WIDTH))
    weights = [(torch.randn(size, generator=made) / size[-2] ** 0.5).requires_grad_() for size in sizes]
    return [shown.to(low) for shown in inputs], origins, weights


def in_torch(inputs: list[Tensor], origins: Tensor, weights: list[Tensor]) -> tuple[Tensor, ...]:
    """In float64, with weights and activations rounded as they are stored, so that the same units are active."""
    low = inputs[0].dtype
    observation, previous = (shown.double()[origins] for shown in inputs)
    first, acting, wide = (weight.to(low).double() for weight in weights[:3])
    bias = weights[3].double()
    hidden, acted = ((shown @ w).relu().to(low).double() for shown, w in ((observation, first), (previous, acting)))
    features = (hidden @ wide[:, 0] + bias[:, :1]).relu().to(low).double()
    parts = [features @ wide[:, 2 + k] + bias[:, 1 + k : 2 + k] for k in range(HEADS)]
    return features, parts[0] + acted @ wide[:, 1], *parts[1:]  # those after the first two are without content


def error(actual: Tensor, expected: Tensor) -> float:
    return float(((actual - expected).norm() / expected.norm()).detach())


@pytest.mark.parametrize(("low", "close"), [(torch.float32, 1e-5), (torch.float16, 3e-3), (torch.bfloat16, 0.1)])
@pytest.mark.parametrize(  # rows of the runs' own, and outputs that something reads: features, and a head's part
    ("drawn", "used"), [(False, (0, 1, 2, 3)), (True, (1, 3))]
)
def test_values_and_gradients_are_those_of_torch(
    low: torch.dtype, close: float, drawn: bool, used: tuple[int, ...]
) -> None:
    inputs, origins, weights = case(low, drawn)
    actual = Encode.apply(*inputs, origins, *weights, weights[2].detach().to(low))
    expected = in_torch(inputs, origins, weights)
    assert isinstance(actual, tuple)
    assert len(actual) == len(expected)
    assert all(one.dtype == low for one in actual)
    for one, other in zip(actual[:2], expected, strict=False):
        assert error(one, other) < close
    pull = torch.randn(expected[0].shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    flows = [
        torch.autograd.grad([out[k] for k in used], weights, [pull.to(out[k].dtype) for k in used])
        for out in (actual, expected)
    ]
    for one, other in zip(*flows, strict=True):
        assert one.dtype == torch.float32
        assert error(one, other) < close


def test_products_over_rows_are_summed_in_full() -> None:
    made = torch.Generator().manual_seed(3)
    left, *rights = (torch.randn(3, 200, 16, generator=made) for _ in range(4))
    actual = outer(left, *rights)
    assert actual.shape == (3, 3, 17, 16)
    for k, right in enumerate(rights):
        torch.testing.assert_close(actual[:, k, :16], left.mT @ right, rtol=1e-5, atol=1e-4)
        torch.testing.assert_close(actual[:, k, 16], right.sum(1), rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(outer(left, rights[1])[:, 0], actual[:, 1], rtol=1e-5, atol=1e-4)
