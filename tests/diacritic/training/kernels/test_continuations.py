"""The kernels of every continuation against the definition in float64, in Triton's interpreter."""

from dataclasses import replace
from typing import Any

import pytest
import torch
import triton.language as tl
from carrier_twin import gradients, schedule_at, vectors
from torch import Tensor
from triton.runtime import interpreter

from diacritic.memory.encoders import encode_action, encoders
from diacritic.memory.kernels.launch import SIZES
from diacritic.memory.shape import Architecture
from diacritic.training import parallel
from diacritic.training.data import Data
from diacritic.training.kernels import continuations
from diacritic.training.kernels.narrow import NarrowHeads
from diacritic.training.objectives.continuations import EveryContinuation
from diacritic.training.randomness import initial
from diacritic.training.trace import Trace, head_trace

S, T, N, ROOM = 2, 6, 40, 37
SMALL = Architecture(width=32, code_size=16, features=16, encoder="narrow")
DATA = vectors(T, N)
ROUNDED = 1e-2
"""The relative error of a gradient, by norm, that factors of 8 bits leave."""


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    for kernel in ("chains", "chains back", "chain head", "chain sums"):
        monkeypatch.setitem(SIZES, kernel, SIZES[kernel]._replace(rows=16, programs=10))


@pytest.fixture(autouse=True)
def nearest_bf16(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter cuts fp32 off where it becomes bf16; here it rounds to the nearest, as the chip does."""
    cast = interpreter.InterpreterBuilder.cast_impl

    def rounded(self, src, dst_type):
        if src.dtype.scalar != tl.float32 or dst_type.scalar != tl.bfloat16:
            return cast(self, src, dst_type)
        nearest = torch.from_numpy(src.data.copy()).to(torch.bfloat16).view(torch.uint16).numpy()
        return interpreter.TensorHandle(nearest, tl.bfloat16)

    monkeypatch.setattr(interpreter.InterpreterBuilder, "cast_impl", rounded)


def weights(drawn: bool) -> Tensor:
    """Of all episodes in the first run; in the second, of a few of the first 10 where some are drawn."""
    counts = torch.randint(1, 4, (S, ROOM), generator=torch.Generator().manual_seed(5)).double()
    if drawn:
        counts[1, 10:] = 0
        counts[1, 3:6] = 0
        counts[0, 20] = 0
    return counts / counts.sum(1, keepdim=True)


def given(architecture: Architecture) -> dict[str, Tensor]:
    """Weights, and what the carrier would hand over for the episodes that each run sees; all are bf16 numbers.

    Otherwise rounding the weights would move units across the kink of the relu, which moves gradients by far more.
    """
    layers = encoders(DATA.shape, architecture) | EveryContinuation().weights(DATA.shape, architecture)
    made = torch.Generator().manual_seed(3)
    values = {name: 1.5 * value for name, value in initial(layers, range(S), torch.float64).items()}
    values["features"] = torch.randn(S, T * ROOM, architecture.features, generator=made, dtype=torch.float64)
    values["embedding"] = torch.randn(S, T * ROOM, architecture.code_size, generator=made, dtype=torch.float64)
    return {name: value.to(torch.bfloat16).double() for name, value in values.items()}


def learned(dtype: torch.dtype, rough: bool, weight: Tensor, ragged: bool = False) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss of every run and its gradients: by the kernels where it is rough, else by the definition."""
    values = {name: value.to(dtype).requires_grad_() for name, value in given(SMALL).items()}
    data, trace = traced(values, dtype, rough, weight, ragged)
    loss = EveryContinuation().loss(trace, data, schedule_at(S))
    return loss.detach().double(), {name: flow.double() for name, flow in gradients(loss, values).items()}


def traced(
    values: dict[str, Tensor], dtype: torch.dtype, rough: bool, weight: Tensor, ragged: bool = False
) -> tuple[Data, Trace]:
    data = DATA.to("cpu", dtype)
    made = torch.Generator().manual_seed(4)
    drawn = torch.stack([torch.randperm(N, generator=made)[:ROOM] for _ in range(S)])
    origins = parallel.origins(data, drawn, S)
    acted = encode_action(values, parallel.tokens(data).previous[origins.long()])
    features, embedding = values["features"], values["embedding"]
    code, codebook = torch.zeros(S, T * ROOM, dtype=torch.int64), torch.zeros(S, 1, SMALL.code_size)
    heads = NarrowHeads(values, features, acted, features, codebook, embedding, embedding, code, origins, rough)
    trace = head_trace(values, heads, weight.to(dtype), T, drawn, codebook)
    ends = torch.arange(T).unsqueeze(1) < torch.arange(N) % T + 1
    return data, trace.until_the_end(ends) if ragged else trace


def errors(actual: tuple[Tensor, dict[str, Tensor]], right: tuple[Tensor, dict[str, Tensor]]) -> dict[str, float]:
    """Relative errors by norm."""
    compared = {"loss": (actual[0], right[0]), **{name: (actual[1][name], right[1][name]) for name in right[1]}}
    return {name: float((one - other).norm() / other.norm().clamp(min=1e-9)) for name, (one, other) in compared.items()}


@pytest.mark.parametrize("drawn", [False, True])
def test_with_factors_of_fp32_all_is_as_defined(monkeypatch: pytest.MonkeyPatch, drawn: bool) -> None:
    monkeypatch.setattr(continuations, "LOW", torch.float32)
    weight = weights(drawn)
    off = errors(learned(torch.float32, True, weight), learned(torch.float64, False, weight))
    assert max(off.values()) < 1e-5, off


@pytest.mark.parametrize("ragged", [False, True])
def test_with_factors_of_bf16_gradients_are_as_defined_but_for_rounding(ragged: bool) -> None:
    weight = weights(drawn=True)
    off = errors(
        learned(torch.float32, True, weight, ragged=ragged), learned(torch.float64, False, weight, ragged=ragged)
    )
    assert max(off.values()) < ROUNDED, off
    assert off["loss"] < 1e-3
    assert max(off.values()) > 1e-5  # the kernels did compute it


def test_what_is_not_computed_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    weight, expected = weights(drawn=True), learned(torch.float32, True, weights(drawn=True))
    empty = torch.Tensor.new_empty

    def spoiled(self: Tensor, *size: Any, **more: Any) -> Tensor:
        made = empty(self, *size, **more)
        return made.fill_(float("nan")) if made.is_floating_point() else made

    monkeypatch.setattr(torch.Tensor, "new_empty", spoiled)
    actual = learned(torch.float32, True, weight)
    assert torch.equal(actual[0], expected[0])
    assert all(torch.equal(actual[1][name], flow) for name, flow in expected[1].items())


def test_a_run_that_draws_too_many_episodes_has_no_loss() -> None:
    weight = weights(drawn=False)
    weight[1] = float("nan")
    loss, _ = learned(torch.float32, True, weight)
    assert loss[0].isfinite()
    assert loss[1].isnan()


def test_exact_or_far_or_other_losses_are_left_to_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {name: value.float() for name, value in given(SMALL).items()}
    asked = []
    monkeypatch.setattr(continuations, "loss", lambda heads, data, share: asked.append(share) or torch.zeros(S))
    for term, rough, kernels in (
        (EveryContinuation(), True, True),
        (EveryContinuation(reach=T - 1), True, True),
        (EveryContinuation(), False, False),
        (EveryContinuation(reach=T - 2), True, False),
        (EveryContinuation(blind=True), True, False),
    ):
        asked.clear()
        data, trace = traced(values, torch.float32, rough, weights(drawn=False))
        term.loss(trace, data, schedule_at(S))
        assert bool(asked) == kernels
    data, trace = traced(values, torch.float32, True, weights(drawn=False))
    symbolic = replace(data, shape=replace(data.shape, symbolic=True))
    assert continuations.fits(trace.heads, data)
    assert not continuations.fits(trace.heads, symbolic)
