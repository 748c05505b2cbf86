"""The image fronts: grouped convolutions against one run at a time, and the authors' network by its definition."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from diacritic.memory import pixels
from diacritic.memory.encoders import encoders, observe
from diacritic.memory.layers import Parameters
from diacritic.memory.protocol import Inputs
from diacritic.memory.shape import Architecture, Shape
from diacritic.training.preset import preset
from diacritic.training.randomness import initial

CAMERAS = ("added", "beside")


def _shape(camera: str) -> dict:
    return pixels.FRONTS[camera].weights(16)


def _frames(*lead: int) -> Tensor:
    generator = torch.Generator().manual_seed(3)
    return torch.randint(0, 256, (*lead, 64, 64, 3), generator=generator, dtype=torch.uint8)


def _literal(camera: str, parameters: Parameters, frames: Tensor) -> Tensor:
    """One run: three plain convolutions, then the layer on what they give."""
    x = frames.permute(0, 3, 1, 2).double() / 255
    if camera == "added":
        x, name = x - 0.5, "pixels"
        for k, stride in enumerate((4, 2, 1)):
            x = torch.relu(F.conv2d(x, parameters[f"pixels.{k}.weight"], parameters[f"pixels.{k}.bias"], stride))
    else:
        name = "pooled"
        for k, padding in enumerate((2, 2, 1)):
            kernel, bias = parameters[f"pooled.{k}.weight"], parameters[f"pooled.{k}.bias"]
            x = torch.relu(F.conv2d(x, kernel, bias, 2, padding))
        x = F.adaptive_avg_pool2d(x, 4)
    return x.flatten(1) @ parameters[f"{name}.out.weight"] + parameters[f"{name}.out.bias"]


@pytest.mark.parametrize("camera", CAMERAS)
@pytest.mark.parametrize("shared", [True, False])
def test_stacked_runs_equal_plain_convolutions(camera: str, shared: bool) -> None:
    parameters = initial(_shape(camera), [1, 2, 3], torch.float64)
    frames = _frames(4) if shared else _frames(3, 4)
    got = pixels.features(parameters, frames)
    front = pixels.FRONTS[camera]
    in_turn = pixels._in_turn(front, parameters, frames, torch.float64)  # as on CUDA
    for run in range(3):
        one = {name: value[run] for name, value in parameters.items()}
        expected = _literal(camera, one, frames if shared else frames[run])
        torch.testing.assert_close(got[run], expected, rtol=0, atol=1e-12)
        last = in_turn[run] @ one[f"{front.name}.out.weight"] + one[f"{front.name}.out.bias"]
        torch.testing.assert_close(last, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("camera", CAMERAS)
@pytest.mark.parametrize("rough", [False, True])
def test_gradients_reach_every_weight_of_their_own_run(camera: str, rough: bool) -> None:
    parameters = {name: value.requires_grad_() for name, value in initial(_shape(camera), [1, 2]).items()}
    pixels.features(parameters, _frames(2), rough)[1].sum().backward()
    for name, value in parameters.items():
        assert value.grad is not None
        assert value.grad[1].abs().sum() > 0, name
        assert value.grad[0].abs().sum() == 0, name


@pytest.mark.parametrize("camera", CAMERAS)
def test_rough_products_are_those_of_bf16(camera: str) -> None:
    parameters, frames = initial(_shape(camera), [1, 2]), _frames(2, 3)
    rough, exact = pixels.features(parameters, frames, True), pixels.features(parameters, frames)
    assert rough.dtype == exact.dtype == torch.float32
    error = (rough - exact).norm() / exact.norm()
    assert 1e-4 < error < 2e-2


def test_bytes_reach_the_convolutions_channels_last_and_whole() -> None:
    frames = torch.arange(256, dtype=torch.uint8).repeat(48).view(1, 64, 64, 3)
    for shift in (0.0, 0.5):
        x = pixels._channels(frames, torch.bfloat16, shift)
        assert x.is_contiguous(memory_format=torch.channels_last)
        assert torch.equal(x.double(), frames.movedim(-1, -3).double() - 255 * shift)


def test_convolutions_are_unrounded_within_alone() -> None:
    before = torch.backends.cudnn.allow_tf32
    with pixels.unrounded():
        assert not torch.backends.cudnn.allow_tf32
    assert torch.backends.cudnn.allow_tf32 == before


def test_the_authors_encoder() -> None:
    """release.md 1.6: convolutions 5-5-3 to 4 × 4 and 128, eleven numbers to 128, both to 32."""
    carrier = preset("release").architecture(Architecture())
    layers = encoders(Shape(11, 4, frames=True), carrier)
    parameters = initial(layers, [7])
    camera = nn.Sequential(
        *(nn.Conv2d(3, 32, 5, 2, 2), nn.ReLU(), nn.Conv2d(32, 64, 5, 2, 2), nn.ReLU()),
        *(
            nn.Conv2d(64, 64, 3, 2, 1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(4),
            nn.Flatten(),
            nn.Linear(1024, 128),
            nn.ReLU(),
        ),
    )
    numbers, join = nn.Sequential(nn.Linear(11, 128), nn.ReLU()), nn.Linear(256, 32)
    ours = {"pooled.0": camera[0], "pooled.1": camera[2], "pooled.2": camera[4], "pooled.out": camera[8]}
    ours |= {"observe.first": numbers[0], "observe.out": join}
    with torch.no_grad():
        for name, layer in ours.items():
            assert isinstance(layer, nn.Conv2d | nn.Linear)
            weight, bias = parameters[f"{name}.weight"][0], parameters[f"{name}.bias"][0]
            layer.weight.copy_(weight.T if isinstance(layer, nn.Linear) else weight)
            assert layer.bias is not None
            layer.bias.copy_(bias)
            bound = (weight.numel() / len(bias)) ** -0.5
            assert 0.8 * bound < weight.abs().max() <= bound  # starts as PyTorch's
    frames, low = _frames(5), torch.randn(5, 11)
    expected = join(torch.cat([camera(frames.permute(0, 3, 1, 2).float() / 255), numbers(low)], 1)[:, _order()])
    got = observe(parameters, Inputs(low, torch.zeros(5, 4), frame=frames))
    torch.testing.assert_close(got[0], expected, rtol=1e-4, atol=1e-5)
    rest = {name for name in layers if name.startswith("previous.")}
    assert set(layers) == rest | {f"{name}.{part}" for name in ours for part in ("weight", "bias")}


def _order() -> list[int]:
    """Ours joins numbers and camera, in that order."""
    return [*range(128, 256), *range(128)]


def test_a_deep_encoder_may_have_it_too_and_ours_has_not() -> None:
    shape = Shape(11, 4, frames=True)
    deep = encoders(shape, Architecture(camera="beside", width=16))
    assert deep["observe.second.weight"].shape == (32, 16)
    got = observe(initial(deep, [1, 2]), Inputs(torch.zeros(3, 11), torch.zeros(3, 4), frame=_frames(3)))
    assert got.shape == (2, 3, 16)
    ours = encoders(shape, preset("carousel").architecture(Architecture()))
    assert ours["pixels.0.weight"].shape == (32, 3, 8, 8)
    assert ours["observe.second.weight"].shape == (128, 128)
    blind = encoders(replace(shape, frames=False), preset("release").architecture(Architecture()))
    assert blind["observe.out.weight"].shape == (128, 32)
    assert pixels.camera_of(initial(blind, [1])) is None


def test_frames_of_another_shape_are_refused() -> None:
    frames = _frames(2)
    with pytest.raises(ValueError, match=r"frames: expected bytes .* found \(2, 32, 64, 3\)"):
        pixels.features(initial(_shape("added"), [1]), frames[:, :32])
    with pytest.raises(ValueError, match="float64"):
        pixels.features(initial(_shape("beside"), [1]), frames.double())
