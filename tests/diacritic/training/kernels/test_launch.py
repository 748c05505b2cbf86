"""Every row has one program, and every size one that products take."""

from hypothesis import given
from hypothesis import strategies as st

from diacritic.training.kernels.launch import PROGRAMS, padded, shares, tiles


@given(rows=st.integers(1, 10**5), runs=st.integers(1, 500), tile=st.sampled_from([16, 64, 128]))
def test_every_row_has_one_program(rows: int, runs: int, tile: int) -> None:
    programs, turns = shares(rows, runs, tile)
    taken = sorted(turn * programs + program for turn in range(turns) for program in range(programs))
    assert taken == list(range(programs * turns))
    assert programs * turns >= tiles(rows, tile) > programs * (turns - 1)
    assert programs == 1 or programs * runs <= PROGRAMS


@given(st.integers(1, 5000))
def test_sizes_are_the_next_that_products_take(size: int) -> None:
    found = padded(size)
    assert found >= size
    assert found in {16 * 2**k for k in range(10)}
    assert found == 16 or found < 2 * size
