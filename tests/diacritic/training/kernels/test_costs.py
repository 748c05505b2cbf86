"""The kernels of vector quantisation and of the rate against torch, in Triton's interpreter."""

import pytest
import torch
from torch import Tensor

from diacritic.memory.quantise import look_up
from diacritic.training.kernels.costs import Cost, Quantise

SIZES = [(5, 16, 150), (20, 32, 70), (130, 16, 40), (300, 16, 70)]
"""Codes, their dimension, and rows; the last two take a codebook in pieces."""


def case(codes: int, size: int, rows: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """ẽ, codebook, prior logits, codes that are not all nearest, and weights of which some are zero."""
    made = torch.Generator().manual_seed(codes + rows)
    proposal, codebook = (torch.randn(3, n, size, generator=made) / 2 for n in (rows, codes))
    logits = 2 * torch.randn(3, rows, codes, generator=made)
    code = torch.randint(codes - 1, (3, rows), generator=made)  # nothing takes the last
    weight = torch.randint(3, (3, rows), generator=made) / rows
    leaves = [value.requires_grad_() for value in (proposal, codebook, logits)]
    return leaves[0], leaves[1], leaves[2], code, weight


def assert_same(actual: Tensor, expected: Tensor, inputs: list[Tensor], twins: list[Tensor], close: float) -> None:
    """Values and gradients, with another pull on every run."""
    torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-6)
    pull = 1.0 + torch.arange(len(actual))
    flows = torch.autograd.grad((actual * pull).sum(), inputs)
    wanted = torch.autograd.grad((expected * pull).sum(), twins)
    for one, other in zip(flows, wanted, strict=True):
        assert other.abs().max() > 0
        assert (one - other).norm() < close * other.norm()


@pytest.mark.parametrize(("low", "close"), [(torch.float32, 1e-5), (torch.bfloat16, 5e-3)])
@pytest.mark.parametrize("sizes", SIZES)
def test_codes_move_to_proposals_and_proposals_commit(
    sizes: tuple[int, int, int], low: torch.dtype, close: float
) -> None:
    proposal, codebook, _, code, weight = case(*sizes)
    path = torch.empty_strided(proposal.shape, (0, 0, 0), dtype=low).requires_grad_()
    actual = Quantise.apply(path, codebook, proposal.detach(), code, weight, 0.25)
    chosen = look_up(codebook, code)
    follow = (proposal.detach() - chosen).square().mean(-1)
    commit = (proposal - chosen.detach()).square().mean(-1)
    expected = ((follow + 0.25 * commit) * weight).sum(1)
    assert isinstance(actual, Tensor)
    assert_same(actual, expected, [path, codebook], [proposal, codebook], close)


@pytest.mark.parametrize(("low", "close"), [(torch.float32, 1e-5), (torch.bfloat16, 5e-3)])
@pytest.mark.parametrize("sizes", SIZES)
def test_the_rate_is_hard_forward_and_soft_backward(
    sizes: tuple[int, int, int], low: torch.dtype, close: float
) -> None:
    proposal, codebook, logits, code, weight = case(*sizes)
    path = torch.empty_strided(proposal.shape, (0, 0, 0), dtype=low).requires_grad_()
    actual = Cost.apply(path, logits, proposal.detach(), codebook.detach(), code, weight)
    price = -torch.log_softmax(logits, -1)
    hard = price.gather(-1, code.unsqueeze(-1)).squeeze(-1)
    distance = (proposal.unsqueeze(2) - codebook.detach().unsqueeze(1)).square().sum(-1)
    soft = (torch.softmax(-distance, -1) * price.detach()).sum(-1)
    expected = ((hard + (soft - soft.detach())) * weight).sum(1)
    assert isinstance(actual, Tensor)
    assert_same(actual, expected, [path, logits], [proposal, logits], close)


@pytest.mark.parametrize("sizes", SIZES)
def test_codes_descend_the_rate_too_where_they_may(sizes: tuple[int, int, int]) -> None:
    proposal, codebook, logits, code, weight = case(*sizes)
    actual = Cost.apply(proposal, logits, proposal.detach(), codebook, code, weight)
    price = -torch.log_softmax(logits, -1)
    hard = price.gather(-1, code.unsqueeze(-1)).squeeze(-1)
    distance = (proposal.unsqueeze(2) - codebook.unsqueeze(1)).square().sum(-1)
    soft = (torch.softmax(-distance, -1) * price.detach()).sum(-1)
    expected = ((hard + (soft - soft.detach())) * weight).sum(1)
    assert isinstance(actual, Tensor)
    inputs = [proposal, codebook, logits]
    assert_same(actual, expected, inputs, inputs, 1e-5)


@pytest.mark.parametrize(("classes", "low", "close"), [(7, torch.float32, 1e-5), (140, torch.bfloat16, 5e-3)])
def test_without_proposals_it_is_a_cross_entropy(classes: int, low: torch.dtype, close: float) -> None:
    """Logits of a low precision are rounded, and so is what flows into them."""
    _, _, logits, wanted, weight = case(classes, 16, 90)
    lowered = logits.detach().to(low).requires_grad_()
    actual = Cost.apply(None, lowered, None, None, wanted, weight)
    twin = lowered.detach().double().requires_grad_()
    each = torch.nn.functional.cross_entropy(twin.transpose(1, 2), wanted, reduction="none")
    assert isinstance(actual, Tensor)
    flow = torch.autograd.grad(actual.sum(), lowered, retain_graph=True)[0]
    assert flow.dtype == low
    assert_same(actual, (each * weight).sum(1).float(), [lowered], [twin], close)
