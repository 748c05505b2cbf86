"""Short causal attention against PyTorch's, in Triton's interpreter; it must be asked for before Triton is imported."""

import os

os.environ.setdefault("TRITON_INTERPRET", "1")

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from diacritic.memory.short_attention import attend, fits


@pytest.mark.parametrize(("steps", "heads", "size"), [(5, 2, 16), (47, 1, 32), (64, 1, 16), (1, 3, 16)])
def test_mixture_and_gradients_are_those_of_the_library(steps: int, heads: int, size: int) -> None:
    made = torch.Generator().manual_seed(steps)
    parts = torch.randn(2, steps, 3, heads, size, generator=made).requires_grad_()
    pull = torch.randn(2, steps, heads, size, generator=made)
    query, key, value = (part.transpose(1, 2) for part in parts.unbind(2))
    expected = scaled_dot_product_attention(query, key, value, is_causal=True).transpose(1, 2)
    actual = attend(parts)
    torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-5)
    one, other = (torch.autograd.grad((mixed * pull).sum(), parts)[0] for mixed in (actual, expected))
    torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_long_episodes_and_odd_heads_are_left_to_the_library() -> None:
    assert fits(torch.empty(1, 64, 3, 4, 32))
    assert not fits(torch.empty(1, 65, 3, 4, 32))
    assert not fits(torch.empty(1, 47, 3, 4, 24))
