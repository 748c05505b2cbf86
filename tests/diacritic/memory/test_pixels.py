"""The image front: grouped convolutions against one run at a time."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from diacritic.memory import pixels
from diacritic.training.randomness import initial

SHAPE = pixels.weights(16)


def _frames(*lead: int) -> Tensor:
    generator = torch.Generator().manual_seed(3)
    return torch.randint(0, 256, (*lead, 64, 64, 3), generator=generator, dtype=torch.uint8)


def _literal(parameters: dict[str, Tensor], frames: Tensor) -> Tensor:
    """One run: three plain convolutions, then the layer on what they give."""
    x = frames.permute(0, 3, 1, 2).double() / 255 - 0.5
    for k, stride in enumerate((4, 2, 1)):
        x = torch.relu(F.conv2d(x, parameters[f"pixels.{k}.weight"], parameters[f"pixels.{k}.bias"], stride))
    return x.flatten(1) @ parameters["pixels.out.weight"] + parameters["pixels.out.bias"]


@pytest.mark.parametrize("shared", [True, False])
def test_stacked_runs_equal_plain_convolutions(shared: bool) -> None:
    parameters = initial(SHAPE, [1, 2, 3], torch.float64)
    frames = _frames(4) if shared else _frames(3, 4)
    got = pixels.features(parameters, frames)
    for run in range(3):
        one = {name: value[run] for name, value in parameters.items()}
        torch.testing.assert_close(got[run], _literal(one, frames if shared else frames[run]), rtol=0, atol=1e-12)


def test_gradients_reach_every_weight_of_their_own_run() -> None:
    parameters = {name: value.requires_grad_() for name, value in initial(SHAPE, [1, 2], torch.float64).items()}
    pixels.features(parameters, _frames(2))[1].sum().backward()
    for name, value in parameters.items():
        assert value.grad is not None
        assert value.grad[1].abs().sum() > 0, name
        assert value.grad[0].abs().sum() == 0, name


def test_frames_of_another_shape_are_refused() -> None:
    frames = _frames(2)
    with pytest.raises(ValueError, match=r"frames: expected bytes .* found \(2, 32, 64, 3\)"):
        pixels.features(initial(SHAPE, [1]), frames[:, :32])
    with pytest.raises(ValueError, match="float64"):
        pixels.features(initial(SHAPE, [1]), frames.double())
