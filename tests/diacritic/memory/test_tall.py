"""Layers of many rows: against plain products, with their gradients."""

import pytest
import torch

from diacritic.memory import layers
from diacritic.memory.layers import dense, linear, product
from diacritic.memory.tall import outer, tall_linear
from diacritic.training.randomness import initial

S, A, B, WIDE = 2, 3, 5, torch.float64


@pytest.mark.parametrize("rows", [1, 6, 12, 40])
def test_products_over_rows_do_not_depend_on_how_they_are_cut(rows: int) -> None:
    made = torch.Generator().manual_seed(rows)
    left, right = (torch.randn(S, rows, size, generator=made, dtype=WIDE) for size in (A, B))
    torch.testing.assert_close(outer(left, right), left.mT @ right)


def test_columns_of_half_precision_are_padded_and_the_padding_is_cut_off() -> None:
    made = torch.Generator().manual_seed(0)
    left, right = (torch.randint(-3, 4, (S, 8, size), generator=made).bfloat16() for size in (A, B))
    assert torch.equal(outer(left, right), left.mT @ right)  # small whole numbers, so that nothing is rounded


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("flowing", [False, True])
def test_a_layer_and_its_gradients_are_those_of_torch(biased: bool, flowing: bool) -> None:
    made = torch.Generator().manual_seed(0)
    rows, weight, bias = (torch.randn(size, generator=made, dtype=WIDE) for size in ((S, 24, A), (S, A, B), (S, B)))
    wanted = [weight.requires_grad_(), *([bias.requires_grad_()] if biased else [])]
    wanted += [rows.requires_grad_()] if flowing else []
    actual = tall_linear(rows, weight, bias if biased else None)
    expected = rows @ weight + (bias.unsqueeze(1) if biased else 0)
    torch.testing.assert_close(actual, expected)
    pull = torch.randn(actual.shape, generator=made, dtype=WIDE)
    for one, other in zip(*(torch.autograd.grad((y * pull).sum(), wanted) for y in (actual, expected)), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("layer", [linear, product])
@pytest.mark.parametrize("shared", [False, True])
def test_stacked_layers_take_this_way_without_a_difference(layer, shared: bool, monkeypatch) -> None:
    parameters = {name: value.requires_grad_() for name, value in initial(dense("x", A, B), [1, 2], WIDE).items()}
    rows = torch.randn(*([] if shared else [S]), 16, A, generator=torch.Generator().manual_seed(0), dtype=WIDE)
    pull = torch.randn(S, 16, B, generator=torch.Generator().manual_seed(1), dtype=WIDE)
    weight, results = parameters["x.weight"], []
    for way in (layers._multiplied, tall_linear):
        monkeypatch.setattr(layers, "_multiplied", way)
        results.append(torch.autograd.grad((layer(parameters, "x", rows) * pull).sum(), weight)[0])
    torch.testing.assert_close(*results)
