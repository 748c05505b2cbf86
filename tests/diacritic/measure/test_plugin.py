"""Entropies of labels against sums over a dictionary, and their exact zeros."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from math import fsum, log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diacritic.measure.plugin import conditional_entropy, entropy, joint, mutual_information, shuffled_within


def literal(x: Sequence[Hashable], weights: Sequence[float]) -> float:
    """H(X), value by value."""
    mass: defaultdict[Hashable, float] = defaultdict(float)
    for value, weight in zip(x, weights, strict=True):
        mass[value] += weight / fsum(weights)
    return fsum(-p * log2(p) for p in mass.values() if p)


rows = st.lists(
    st.tuples(st.integers(-3, 3), st.integers(0, 2), st.integers(10**9, 10**9 + 2), st.integers(0, 5)), min_size=1
).filter(lambda rows: any(row[3] for row in rows))


@given(rows, st.booleans())
def test_entropies_are_the_literal_sums(drawn: list[tuple[int, int, int, int]], scaled: bool) -> None:
    x, y, z, count = (list(column) for column in zip(*drawn, strict=True))
    weights = np.array(count) * (0.37 if scaled else 1)
    w = weights.tolist()
    yz, xz, xyz = (list(zip(*columns, strict=True)) for columns in ((y, z), (x, z), (x, y, z)))
    assert entropy(x, weights) == pytest.approx(literal(x, w), abs=1e-12)
    assert conditional_entropy(x, y, weights) == pytest.approx(
        literal(list(zip(x, y, strict=True)), w) - literal(y, w), abs=1e-12
    )
    expected = literal(xz, w) + literal(yz, w) - literal(xyz, w) - literal(z, w)
    assert mutual_information(x, y, z, weights) == pytest.approx(expected, abs=1e-12)


@given(st.lists(st.integers(0, 3), min_size=1), st.integers(0, 2**32 - 1))
def test_what_is_decided_has_exactly_no_entropy(x: list[int], seed: int) -> None:
    weights = np.random.default_rng(seed).random(len(x)) + 1e-9
    assert conditional_entropy(np.array(x) // 2, x, weights) == 0
    assert conditional_entropy(x, x, weights) == 0


def test_no_weights_are_equal_weights() -> None:
    assert entropy([0, 1, 2, 3]) == 2
    assert conditional_entropy([0, 1, 0, 1], [0, 0, 1, 1]) == 1
    assert mutual_information([0, 1, 1, 0], [0, 1, 0, 1], [0, 0, 1, 1]) == 1  # given the third, each decides the other


def test_joint_labels_tell_every_combination_apart() -> None:
    x, y = np.repeat([5, -2, 5], 4), np.tile([0, 10**12], 6)
    label = joint(x, y)
    pairs = list(zip(x.tolist(), y.tolist(), strict=True))
    assert len(set(label.tolist())) == len(set(pairs)) == 4
    assert len(set(zip(label.tolist(), pairs, strict=True))) == 4


@pytest.mark.parametrize(
    ("x", "y", "weights", "message"),
    [
        ([0, 1], [0], None, "labels: 2 entries beside 1"),
        ([0.5, 1.0], [0, 1], None, "labels: expected integers"),
        ([], [], None, "labels: expected integers along one axis"),
        ([0, 1], [0, 1], [1], "weights: expected 2 numbers"),
        ([0, 1], [0, 1], [1, -1], "weights: expected 2 numbers, none negative"),
        ([0, 1], [0, 1], [0, 0], "weights: .*not all zero"),
        ([0, 1], [0, 1], [1, float("nan")], "weights: expected"),
    ],
)
def test_bad_input_is_refused_in_one_line(x: list[int], y: list[int], weights: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        conditional_entropy(x, y, weights)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=30), st.integers(0, 99))
def test_a_permutation_keeps_the_codes_of_every_symbol(rows: list[tuple[int, int]], seed: int) -> None:
    code, symbol = (np.array(column) for column in zip(*rows, strict=True))
    drawn = shuffled_within(code, symbol, np.random.default_rng(seed))
    assert Counter(zip(drawn.tolist(), symbol.tolist(), strict=True)) == Counter(rows)


def test_all_permutations_are_drawn_alike() -> None:
    random = np.random.default_rng(0)
    drawn = Counter(tuple(shuffled_within(np.arange(3), np.zeros(3, int), random).tolist()) for _ in range(1200))
    assert len(drawn) == 6
    assert min(drawn.values()) > 140
