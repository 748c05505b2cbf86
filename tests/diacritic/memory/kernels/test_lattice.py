"""Codes on a lattice, by kernels and by the loop over steps."""

import pytest
from hypothesis import given
from whole_episodes import FEW, ROWS, SEEDS, STEPS, compare, left_to_the_loop

from diacritic.memory.shape import Architecture


@pytest.mark.parametrize(("name", "codes"), [("fsq", 16), ("fsq", 64), ("lfq", 16), ("lfq", 8)])
@pytest.mark.parametrize("gradient", ["full", "carousel"])
@FEW
@given(steps=STEPS, rows=ROWS, seed=SEEDS)
def test_values_and_gradients_are_those_of_the_loop(
    name: str, codes: int, gradient: str, steps: int, rows: int, seed: int
) -> None:
    compare(Architecture(width=16, codes=codes, memory=name), steps, rows, seed, gradient)


@pytest.mark.parametrize("change", [{"width": 24}, {"residual_layers": 2}, {"persistent": False}])
def test_other_residuals_are_left_to_the_loop(change: dict[str, int]) -> None:
    assert left_to_the_loop(Architecture(**{"width": 16, "memory": "fsq", **change}))  # pyright: ignore[reportArgumentType]
