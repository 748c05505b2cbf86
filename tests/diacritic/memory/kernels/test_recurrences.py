"""Kernels that follow a memory through whole episodes against its loop over steps, in Triton's interpreter."""

from typing import Literal

import pytest
import torch
from torch import Tensor

from diacritic.memory import kinds
from diacritic.memory.kernels import launch
from diacritic.memory.protocol import Flow, Inputs
from diacritic.memory.shape import Architecture, Shape
from diacritic.training.randomness import initial

S = 2
SHAPE = Shape(observation=5, action=2, horizon=7)


def outcome(architecture: Architecture, flow: Flow, steps: int, rows: int, scale: float) -> list[Tensor]:
    """Codes, proposals, vectors and the gradient of every parameter and input of whole episodes."""
    memory = kinds.memory_of(architecture)
    begun = initial(memory.weights(SHAPE, architecture), range(S))
    parameters = {name: (scale * value).requires_grad_() for name, value in begun.items()}
    made = torch.Generator().manual_seed(steps)
    seen, acted = (torch.randn(S, steps, rows, size, generator=made).requires_grad_() for size in (5, 2))
    (record,) = memory.unroll(parameters, architecture, Inputs(seen, acted), flow)
    outputs = [one for one in (record.proposal, record.embedding, record.actions) if one is not None]
    loss = sum((one * torch.randn(one.shape, generator=made)).sum() for one in outputs)
    assert isinstance(loss, Tensor)
    slopes = torch.autograd.grad(loss, [seen, acted, *parameters.values()], allow_unused=True)
    return [
        record.code,
        *(one.detach() for one in outputs),
        *(torch.zeros(()) if slope is None else slope for slope in slopes),
    ]


def compare(
    monkeypatch: pytest.MonkeyPatch,
    architecture: Architecture,
    flow: Flow = Flow(),  # noqa: B008
    steps: int = 5,
    rows: int = 3,
    scale: float = 2.0,
) -> None:
    """The loop's results are those of the kernels, which must have been started."""
    expected = outcome(architecture, flow, steps, rows, scale)
    started = []
    start = launch.start
    monkeypatch.setattr(launch, "start", lambda *given: (started.append(given[0]), start(*given)))
    monkeypatch.setattr(f"diacritic.memory.{MODULES[architecture.memory]}.usable", lambda values: True)
    actual = outcome(architecture, flow, steps, rows, scale)
    assert len(set(started)) == 2  # one forward, one back
    for one, other in zip(actual, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5 * max(1.0, float(other.abs().max())))


MODULES = {
    "bistable": "bistable",
    "gru": "gru",
    "gru-chrono": "gru",
    "gru-code": "code_kinds",
    "fsq": "code_kinds",
    "lfq": "code_kinds",
}
"""Where each memory asks whether there are kernels."""


@pytest.mark.parametrize(("size", "rows"), [(16, 3), (16, 9), (48, 2)])
def test_bistable_units(monkeypatch: pytest.MonkeyPatch, size: int, rows: int) -> None:
    compare(monkeypatch, Architecture(width=16, memory="bistable", state_size=size), rows=rows)


@pytest.mark.parametrize("name", ["gru", "gru-chrono"])
@pytest.mark.parametrize("size", [16, 128])
def test_gru(monkeypatch: pytest.MonkeyPatch, name: str, size: int) -> None:
    compare(monkeypatch, Architecture(width=16, memory=name, state_size=size), scale=1.5)


@pytest.mark.parametrize(("name", "codes"), [("fsq", 16), ("fsq", 64), ("lfq", 16), ("lfq", 8)])
@pytest.mark.parametrize("gradient", ["full", "carousel"])
def test_lattices(monkeypatch: pytest.MonkeyPatch, name: str, codes: int, gradient: str) -> None:
    compare(monkeypatch, Architecture(width=16, codes=codes, memory=name), Flow(gradient))


@pytest.mark.parametrize("bound", ["none", "tanh", "sphere"])
@pytest.mark.parametrize(("codes", "start"), [(16, "zero"), (5, "first code")])
def test_gru_code(
    monkeypatch: pytest.MonkeyPatch,
    bound: Literal["none", "tanh", "sphere"],
    codes: int,
    start: Literal["zero", "first code"],
) -> None:
    sizes = Architecture(width=16, codes=codes, code_size=16, memory="gru-code", bound=bound, start=start)
    compare(monkeypatch, sizes, rows=17)
