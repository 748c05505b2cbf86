"""Registers by kernels are those of the loop over steps, also once they have all been written."""

from hypothesis import given
from hypothesis import strategies as st
from whole_episodes import ROWS, SEEDS, SOME, compare, left_to_the_loop

from diacritic.memory.shape import Architecture


@SOME
@given(steps=st.sampled_from([1, 3, 8, 19]), rows=ROWS, seed=SEEDS)
def test_values_and_gradients_are_those_of_the_loop(steps: int, rows: int, seed: int) -> None:
    compare(Architecture(width=16, code_size=16, memory="registers"), steps, rows, seed)


def test_other_sizes_are_left_to_the_loop() -> None:
    assert left_to_the_loop(Architecture(width=16, code_size=24, memory="registers"))
