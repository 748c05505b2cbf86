"""Stacked layers: against plain products, run by run."""

import pytest
import torch
from carrier_twin import head, layer, one_of

from diacritic.memory.layers import dense, linear, read, reader
from diacritic.training.randomness import initial

WIDE = torch.float64


@pytest.mark.parametrize("shared", [False, True])
def test_a_stacked_layer_is_one_layer_a_run(shared: bool) -> None:
    parameters = initial(dense("x", 5, 4), [1, 2, 3], WIDE)
    made = torch.Generator().manual_seed(0)
    rows = torch.randn(*([] if shared else [3]), 7, 5, generator=made, dtype=WIDE)
    actual = linear(parameters, "x", rows)
    for run in range(3):
        wanted = layer(one_of(parameters, run), "x", rows if shared else rows[run])
        torch.testing.assert_close(actual[run], wanted, rtol=0, atol=1e-14)


def test_a_layer_without_bias_starts_without_one() -> None:
    assert set(dense("x", 5, 4, bias=False)) == {"x.weight"}
    parameters = initial(dense("x", 5, 4, bias=False), [1], WIDE)
    assert linear(parameters, "x", torch.zeros(2, 5, dtype=WIDE)).abs().sum() == 0


def test_columns_of_padding_change_nothing() -> None:
    parameters = initial(dense("x", 5, 4), [1, 2], WIDE)
    rows = torch.randn(7, 5, generator=torch.Generator().manual_seed(0), dtype=WIDE)
    padded = torch.cat([rows, torch.zeros(7, 3, dtype=WIDE)], 1)
    torch.testing.assert_close(linear(parameters, "x", padded), linear(parameters, "x", rows), rtol=0, atol=1e-14)


def test_layers_start_as_pytorchs_do() -> None:
    values = initial(dense("x", 25, 400), [3])["x.weight"]
    assert values.abs().max() <= 0.2
    assert values.abs().max() > 0.199
    assert abs(values.mean()) < 0.01


@pytest.mark.parametrize("hidden", [1, 2, 3])
def test_a_head_in_parts_is_a_head_on_joined_inputs(hidden: int) -> None:
    layers = reader("x", 5, 3, 6, 2, hidden)
    assert (f"x.hidden{hidden - 1}.weight" in layers) == (hidden > 1)
    parameters = initial(layers, [1, 2], WIDE)
    made = torch.Generator().manual_seed(0)
    features = torch.randn(2, 4, 5, generator=made, dtype=WIDE)
    vector = torch.randn(2, 4, 3, generator=made, dtype=WIDE)
    contents = read(parameters, "x", linear(parameters, "x.observation", features), vector)
    for run in range(2):
        for row in range(4):
            wanted = head(one_of(parameters, run), "x", features[run, row], vector[run, row])
            torch.testing.assert_close(contents[run, row], wanted, rtol=0, atol=1e-14)


def test_a_head_answers_in_single_precision_or_better() -> None:
    for low, answer in ((torch.bfloat16, torch.float32), (torch.float32, torch.float32), (WIDE, WIDE)):
        parameters = initial(reader("x", 5, 3, 6, 2), [1], low)
        part = linear(parameters, "x.observation", torch.zeros(4, 5))
        assert part.dtype == low
        assert read(parameters, "x", part, torch.zeros(1, 4, 3)).dtype == answer
