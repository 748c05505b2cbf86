"""Rational linear forms in logarithms against high-precision decimals and against multiplicative identities."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certify.core.logs import LogSum, entropy, sign

coefficients = st.fractions(-50, 50, max_denominator=40)
bases = st.integers(1, 10**6) | st.integers(2**100, 2**120)
forms = st.lists(st.tuples(coefficients, bases), max_size=6)


def literal(terms: list[tuple[Fraction, int]]) -> Decimal:
    """The value to 150 digits."""
    with localcontext() as context:
        context.prec = 150
        ratios = ((Decimal(c.numerator) / Decimal(c.denominator), b) for c, b in terms)
        return sum((ratio * Decimal(b).ln() for ratio, b in ratios), Decimal(0)) / Decimal(2).ln()


def literal_sign(terms: list[tuple[Fraction, int]]) -> int:
    value = literal(terms)
    return 0 if abs(value) < Decimal("1e-120") else (1 if value > 0 else -1)


@given(forms)
def test_sign_agrees_with_decimals(terms):
    assert sign(terms) == literal_sign(terms)


@given(forms)
def test_mapping_and_pairs_mean_the_same(terms):
    sums: dict[int, Fraction] = {}
    for coef, base in terms:
        sums[base] = sums.get(base, Fraction(0)) + coef
    assert sign(sums) == sign(terms)


@given(st.lists(st.tuples(st.integers(-6, 6), st.integers(1, 400)), min_size=1, max_size=5), coefficients)
def test_multiplicative_identities_are_zero(powers, factor):
    product = math.prod(Fraction(base) ** power for power, base in powers)
    terms = [(factor * power, base) for power, base in powers]
    assert sign([*terms, (-factor, product.numerator), (factor, product.denominator)]) == 0


@pytest.mark.parametrize("bits", [30, 60, 200, 1000, 3000])
def test_precision_rises_until_near_ties_are_told_apart(bits):
    near = 2**bits + 1
    assert sign([(1, near), (-bits, 2)]) == 1
    assert sign([(1, near - 2), (-bits, 2)]) == -1
    assert sign([(1, near * (near - 2)), (-1, near**2), (1, near), (-1, near - 2)]) == 0


def test_huge_coefficients_do_not_overflow():
    assert sign([(10**400, 3), (-(10**400), 2)]) == 1
    assert sign([(10**400, 9), (-2 * 10**400, 3)]) == 0
    assert LogSum.of([(10**400, 3), (1 - 10**400, 3)]).bits == pytest.approx(math.log2(3), rel=1e-15)


@pytest.mark.parametrize("base", [0, -3])
def test_bases_must_be_positive(base):
    with pytest.raises(ValueError, match=f"logarithm of {base}"):
        sign([(1, base)])


@given(forms, forms, coefficients)
def test_arithmetic_and_order(first, second, factor):
    a, b = LogSum.of(first), LogSum.of(second)
    scaled = [(coef * factor, base) for coef, base in second]
    assert a + b * factor == LogSum.of(first + scaled)
    assert a - b == LogSum.of(first + [(-coef, base) for coef, base in second])
    order = literal_sign(first + [(-coef, base) for coef, base in second])
    assert ((a > b) - (a < b), a >= b, a <= b, a == b) == (order, order >= 0, order <= 0, order == 0)


@given(forms, st.integers(5, 60))
def test_interval_contains_the_value_and_shrinks(terms, digits):
    low, high = LogSum.of(terms).interval(digits)
    with localcontext() as context:
        context.prec = 150
        size = sum(abs(literal([term])) for term in terms) + 1
        assert low <= literal(terms) + Decimal("1e-120")
        assert high >= literal(terms) - Decimal("1e-120")
        assert high - low <= size * 20 * Decimal(10) ** -(digits - 1)


@given(forms)
def test_bits_are_accurate(terms):
    value = literal(terms)
    expected = 0.0 if abs(value) < Decimal("1e-120") else float(value)
    assert LogSum.of(terms).bits == pytest.approx(expected, rel=1e-14, abs=0)


def test_bits_survive_cancellation():
    skewed = entropy([2**1000, 1])
    with localcontext() as context:
        context.prec = 700
        p = Decimal(1) / (2**1000 + 1)
        expected = -(p * p.ln() + (1 - p) * (1 - p).ln()) / Decimal(2).ln()
    assert skewed.bits == pytest.approx(float(expected), rel=1e-14)


def test_entropy_of_masses():
    assert entropy([7]).bits == 0
    assert entropy([5, 5, 5, 5]) == LogSum.rational(2)
    assert entropy([1, 2]) == LogSum.of([(1, 3), (Fraction(-2, 3), 2)])
    assert entropy([1, 2]).bits == pytest.approx(0.9182958340544896, rel=1e-15)
    assert entropy([2**1000, 2**1001]) == entropy([1, 2])
    assert entropy([4, 4, 4]) != entropy([4, 4, 5])
    assert entropy([8, 2, 2, 2, 2]) == entropy([4, 4, 4, 4])


def test_equal_values_with_different_terms():
    assert LogSum.of([(1, 12)]) == LogSum.of([(2, 2), (1, 3)])
    assert LogSum.of([(Fraction(1, 2), 9)]) == LogSum.of([(1, 3)])
    assert LogSum.of([(1, 3)]) != 3
    with pytest.raises(TypeError):
        hash(LogSum())
