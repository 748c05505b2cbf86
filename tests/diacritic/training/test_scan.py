"""The scan of hard codes against the cell, and the running sum against the loop that it stands for."""

import pytest
import torch
from carrier_twin import TINY, lively
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from diacritic.memory import sole_carrier
from diacritic.memory.quantise import look_up, nearest, straight_through
from diacritic.memory.shape import Architecture, Shape
from diacritic.memory.sole_carrier import propose
from diacritic.training.scan import running_sum, scan_codes


def _case(
    S: int, T: int, N: int, K: int, seed: int, dtype: torch.dtype = torch.float64
) -> tuple[dict[str, Tensor], Tensor]:
    architecture = Architecture(codes=K, code_size=TINY.code_size, width=TINY.width)
    parameters = lively(sole_carrier.weights(Shape(3, 2), architecture), range(seed, seed + S), dtype)
    made = torch.Generator().manual_seed(seed)
    return parameters, 2 * torch.randn(S, T, N, TINY.width, generator=made, dtype=dtype)


def _step_by_step(
    parameters: dict[str, Tensor], driven: Tensor, bound: str, persistent: bool, stop: bool
) -> tuple[Tensor, Tensor]:
    """The loop with the stopped gradient: codes [S, T, N] and straight-through embeddings [S, T, N, d]."""
    codebook = parameters["codebook"]
    e = torch.zeros(len(codebook), driven.shape[2], codebook.shape[-1], dtype=driven.dtype)
    codes, vectors = [], []
    for now in driven.unbind(1):
        held = e if persistent else torch.zeros_like(e)
        proposal = held + propose(parameters, "residual", held.detach() if stop else held, now)
        proposal = proposal.tanh() if bound == "tanh" else proposal
        code = nearest(proposal, codebook)
        e = straight_through(look_up(codebook, code), proposal)
        codes.append(code)
        vectors.append(e)
    return torch.stack(codes, 1), torch.stack(vectors, 1)


@settings(max_examples=25)
@given(
    S=st.integers(1, 3),
    T=st.integers(1, 7),
    N=st.integers(1, 5),
    K=st.integers(1, 9),
    seed=st.integers(0, 10**6),
    bound=st.sampled_from(["none", "tanh"]),
    persistent=st.booleans(),
)
def test_scanned_codes_are_those_of_the_loop(
    S: int, T: int, N: int, K: int, seed: int, bound: str, persistent: bool
) -> None:
    parameters, driven = _case(S, T, N, K, seed)
    wanted, _ = _step_by_step(parameters, driven, bound, persistent, True)
    assert torch.equal(scan_codes(parameters, driven, bound, persistent), wanted)


@pytest.mark.parametrize("bound", ["none", "tanh"])
def test_twins_are_met_under_the_lowest_index(bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The upper twin scores a little higher, as rounding may have it."""
    parameters, driven = _case(2, 6, 20, 6, 8, torch.float32)
    parameters["codebook"] = parameters["codebook"][:, :3].repeat(1, 2, 1)
    wanted = scan_codes(parameters, driven, bound)
    assert wanted.max() < 3
    bmm, baddbmm = torch.bmm, torch.baddbmm
    tilted = 1e-6 * torch.arange(6)
    monkeypatch.setattr(torch, "bmm", lambda *given: _tilted(bmm(*given), tilted))
    if bound == "tanh":
        monkeypatch.setattr(torch, "baddbmm", lambda *given: _tilted(baddbmm(*given), tilted))
    assert torch.equal(scan_codes(parameters, driven, bound), wanted)


def _tilted(scores: Tensor, by: Tensor) -> Tensor:
    return scores + by if scores.shape[-1] == len(by) else scores


@pytest.mark.parametrize("bound", ["none", "tanh"])
def test_single_precision_differs_only_where_two_codes_are_nearly_as_near(bound: str) -> None:
    parameters, driven = _case(3, 20, 60, 9, 5, torch.float32)
    scanned = scan_codes(parameters, driven, bound)
    exact = {name: value.double() for name, value in parameters.items()}
    none = torch.full_like(scanned[:, :1], 9)
    before = torch.cat([none, scanned[:, :-1]], 1).flatten(1)  # what it really came from
    start = torch.cat([exact["codebook"], torch.zeros_like(exact["codebook"][:, :1])], 1)
    held = look_up(start, before)
    proposal = held + propose(exact, "residual", held, driven.double().flatten(1, 2))
    proposal = proposal.tanh() if bound == "tanh" else proposal
    wanted = nearest(proposal, exact["codebook"])
    distance = torch.cdist(proposal, exact["codebook"]).sort(-1).values
    sure = distance[..., 1] - distance[..., 0] >= 1e-5
    assert torch.equal(scanned.flatten(1)[sure], wanted[sure])
    assert sure.double().mean() > 0.99
    assert len(scanned.unique()) > 3


@pytest.mark.parametrize("bound", ["none", "tanh"])
@pytest.mark.parametrize("persistent", [True, False])
def test_the_running_sum_has_the_gradient_of_the_loop_with_the_stopped_gradient(bound: str, persistent: bool) -> None:
    """E = sg(E_hard) + (F − sg F) with F = e₀ + Σ f, or with factors 1 − tanh² under a bound."""
    parameters, driven = _case(2, 9, 4, 5, 3)
    learned = {name: value.requires_grad_() for name, value in parameters.items()}
    driven.requires_grad_()
    codes, vectors = _step_by_step(learned, driven, bound, persistent, True)
    pull = torch.randn(vectors.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    moved = [driven, *(learned[f"residual.{part}"] for part in ("code.weight", "out.weight", "out.bias"))]
    wanted = torch.autograd.grad((vectors * pull).sum(), moved)

    codebook = learned["codebook"].detach()
    start = torch.cat([codebook, torch.zeros_like(codebook[:, :1])], 1)
    none = torch.full_like(codes[:, :1], 5)
    before = torch.cat([none, codes[:, :-1]], 1) if persistent else none.expand_as(codes)
    held = look_up(start, before.flatten(1))
    residual = propose(learned, "residual", held, driven.flatten(1, 2)).unflatten(1, (9, 4))
    value = (held.unflatten(1, (9, 4)) + residual).tanh()
    running = running_sum(residual, 1 - value.square() if bound == "tanh" else None, persistent)
    hard = look_up(codebook, codes.flatten(1)).unflatten(1, (9, 4))
    shown = straight_through(hard, running)
    assert torch.equal(shown, vectors)
    gradient = torch.autograd.grad((shown * pull).sum(), moved)
    for one, other in zip(gradient, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-11, atol=1e-11)

    _, full = _step_by_step(learned, driven, bound, persistent, False)
    (flow,) = torch.autograd.grad((full * pull).sum(), driven)
    assert torch.allclose(flow, wanted[0]) is not persistent  # and the full gradient is another one
