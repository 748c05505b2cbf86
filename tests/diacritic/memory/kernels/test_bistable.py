"""Bistable units by kernels are those of the loop over steps."""

import pytest
from hypothesis import given
from whole_episodes import ROWS, SEEDS, SOME, STEPS, compare

from diacritic.memory.shape import Architecture


@pytest.mark.parametrize("size", [16, 48])
@SOME
@given(steps=STEPS, rows=ROWS, seed=SEEDS)
def test_values_and_gradients_are_those_of_the_loop(size: int, steps: int, rows: int, seed: int) -> None:
    compare(Architecture(width=16, memory="bistable", state_size=size), steps, rows, seed)
