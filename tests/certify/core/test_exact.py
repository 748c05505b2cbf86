"""Array arithmetic against plain Python, and logarithms against numbers worked out by hand."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certify.core.exact import (
    as_masses,
    common_denominator,
    conditional_entropy,
    fold,
    group_sums,
    pair,
    rank,
    representatives,
    total_of,
)

small = st.integers(0, 5)
spread = st.integers(0, 2**40) | small  # both the presence table and the sort are used
huge = st.integers(1, 2**90)


def ints(values: list[int]) -> np.ndarray:
    return np.array(values, np.int64)


@given(st.lists(spread))
def test_rank_numbers_distinct_keys_in_their_order(keys: list[int]) -> None:
    labels, count = rank(ints(keys))
    order = sorted(set(keys))
    assert count == len(order)
    assert labels.tolist() == [order.index(key) for key in keys]


@given(st.lists(st.tuples(spread, spread), min_size=1))
def test_pair_orders_lexicographically(pairs: list[tuple[int, int]]) -> None:
    keys = pair(ints([a for a, _ in pairs]), ints([b for _, b in pairs])).tolist()
    for k, one in enumerate(pairs):
        for j, other in enumerate(pairs):
            assert (keys[k] < keys[j]) == (one < other)


def test_pair_survives_products_beyond_64_bits() -> None:
    first, second = ints([2**40, 2**40, 0]), ints([2**40, 2**40 - 1, 2**40])
    assert rank(pair(first, second))[0].tolist() == [2, 1, 0]


def test_pair_of_nothing_is_nothing() -> None:
    assert pair(ints([]), ints([])).tolist() == []
    assert rank(ints([]))[1] == 0


@given(st.lists(small, min_size=1))
def test_representatives_are_the_first_of_each_label(keys: list[int]) -> None:
    labels, count = rank(ints(keys))
    assert representatives(labels, count).tolist() == [labels.tolist().index(label) for label in range(count)]


@given(st.lists(st.tuples(small, huge | st.integers(1, 9) | st.integers(2**52, 2**53)), min_size=1))
def test_group_sums_are_exact_at_every_size(items: list[tuple[int, int]]) -> None:
    masses = as_masses(mass for _, mass in items)
    sums = group_sums(ints([label for label, _ in items]), masses, 6)
    assert [int(total) for total in sums] == [sum(m for label, m in items if label == k) for k in range(6)]
    assert total_of(masses) == sum(mass for _, mass in items)


def test_sums_that_doubles_would_round_stay_exact() -> None:
    masses = as_masses([2**53, 1, 1, 2**53 + 1])
    assert group_sums(ints([0, 0, 1, 1]), masses, 2).tolist() == [2**53 + 1, 2**53 + 2]
    assert as_masses([2**62, 1]).dtype == object


@given(st.lists(st.fractions(0, 1), max_size=6))
def test_common_denominator_is_the_least(fractions: list[Fraction]) -> None:
    numerators, denominator = common_denominator(fractions)
    assert [Fraction(n, denominator) for n in numerators] == fractions
    assert math.gcd(denominator, *numerators) == 1


@given(st.lists(st.tuples(small, st.lists(small, max_size=4)), min_size=1))
def test_fold_labels_equal_lists_alike(nodes: list[tuple[int, list[int]]]) -> None:
    source = ints([k for k, (_, values) in enumerate(nodes) for _ in values])
    values = ints([value for _, values in nodes for value in values])
    labels, count = fold(ints([base for base, _ in nodes]), source, values)
    assert count == len({(base, tuple(values)) for base, values in nodes})
    for k, one in enumerate(nodes):
        for j, other in enumerate(nodes):
            assert (labels[k] == labels[j]) == (one == other)


@pytest.mark.parametrize("scale", [1, 2**70], ids=["64 bits", "big integers"])
def test_entropies_known_by_hand(scale: int) -> None:
    """H(1/2, 1/4, 1/4) = 3/2 and h₂(1/3) = log₂3 − 2/3, to 1e-15; a certain label has none at all."""

    def entropy(*parts: int) -> float:
        masses = as_masses(part * scale for part in parts)
        return conditional_entropy(masses, as_masses([sum(parts) * scale] * len(parts)), sum(parts) * scale)

    assert entropy(2, 1, 1) == 1.5
    assert entropy(7) == 0.0
    assert abs(entropy(1, 2) - 0.9182958340544896) <= 1e-15
    assert abs(entropy(1, 1, 1) - 1.584962500721156) <= 1e-15
    # 3/10 against 7/10: 0.3·log₂(10/3) + 0.7·log₂(10/7)
    assert abs(entropy(3, 7) - 0.8812908992306926) <= 1e-15


def test_a_rare_label_keeps_its_digits() -> None:
    """p·log₂(1/p) + (1−p)·log₂(1/(1−p)) with p = 2⁻⁵⁰ is 50·2⁻⁵⁰ + 2⁻⁵⁰/ln 2 up to 2⁻¹⁰⁰."""
    exact = 2.0**-50 * (50 + 1 / math.log(2))
    for scale in (1, 2**40):
        masses = as_masses([scale, (2**50 - 1) * scale])
        bits = conditional_entropy(masses, as_masses([2**50 * scale] * 2), 2**50 * scale)
        assert abs(bits - exact) <= 1e-15 * exact


def test_masses_beyond_the_range_of_doubles() -> None:
    part, whole = 1, 2**3000
    bits = conditional_entropy(as_masses([part, whole - part]), as_masses([whole, whole]), whole)
    assert 0 <= bits < 1e-300
