"""The kernels of the continuous path against the loop over steps, in Triton's interpreter."""

import pytest
import torch

from diacritic.memory.layers import dense
from diacritic.training import unrolled
from diacritic.training.kernels import path
from diacritic.training.randomness import initial

S, T, N, FEATURES = 2, 5, 19, 8


@pytest.mark.parametrize("width", [16, 32])
@pytest.mark.parametrize("rough", [True, False])
def test_values_and_gradients_are_those_of_the_loop(width: int, rough: bool) -> None:
    layers = dense("path.input", 2 * FEATURES, 3 * width) | dense("path.state", width, 3 * width)
    layers |= dense("path.out", width, 16)
    parameters = {name: (2 * value).requires_grad_() for name, value in initial(layers, range(S)).items()}
    assert path.fits(parameters)
    made = torch.Generator().manual_seed(1)
    side, acted = (torch.randn(S, T * N, FEATURES, generator=made).requires_grad_() for _ in range(2))
    pull = torch.randn(S, T * N, 16, generator=made)
    wanted = [side, acted, *parameters.values()]
    actual = path.path(parameters, side, acted, T, rough)
    expected = unrolled.path(parameters, side, acted, T, rough)
    torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-5)
    flows = [torch.autograd.grad((result * pull).sum(), wanted) for result in (actual, expected)]
    for one, other in zip(*flows, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5 * max(1.0, float(other.abs().max())))


def test_other_sizes_are_left_to_the_loop() -> None:
    assert not path.fits({"path.state.weight": torch.zeros(1, 48, 144)})
    assert not path.fits({"path.state.weight": torch.zeros(1, 32, 96, dtype=torch.float64)})
