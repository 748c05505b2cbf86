"""Every row has one program, and every size one that products take."""

from hypothesis import given
from hypothesis import strategies as st

from diacritic.training.kernels.launch import SIZES, padded, pieced, shares, tiles


@given(rows=st.integers(1, 10**5), runs=st.integers(1, 500), name=st.sampled_from(sorted(SIZES)))
def test_every_row_has_one_program(rows: int, runs: int, name: str) -> None:
    programs, turns = shares(name, rows, runs)
    taken = sorted(turn * programs + program for turn in range(turns) for program in range(programs))
    assert taken == list(range(programs * turns))
    assert programs * turns >= tiles(name, rows) > programs * (turns - 1)
    assert tiles(name, rows) * SIZES[name].rows >= rows > (tiles(name, rows) - 1) * SIZES[name].rows
    assert programs == 1 or programs * runs <= SIZES[name].programs


@given(st.integers(1, 5000))
def test_sizes_are_the_next_that_products_take(size: int) -> None:
    found = padded(size)
    assert found >= size
    assert found in {16 * 2**k for k in range(10)}
    assert found == 16 or found < 2 * size


@given(size=st.integers(1, 5000), name=st.sampled_from(sorted(SIZES)))
def test_every_code_is_in_one_piece(size: int, name: str) -> None:
    piece, pieces = pieced(name, size)
    assert piece & (piece - 1) == 0
    assert 16 <= piece <= SIZES[name].chunk
    assert piece * pieces >= size > piece * (pieces - 1)
