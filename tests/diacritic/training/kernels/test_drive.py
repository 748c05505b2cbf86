"""The kernel of the exact drive against float64, in Triton's interpreter."""

import pytest
import torch
from torch import Tensor

from diacritic.carrier.cell import Inputs, drive, encoders, observe, residual
from diacritic.carrier.shape import Architecture, Shape
from diacritic.training.kernels.drive import exact_drive_cuda, fits, halves
from diacritic.training.kernels.launch import SIZES, Sizes
from diacritic.training.optimiser import Adam
from diacritic.training.randomness import initial


def case(observed: int, acted: int, width: int, rows: int) -> tuple[dict[str, Tensor], Tensor, Tensor]:
    layers = encoders(Shape(observed, acted), Architecture(width=width)) | residual("residual", width, 8)
    made = torch.Generator().manual_seed(observed + rows)
    strided = Adam(initial(layers, [3, 4]), torch.ones(2)).parameters  # views of one buffer, as in training
    parameters = {name: value.detach() for name, value in strided.items()}
    return parameters, torch.randn(rows, observed, generator=made), torch.randn(rows, acted, generator=made)


def in_float64(parameters: dict[str, Tensor], observation: Tensor, previous: Tensor) -> Tensor:
    wide = {name: value.double() for name, value in parameters.items()}
    inputs = Inputs(observation.double(), previous.double())
    return drive(wide, "residual", observe(wide, inputs), inputs.previous)


def error(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).norm() / expected.norm())


@pytest.mark.parametrize(("observed", "acted", "width", "rows"), [(27, 4, 128, 150), (3, 1, 32, 70), (40, 17, 64, 64)])
def test_drive_is_as_good_as_fp32(observed: int, acted: int, width: int, rows: int) -> None:
    given = case(observed, acted, width, rows)
    expected = in_float64(*given)
    in_torch = drive(given[0], "residual", observe(given[0], Inputs(*given[1:])), given[2])
    found = exact_drive_cuda(*given)
    assert found.dtype == torch.float32
    assert error(found, expected) < 4 * error(in_torch, expected)
    assert error(found, expected) < 1e-6


@pytest.mark.parametrize(("rows", "chunk"), [(16, 64), (64, 16)])
def test_any_tiling_gives_the_same(monkeypatch: pytest.MonkeyPatch, rows: int, chunk: int) -> None:
    given = case(5, 2, 64, 90)
    monkeypatch.setitem(SIZES, "drive", Sizes(rows, chunk=chunk))
    assert error(exact_drive_cuda(*given), in_float64(*given)) < 1e-6


@pytest.mark.parametrize("scale", [1e-3, 30.0])
def test_small_and_large_numbers_keep_their_precision(scale: float) -> None:
    parameters, observation, previous = case(6, 3, 32, 64)
    parameters = {name: value * (scale if name.endswith("weight") else 1) for name, value in parameters.items()}
    found = exact_drive_cuda(parameters, observation, previous)
    assert error(found, in_float64(parameters, observation, previous)) < 1e-6


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
