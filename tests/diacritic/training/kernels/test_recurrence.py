"""The kernels of the recurrence against the definition, in Triton's interpreter."""

import warnings
from typing import Literal

import pytest
import torch
from torch import Tensor

from diacritic.memory.shape import Architecture, Shape
from diacritic.memory.sole_carrier import residual
from diacritic.training import unrolled
from diacritic.training.kernels import recurrence
from diacritic.training.randomness import initial

S, T, N = 2, 6, 19
SHAPE = Shape(3, 2)


def case(architecture: Architecture) -> tuple[dict[str, Tensor], Tensor]:
    from diacritic.memory.layers import Weight

    layers = residual("residual", architecture)
    layers["codebook"] = Weight((architecture.codes, architecture.code_size), "normal", 0.5)
    parameters = {name: value.requires_grad_() for name, value in initial(layers, range(S)).items()}
    made = torch.Generator().manual_seed(1)
    return parameters, torch.randn(S, T * N, architecture.width, generator=made).requires_grad_()


@pytest.mark.parametrize(
    ("bound", "layers", "start", "persistent", "codes", "path"),
    [
        ("sphere", 2, "first code", True, 5, "none"),
        ("sphere", 1, "zero", True, 16, "none"),
        ("tanh", 2, "first code", True, 17, "none"),
        ("none", 2, "zero", True, 5, "none"),
        ("sphere", 2, "first code", False, 5, "none"),
        ("sphere", 2, "first code", True, 150, "none"),
        ("sphere", 2, "first code", True, 5, "scaffold"),
        ("tanh", 1, "zero", True, 130, "scaffold"),
    ],
)
def test_values_codes_and_gradients_are_those_of_the_loop(
    bound: str, layers: int, start: str, persistent: bool, codes: int, path: Literal["none", "scaffold"]
) -> None:
    changes = {"bound": bound, "start": start, "persistent": persistent, "residual_layers": layers, "codes": codes}
    architecture = Architecture(width=32, code_size=16, encoder="narrow", features=8, **changes)
    parameters, driven = case(architecture)
    made = torch.Generator().manual_seed(3)
    pushed = torch.randn(S, T * N, 16, generator=made).requires_grad_() if path != "none" else None
    expected = unrolled.follow(parameters, architecture, driven, T, "full", rough=False, pushed=pushed)
    actual = recurrence.follow(parameters, architecture, driven, T, rough=False, pushed=pushed)
    assert torch.equal(actual[2], expected[2])
    made = torch.Generator().manual_seed(2)
    pull = [torch.randn(S, T * N, 16, generator=made) for _ in range(2)]
    wanted = [driven, *parameters.values(), *([] if pushed is None else [pushed])]
    for used in ((0, 1), (0,), (1,)):
        flows = []
        for result in (actual, expected):
            total = torch.stack([(result[k] * pull[k]).sum() for k in used]).sum()
            flows.append(
                torch.autograd.grad(total, wanted, retain_graph=True, allow_unused=True, materialize_grads=True)
            )
        for one, other in zip(*flows, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
    for one, other in zip(actual[:2], expected[:2], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("codes", [5, 70])
def test_a_proposal_that_is_not_a_number_has_a_code_all_the_same(codes: int) -> None:
    architecture = Architecture(width=32, code_size=16, encoder="narrow", features=8, codes=codes, bound="tanh")
    parameters, driven = case(architecture)
    spoiled = driven.detach().clone()
    spoiled[0, 3], spoiled[1, 8] = float("nan"), float("inf")
    with warnings.catch_warnings():  # numpy's, of the interpreter
        warnings.simplefilter("ignore", RuntimeWarning)
        _, embedding, code = recurrence.follow(parameters, architecture, spoiled, T, rough=False)
    assert code.min() >= 0
    assert code.max() < codes
    assert embedding.isfinite().all()


def test_sizes_that_do_not_fit_are_left_to_the_loop() -> None:
    usual = Architecture(encoder="narrow", residual_layers=2)
    parameters, _ = case(usual)
    assert recurrence.fits(parameters, usual)
    for other in (Architecture(width=48), Architecture(code_size=8), Architecture(residual_layers=3)):
        assert not recurrence.fits(parameters, other)
    assert not recurrence.fits({name: value.double() for name, value in parameters.items()}, usual)
