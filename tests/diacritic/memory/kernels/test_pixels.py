"""The kernels of blocks against torch, in Triton's interpreter."""

import pytest
import torch
from torch import Tensor

from diacritic.memory import pixel_blocks
from diacritic.memory.kernels import pixels as kernels


@pytest.mark.parametrize(("block", "channels"), [(2, 16), (4, 64)])
@pytest.mark.parametrize("rows", [1, 3])
def test_blocks_of_bytes(block: int, channels: int, rows: int) -> None:
    made = torch.Generator().manual_seed(rows)
    frames = torch.randint(0, 256, (rows, 64, 64, 3), generator=made, dtype=torch.uint8)
    actual = kernels.byte_blocks(frames, block, channels, torch.bfloat16)
    assert actual.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(actual, pixel_blocks.byte_blocks(frames, block, torch.bfloat16))


def _values(kind: torch.dtype, rows: int, channels: int, across: int) -> Tensor:
    x = torch.randn(rows, across, across, channels, generator=torch.Generator().manual_seed(5))
    return x.to(kind).movedim(-1, 1).requires_grad_()


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize(("rows", "channels", "across"), [(2, 32, 8), (3, 64, 10), (1, 128, 4)])
def test_bias_and_relu(kind: torch.dtype, biased: bool, rows: int, channels: int, across: int) -> None:
    bias = torch.linspace(-1, 1, channels).requires_grad_() if biased else None
    given = [_values(kind, rows, channels, across), *([bias] if bias is not None else [])]
    expected = pixel_blocks.rectified(given[0], bias)
    actual = kernels.Rectified.apply(given[0], bias)
    assert actual.shape == expected.shape == (rows, channels, across, across)
    assert actual.is_contiguous(memory_format=torch.channels_last)
    rounding = 2**-7 if kind == torch.bfloat16 else 0.0  # the interpreter cuts bf16 off
    torch.testing.assert_close(actual, expected, rtol=rounding, atol=0)
    pull = torch.randn(expected.shape, generator=torch.Generator().manual_seed(6)).to(kind)
    back = [torch.autograd.grad(y, given, pull) for y in (expected, actual)]
    assert torch.equal(back[1][0], back[0][0])
    if biased:
        assert back[1][1].dtype == torch.float32
        tolerance = 1e-5 if kind == torch.float32 else 1e-4
        torch.testing.assert_close(back[1][1], back[0][1], rtol=tolerance, atol=tolerance * rows * across)


def test_what_is_not_a_number_stays_so() -> None:
    x = _values(torch.float32, 1, 32, 4).detach()
    x[0, 3, 1, 1] = torch.nan
    actual = kernels.Rectified.apply(x, None)
    assert actual.isnan().sum() == 1
    assert actual[0, 3, 1, 1].isnan()


def test_the_front_through_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on CUDA, with the convolutions of the CPU."""
    from diacritic.memory import pixels
    from diacritic.training.randomness import initial

    front = pixels.FRONTS["beside"]
    parameters = {name: value.requires_grad_() for name, value in initial(front.weights(16), [1, 2]).items()}
    names = [name for name in parameters if ".out." not in name]
    made = torch.Generator().manual_seed(3)
    frames = torch.randint(0, 256, (2, 2, 64, 64, 3), generator=made, dtype=torch.uint8)
    results = []
    for used in (False, True):
        if used:
            monkeypatch.setattr(pixel_blocks, "rectified", kernels.Rectified.apply)
            monkeypatch.setattr(
                pixel_blocks, "byte_blocks", lambda x, block, kind: kernels.byte_blocks(x, block, 64, kind)
            )
        seen = pixel_blocks.in_blocks(front, parameters, frames, torch.float32)
        results.append((seen, *torch.autograd.grad(seen.square().sum(), [parameters[name] for name in names])))
    for name, before, after in zip(["output", *names], *results, strict=True):
        torch.testing.assert_close(after, before, rtol=1e-4, atol=1e-5 * float(before.detach().abs().max()), msg=name)
