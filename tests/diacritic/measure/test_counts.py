"""Counts of all runs together against counting each run and step by itself."""

import numpy as np
import pytest
from counting_twin import literal_entropy
from hypothesis import given
from hypothesis import strategies as st

from certify.errors import UserError
from diacritic.measure import counts
from diacritic.measure.counts import Counts, Partition


@given(
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(1, 9),
    st.integers(0, 99),
    st.sampled_from([0, 1 << 22]),
    st.sampled_from([np.uint16, np.uint64, np.int32]),
)
def test_entropies_and_occupied_cells_of_every_run(
    runs: int, steps: int, episodes: int, seed: int, dense: int, kind: type[np.integer]
) -> None:
    random = np.random.default_rng(seed)
    y, x = random.integers(-1, 2, (2, steps, episodes))
    codes = (random.integers(0, 3, (runs, steps, episodes)) * 10**6 * seed).astype(kind)
    pair = 3 * y + x
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counts, "_DENSE", dense)  # 0: sorting instead of tables
        actual = Counts.of(codes, Partition.of(y=y, pair=pair))
        given_y, given_pair = (actual.partition.coarse[name] for name in ("y", "pair"))
        rate, left, occupied = actual.code_entropy(given_y), actual.left(given_pair, given_y), actual.occupied(given_y)
    for s in range(runs):
        for t in range(steps):
            code, seen = codes[s, t].tolist(), y[t].tolist()
            coded = list(zip(code, seen, strict=True))
            assert rate[s, t] == pytest.approx(literal_entropy(code, seen), abs=1e-12)
            assert left[s, t] == pytest.approx(literal_entropy(x[t].tolist(), coded), abs=1e-12)
            assert occupied[s, t] == len(set(coded))


def test_what_the_code_decides_leaves_exactly_nothing() -> None:
    x = np.random.default_rng(0).integers(0, 3, (2, 50))
    actual = Counts.of(x[None], Partition.of(none=np.zeros_like(x), x=x))
    names = actual.partition.coarse
    assert (actual.left(names["x"], names["none"]) == 0).all()
    assert (actual.code_entropy(names["x"]) == 0).all()


def test_variables_of_other_lengths_are_refused() -> None:
    with pytest.raises(UserError, match=r"b: shape \[2, 4\], expected \[steps, episodes\] as in \[2, 3\]"):
        Partition.of(a=np.zeros((2, 3), int), b=np.zeros((2, 4), int))
