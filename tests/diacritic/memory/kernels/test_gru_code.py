"""A GRU whose state is one code, by kernels and by the loop over steps."""

from typing import Literal

import pytest
from hypothesis import given
from whole_episodes import FEW, ROWS, SEEDS, STEPS, compare, left_to_the_loop

from diacritic.memory.shape import Architecture


@pytest.mark.parametrize("bound", ["none", "tanh", "sphere"])
@pytest.mark.parametrize(("codes", "start"), [(16, "zero"), (5, "first code")])
@FEW
@given(steps=STEPS, rows=ROWS, seed=SEEDS)
def test_values_and_gradients_are_those_of_the_loop(
    bound: Literal["none", "tanh", "sphere"],
    codes: int,
    start: Literal["zero", "first code"],
    steps: int,
    rows: int,
    seed: int,
) -> None:
    sizes = Architecture(width=16, codes=codes, code_size=16, memory="gru-code", bound=bound, start=start)
    compare(sizes, steps, rows, seed)


@pytest.mark.parametrize(("codes", "size"), [(128, 16), (16, 24)])
def test_other_sizes_are_left_to_the_loop(codes: int, size: int) -> None:
    assert left_to_the_loop(Architecture(width=16, codes=codes, code_size=size, memory="gru-code"))
