"""The sweep tells position in the code from fragmentation of the estimate."""

import numpy as np
import pytest
from counting_twin import literal_entropy
from hypothesis import given
from hypothesis import strategies as st

from certify.errors import UserError
from diacritic.measure.resolution import resolution_sweep


@given(st.integers(0, 99))
def test_rates_are_the_literal_ones_given_symbol_and_grid_cell(seed: int) -> None:
    random = np.random.default_rng(seed)
    codes, symbols = random.integers(0, 3, (2, 2, 12))
    positions = random.uniform(-0.05, 0.05, (2, 12, 3))
    actual = resolution_sweep(codes, symbols, positions, (0, 1), (0.05,), permutations=2)
    assert [level.metres for level in actual] == [None, 0.05]
    cells = [
        [(o, *(int(np.floor(x / 0.05)) for x in xyz)) for o, xyz in zip(seen.tolist(), at.tolist(), strict=True)]
        for seen, at in zip(symbols, positions, strict=True)
    ]
    for level, given_rows in zip(actual, (symbols.tolist(), cells), strict=True):
        pairs = [(code.tolist(), row) for code, row in zip(codes, given_rows, strict=True)]
        assert level.rate == pytest.approx(np.mean([literal_entropy(*pair) for pair in pairs]), abs=1e-12)


def test_the_null_follows_fragmentation_and_not_position() -> None:
    random = np.random.default_rng(1)
    positions = random.uniform(-0.02, 0.02, (1, 400, 3))
    symbols = np.zeros((1, 400), int)
    blind = random.integers(0, 4, (1, 400))
    aware = (positions[..., 0] > 0).astype(int)
    for codes, position in ((blind, 0.0), (aware, 1.0)):
        alone, *_, fine = resolution_sweep(codes, symbols, positions, (0,), (0.10, 0.02, 0.01))
        assert alone.excess == pytest.approx(0, abs=1e-12)  # the null keeps the rate given the symbol
        assert fine.null < alone.rate - 0.05
        assert fine.excess == pytest.approx(position * fine.null, abs=0.06)


def test_bad_input_is_named() -> None:
    codes, positions = np.zeros((2, 4), int), np.random.default_rng(0).normal(size=(2, 4, 3))
    with pytest.raises(UserError, match=r"positions: shape .* expected"):
        resolution_sweep(codes, codes, positions[:, :3], (0,))
    with pytest.raises(UserError, match="positions: they never vary"):
        resolution_sweep(codes, codes, np.ones((2, 4, 3)), (0,))
    with pytest.raises(UserError, match="steps: expected some of the steps 0…1"):
        resolution_sweep(codes, codes, positions, ())
    with pytest.raises(UserError, match="grids: a cell size must be positive"):
        resolution_sweep(codes, codes, positions, (0,), (0.0,))
