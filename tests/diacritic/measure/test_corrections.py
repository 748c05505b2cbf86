"""Miller–Madow: against counting by hand, and against a source whose entropy is known."""

from math import log

import numpy as np
import pytest
from counting_twin import literal_corrected
from hypothesis import given
from hypothesis import strategies as st

from diacritic.measure.corrections import corrected_score, miller_madow
from diacritic.measure.plugin import conditional_entropy

rows = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=30)


@given(rows)
def test_corrected_entropies_and_scores_are_the_literal_ones(found: list[tuple[int, int, int]]) -> None:
    x, c, y = (list(column) for column in zip(*found, strict=True))
    known = list(zip(c, y, strict=True))
    assert miller_madow(x, y) == pytest.approx(literal_corrected(x, y), abs=1e-12)
    whole, score = literal_corrected(x, y), corrected_score(x, c, y)
    if whole < 1e-9:
        assert score is None
    else:
        assert score == pytest.approx(1 - literal_corrected(x, known) / whole, abs=1e-9)


def test_it_takes_most_of_the_bias_out() -> None:
    random = np.random.default_rng(0)
    draws = [random.integers(0, 8, 40) for _ in range(300)]
    nothing = np.zeros(40, int)
    plain = np.mean([conditional_entropy(draw, nothing) for draw in draws])
    corrected = np.mean([miller_madow(draw, nothing) for draw in draws])
    assert 3 - plain > 0.1
    assert abs(3 - corrected) < 0.02


def test_two_cells_of_four_episodes() -> None:
    assert miller_madow([0, 0, 1, 1], [0, 0, 0, 0]) == pytest.approx(1 + 1 / (8 * log(2)))
    assert miller_madow([0, 0, 1, 1], [0, 0, 1, 1]) == 0
    assert corrected_score([0, 0, 1, 1], [5, 5, 6, 6], [0, 0, 0, 0]) == 1
