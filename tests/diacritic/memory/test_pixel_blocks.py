"""Convolutions on blocks are the strided ones, in the sums and in every gradient."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor

from diacritic.memory import pixel_blocks, pixels
from diacritic.training.randomness import initial

BESIDE = pixels.FRONTS["beside"]
PLANS = [(1, 0, 0), (2, 1, 0)]


def _frames(*lead: int) -> Tensor:
    made = torch.Generator().manual_seed(3)
    return torch.randint(0, 256, (*lead, 64, 64, 3), generator=made, dtype=torch.uint8)


def _folded(x: Tensor, block: int) -> Tensor:
    """Pixels [rows, C, n, n] as blocks whose channels are ordered by line, column and channel."""
    parts = [x[:, :, line::block, column::block] for line in range(block) for column in range(block)]
    return torch.cat(parts, 1)


@given(
    taps=st.integers(1, 7), stride=st.integers(1, 3), outputs=st.integers(1, 3), seed=st.integers(0, 99), data=st.data()
)
@settings(max_examples=40, deadline=None)
def test_a_blocked_kernel_does_what_the_strided_one_does(
    taps: int, stride: int, outputs: int, seed: int, data: st.DataObject
) -> None:
    """On any sizes at which blocks tile inputs and outputs."""
    padding = data.draw(st.integers(0, taps // 2))
    side = stride * outputs
    assume(padding <= side and side + stride * (outputs - 1) - padding + taps <= 3 * side)
    made = torch.Generator().manual_seed(seed)
    x = torch.randn(2, 3, 3 * side, 3 * side, generator=made, dtype=torch.float64)
    kernel = torch.randn(4, 3, taps, taps, generator=made, dtype=torch.float64)
    room = max(0, stride * (3 * outputs - 1) + taps - padding - 3 * side)  # below and to the right, as blocks have it
    expected = F.conv2d(F.pad(x, (padding, room, padding, room)), kernel, None, stride)[
        ..., : 3 * outputs, : 3 * outputs
    ]
    actual = F.conv2d(_folded(x, side), pixel_blocks.blocked(kernel, stride, padding, outputs), None, 1, 1)
    torch.testing.assert_close(actual, _folded(expected, outputs), rtol=0, atol=1e-10)


def test_taps_beyond_the_neighbouring_blocks_are_refused() -> None:
    with pytest.raises(ValueError, match="7 taps reach beyond the blocks beside one of 2 pixels"):
        pixel_blocks.blocked(torch.zeros(1, 1, 7, 7), 2, 2, 1)
    with pytest.raises(ValueError, match="3 taps"):
        pixel_blocks.blocked(torch.zeros(1, 1, 3, 3), 1, 2, 1)


@pytest.mark.parametrize("blocks", PLANS)
@pytest.mark.parametrize("shared", [True, False])
def test_the_front_in_blocks_is_the_strided_one(blocks: tuple[int, ...], shared: bool) -> None:
    parameters = initial(BESIDE.weights(16), [1, 2], torch.float64)
    front, frames = replace(BESIDE, blocks=blocks), _frames(3) if shared else _frames(2, 3)
    names = [name for name in parameters if ".out." not in name]
    for name in names:
        parameters[name].requires_grad_()
    expected = pixels._in_turn(front, parameters, frames, torch.float64)
    actual = pixel_blocks.in_blocks(front, parameters, frames, torch.float64)
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-12)
    pull = torch.randn(expected.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    flows = [
        torch.autograd.grad((seen * pull).sum(), [parameters[name] for name in names]) for seen in (expected, actual)
    ]
    for name, before, after in zip(names, *flows, strict=True):
        assert before.abs().max() > 0, name
        torch.testing.assert_close(after, before, rtol=1e-10, atol=1e-10, msg=lambda text, name=name: name + text)


@pytest.mark.parametrize("blocks", PLANS)
def test_bf16_in_blocks_is_as_near_to_the_exact_front_as_strided_bf16(blocks: tuple[int, ...]) -> None:
    parameters, frames = initial(BESIDE.weights(16), [1]), _frames(4)
    exact = pixels._grouped(BESIDE, parameters, frames)
    errors = []
    for seen in (
        pixels._in_turn(BESIDE, parameters, frames, torch.bfloat16),
        pixel_blocks.in_blocks(replace(BESIDE, blocks=blocks), parameters, frames, torch.bfloat16),
    ):
        assert seen.dtype == torch.bfloat16
        errors.append(float((seen.float() - exact).norm() / exact.norm()))
    strided, own = errors
    assert 1e-4 < own < 1.5 * strided < 2e-2


def test_bytes_are_whole_and_one_channel_is_one() -> None:
    frames = torch.arange(256, dtype=torch.uint8).repeat(48).view(1, 64, 64, 3)
    for block, channels in ((2, 16), (4, 64)):
        x = pixel_blocks.byte_blocks(frames, block, torch.bfloat16)
        assert x.shape == (1, channels, 64 // block, 64 // block)
        assert x.is_contiguous(memory_format=torch.channels_last)
        own = 3 * block * block
        assert torch.equal(x[:, :own].double(), _folded(frames.movedim(-1, 1).double(), block))
        assert (x[:, own] == 1).all()
        assert (x[:, own + 1 :] == 0).all()


def test_the_front_of_the_release_goes_in_blocks_and_ours_does_not() -> None:
    assert len(BESIDE.blocks) == len(BESIDE.layers)
    assert pixels.FRONTS["added"].blocks == ()


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float32])
def test_only_bf16_on_cuda_goes_in_blocks(kind: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    """With tensors that say that they are there."""

    class There(Tensor):
        is_cuda = True  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]

    asked = []
    monkeypatch.setattr(pixel_blocks, "in_blocks", lambda *given: asked.append("blocks"))
    monkeypatch.setattr(pixels, "_in_turn", lambda *given: asked.append("strided"))
    for camera in ("beside", "added"):
        for frames in (_frames(1), _frames(1).as_subclass(There)):
            pixels._run_by_run(pixels.FRONTS[camera], {}, frames, kind)
    fast = "blocks" if kind == torch.bfloat16 else "strided"
    assert asked == ["strided", fast, "strided", "strided"]
