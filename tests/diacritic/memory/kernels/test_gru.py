"""GRUs of few and of many numbers by kernels are those of the loop over steps."""

import pytest
from hypothesis import given
from whole_episodes import FEW, ROWS, SEEDS, STEPS, compare, left_to_the_loop

from diacritic.memory.kernels import wide_gru
from diacritic.memory.shape import Architecture


@pytest.mark.parametrize("name", ["gru", "gru-chrono"])
@pytest.mark.parametrize("size", [16, 128])
@FEW
@given(steps=STEPS, rows=ROWS, seed=SEEDS)
def test_values_and_gradients_are_those_of_the_loop(name: str, size: int, steps: int, rows: int, seed: int) -> None:
    compare(Architecture(width=16, memory=name, state_size=size), steps, rows, seed)


@FEW
@given(steps=STEPS, rows=ROWS, seed=SEEDS)
def test_products_of_many_episodes_are_those_of_pytorch(steps: int, rows: int, seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wide_gru, "FEW", 0)
        compare(Architecture(width=16, memory="gru", state_size=128), steps, rows, seed)


def test_other_sizes_are_left_to_the_loop() -> None:
    assert left_to_the_loop(Architecture(width=16, memory="gru", state_size=24))
