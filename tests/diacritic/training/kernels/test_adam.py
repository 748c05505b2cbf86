"""The kernel of the optimiser against its definition, in Triton's interpreter."""

import pytest
import torch
from torch import Tensor

from diacritic.training.kernels.adam import descend_cuda
from diacritic.training.optimiser import BETAS, EPSILON, Adam


def in_kernel(adam: Adam, gradient: Tensor) -> None:
    """What `Adam` does with a gradient, with the kernel for the passes over the buffers."""
    adam.gradient.copy_(gradient)
    norm = gradient.norm(dim=1)
    adam.diverged |= ~norm.isfinite()
    factor = torch.ones_like(norm) if adam.clip is None else adam.clip / norm.clamp(min=adam.clip)
    adam.count += 1
    unbias = (1 - BETAS[1] ** adam.count.double()).sqrt()
    rate = adam.rates.masked_fill(adam.diverged, 0.0) * unbias / (1 - BETAS[0] ** adam.count.double())
    buffers = adam.flat, adam.gradient, adam.mean, adam.square
    descend_cuda(buffers, factor, adam.diverged, rate.to(norm), (EPSILON * unbias).to(norm), BETAS, adam.clipped)


@pytest.mark.parametrize(("precision", "close"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])
def test_three_steps_of_three_runs_of_which_one_diverges(precision: torch.dtype, close: float) -> None:
    made = torch.Generator().manual_seed(0)
    start = {name: torch.randn(3, size, generator=made, dtype=precision) for name, size in (("w", 1280), ("b", 7))}
    rates = torch.tensor([1e-2, 1e-3, 1e-1], dtype=precision)
    one, other = (Adam(start, rates, clip=5.0) for _ in range(2))
    for step in range(3):
        gradient = torch.randn(one.flat.shape, generator=made, dtype=precision) * rates.sqrt().unsqueeze(1)
        gradient[2, 5] = float("nan") if step == 1 else 1.0
        in_kernel(one, gradient)
        other.descend(
            torch.stack([(other.parameters[name] * flow).sum() for name, flow in other.views(gradient).items()]).sum()
        )
        assert one.diverged.tolist() == [False, False, step > 0]
    assert (other.flat[2] != torch.cat([value[2].flatten() for value in start.values()])).any()
    for key, value in other.state().items():
        torch.testing.assert_close(one.state()[key], value, rtol=close, atol=1e-2 * close)
    torch.testing.assert_close(one.gradient, other.gradient, rtol=close, atol=1e-2 * close)
