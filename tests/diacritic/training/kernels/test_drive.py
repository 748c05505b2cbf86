"""The kernel of the exact drive against float64, in Triton's interpreter."""

import pytest
import torch
from torch import Tensor

from diacritic.memory.kernels.launch import SIZES, Sizes
from diacritic.memory.protocol import Inputs
from diacritic.memory.shape import Architecture, Shape
from diacritic.memory.sole_carrier import drive, encoders, observe, residual
from diacritic.training.kernels.drive import exact_drive_cuda, fits, halves
from diacritic.training.optimiser import Adam
from diacritic.training.randomness import initial


def case(observed: int, acted: int, width: int, inputs: int) -> tuple[dict[str, Tensor], Tensor, Tensor]:
    layers = encoders(Shape(observed, acted), Architecture(width=width)) | residual(
        "residual", Architecture(width=width, code_size=8)
    )
    made = torch.Generator().manual_seed(observed + inputs)
    strided = Adam(initial(layers, [3, 4]), torch.ones(2)).parameters  # views of one buffer, as in training
    parameters = {name: value.detach() for name, value in strided.items()}
    return parameters, torch.randn(inputs, observed, generator=made), torch.randn(inputs, acted, generator=made)


def drawn(inputs: int, rows: int) -> Tensor:
    """Which input each row reads, other ones in each of two runs."""
    made = torch.Generator().manual_seed(inputs)
    return torch.randint(inputs, (2, rows), generator=made, dtype=torch.int32)


def in_float64(parameters: dict[str, Tensor], observation: Tensor, previous: Tensor, origins: Tensor) -> Tensor:
    wide = {name: value.double() for name, value in parameters.items()}
    inputs = Inputs(observation.double()[origins], previous.double()[origins])
    return drive(wide, "residual", observe(wide, inputs), inputs.previous)


def error(actual: Tensor, expected: Tensor) -> float:
    return float((actual - expected).norm() / expected.norm())


@pytest.mark.parametrize(
    ("observed", "acted", "width", "inputs", "rows"), [(27, 4, 128, 90, 150), (3, 1, 32, 70, 70), (40, 17, 64, 64, 30)]
)
def test_drive_is_as_good_as_fp32(observed: int, acted: int, width: int, inputs: int, rows: int) -> None:
    given = case(observed, acted, width, inputs)
    origins = drawn(inputs, rows)
    expected = in_float64(*given, origins)
    shown = Inputs(*(values[origins] for values in given[1:]))
    in_torch = drive(given[0], "residual", observe(given[0], shown), shown.previous)
    actual = exact_drive_cuda(*given, origins)
    assert actual.dtype == torch.float32
    assert error(actual, expected) < 4 * error(in_torch, expected)
    assert error(actual, expected) < 1e-6


@pytest.mark.parametrize(("rows", "chunk"), [(16, 64), (64, 16)])
def test_any_tiling_gives_the_same(monkeypatch: pytest.MonkeyPatch, rows: int, chunk: int) -> None:
    given = case(5, 2, 64, 90)
    monkeypatch.setitem(SIZES, "drive", Sizes(rows, chunk=chunk))
    origins = torch.arange(90, dtype=torch.int32).expand(2, -1)
    assert error(exact_drive_cuda(*given, origins), in_float64(*given, origins)) < 1e-6


@pytest.mark.parametrize("scale", [1e-3, 30.0])
def test_small_and_large_numbers_keep_their_precision(scale: float) -> None:
    parameters, observation, previous = case(6, 3, 32, 64)
    parameters = {name: value * (scale if name.endswith("weight") else 1) for name, value in parameters.items()}
    given = parameters, observation, previous, drawn(64, 64)
    assert error(exact_drive_cuda(*given), in_float64(*given)) < 1e-6


def test_halves_add_up_to_22_bits() -> None:
    values = 256 * torch.randn(1000, generator=torch.Generator().manual_seed(0))
    high, low = halves(values)
    assert ((high.double() + low.double() - values).abs() <= 2.0**-22 * values.abs()).all()


def test_inputs_that_do_not_fit_are_left_to_torch() -> None:
    parameters, observation, previous = case(6, 3, 32, 8)
    assert fits(parameters, observation, previous)
    assert not fits(parameters, observation.expand(2, -1, -1), previous)
    assert not fits(parameters, observation.double(), previous)
    assert not fits(case(6, 3, 48, 8)[0], observation, previous)
