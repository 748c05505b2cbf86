"""Exact rational linear forms in logarithms: the numbers that entropies are.

A conditional entropy of a finite model is sum_i q_i log2(b_i) with rational q_i and integer b_i. Two such numbers are
compared without ever trusting a float: a float decides only when a rigorous error bound lets it, equality is decided by
factoring the bases into a coprime base, and everything else by decimal intervals of rising precision.
"""

import decimal
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, total_ordering
from typing import cast

Rational = int | Fraction
Terms = Mapping[int, Rational] | Iterable[tuple[Rational, int]]

# A product coef * log2(base) of floats is off by a few units in the last place; 2^-48 leaves room for a poor libm.
_FLOAT_ERROR = 2.0**-48


def sign(terms: Terms) -> int:
    """Sign (-1, 0, 1) of sum coef * log2(base); `terms` maps base to coef, or lists (coef, base) pairs."""
    collected = _collect(terms)
    if not collected:
        return 0
    guess = _float_sign(collected)
    if guess:
        return guess
    if _vanishes(collected):
        return 0
    scale = math.lcm(*(coef.denominator for coef in collected.values()))
    integral = {base: int(coef * scale) for base, coef in collected.items()}
    digits = 30
    while True:
        low, high = _natural_interval(integral, digits)
        if low > 0 or high < 0:
            return 1 if low > 0 else -1
        digits *= 2


@total_ordering
@dataclass(frozen=True, eq=False)
class LogSum:
    """The exact number sum coef * log2(base), with `terms` = ((base, coef), ...), bases above 1 and ascending.

    Comparisons are exact. It has no hash, because equal values may have different terms.
    """

    terms: tuple[tuple[int, Fraction], ...] = ()

    @classmethod
    def of(cls, terms: Terms) -> "LogSum":
        """Collect equal bases and drop what is zero."""
        return cls(tuple((base, Fraction(coef)) for base, coef in sorted(_collect(terms).items())))

    @classmethod
    def rational(cls, value: Rational) -> "LogSum":
        """The rational number `value`, written as value * log2(2)."""
        return cls.of({2: value})

    def __add__(self, other: "LogSum") -> "LogSum":
        return LogSum.of([(coef, base) for base, coef in self.terms + other.terms])

    def __neg__(self) -> "LogSum":
        return self * -1

    def __sub__(self, other: "LogSum") -> "LogSum":
        return self + -other

    def __mul__(self, factor: Rational) -> "LogSum":
        return LogSum.of({base: coef * factor for base, coef in self.terms})

    __rmul__ = __mul__

    def sign(self) -> int:
        """Exact sign."""
        return sign(dict(self.terms))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LogSum) and (self.terms == other.terms or (self - other).sign() == 0)

    def __lt__(self, other: "LogSum") -> bool:
        return (self - other).sign() < 0

    @property
    def bits(self) -> float:
        """The value as a float, accurate to a few units in the last place."""
        try:
            parts = [float(coef) * math.log2(base) for base, coef in self.terms]
        except OverflowError:
            parts = [math.inf]
        total, size = math.fsum(parts), math.fsum(map(abs, parts))
        if size <= 16 * abs(total) < math.inf:
            return total
        if self.sign() == 0:
            return 0.0
        digits = 40
        while True:
            low, high = self.interval(digits)
            if abs(high - low) <= abs(low) * Decimal("1e-18"):
                return float(low)
            digits *= 2

    def interval(self, digits: int = 30) -> tuple[Decimal, Decimal]:
        """Decimals low <= value <= high, worked out with `digits` digits and every rounding directed outward."""
        down, up = _context(digits, decimal.ROUND_FLOOR), _context(digits, decimal.ROUND_CEILING)
        scale = math.lcm(*(coef.denominator for _, coef in self.terms))
        low, high = _natural_interval({base: int(coef * scale) for base, coef in self.terms}, digits)
        unit_low, unit_high = _natural_interval({2: scale}, digits)
        return (
            down.divide(low, unit_high if low > 0 else unit_low),
            up.divide(high, unit_low if high > 0 else unit_high),
        )


def entropy(masses: Iterable[int]) -> LogSum:
    """Shannon entropy, in bits, of the distribution proportional to the positive integers `masses`."""
    masses = list(masses)
    common = math.gcd(*masses)
    total = sum(masses) // common
    parts = [(Fraction(-(mass // common), total), mass // common) for mass in masses]
    return LogSum.of([(1, total), *parts])


def _collect(terms: Terms) -> dict[int, Rational]:
    """Sum of coefficients per base, without the terms that vanish on sight."""
    if isinstance(terms, Mapping):
        terms = [(coef, base) for base, coef in cast(Mapping[int, Rational], terms).items()]
    sums: dict[int, Rational] = {}
    for coef, base in terms:
        if base < 1:
            raise ValueError(f"logarithm of {base}: bases are positive integers")
        if base > 1:
            sums[base] = sums.get(base, 0) + coef
    return {base: coef for base, coef in sums.items() if coef}


def _float_sign(terms: dict[int, Rational]) -> int:
    """Sign where floats prove it, 0 where they do not."""
    try:
        parts = [float(coef) * math.log2(base) for base, coef in terms.items()]
    except OverflowError:
        return 0
    total = math.fsum(parts)
    doubt = math.fsum(map(abs, parts)) * _FLOAT_ERROR + 1e-290
    return 0 if abs(total) <= doubt else (1 if total > 0 else -1)


def _vanishes(terms: dict[int, Rational]) -> bool:
    """Whether the form is zero: logarithms of pairwise coprime integers are independent over the rationals."""
    exponents: dict[int, Rational] = {}
    for factor in _coprime_base(terms):
        exponents[factor] = sum(coef * _multiplicity(base, factor) for base, coef in terms.items())
    return not any(exponents.values())


def _coprime_base(numbers: Iterable[int]) -> list[int]:
    """Pairwise coprime integers above 1 of which every given number is a product of powers (gcd refinement)."""
    base: list[int] = []
    waiting = list(numbers)
    while waiting:
        number = waiting.pop()
        if number == 1:
            continue
        for k, other in enumerate(base):
            common = math.gcd(number, other)
            if common > 1:
                del base[k]
                waiting += [number // common, other // common, common]
                break
        else:
            base.append(number)
    return base


def _multiplicity(number: int, factor: int) -> int:
    count = 0
    while number % factor == 0:
        number //= factor
        count += 1
    return count


def _context(digits: int, rounding: str) -> decimal.Context:
    return decimal.Context(prec=digits, rounding=rounding, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)


@lru_cache(maxsize=4096)
def _natural_log(base: int, digits: int) -> tuple[Decimal, Decimal]:
    """Bounds of ln(base)."""
    down, up = _context(digits, decimal.ROUND_FLOOR), _context(digits, decimal.ROUND_CEILING)
    nearest = down.ln(Decimal(base))  # rounded to nearest whatever the context, so widen by one unit each way
    return down.next_minus(nearest), up.next_plus(nearest)


def _natural_interval(terms: Mapping[int, int], digits: int) -> tuple[Decimal, Decimal]:
    """Bounds of sum coef * ln(base) for integer coefficients."""
    down, up = _context(digits, decimal.ROUND_FLOOR), _context(digits, decimal.ROUND_CEILING)
    low = high = Decimal(0)
    for base, coef in terms.items():
        below, above = _natural_log(base, digits)
        small, large = (below, above) if coef > 0 else (above, below)
        low = down.add(low, down.multiply(Decimal(coef), small))
        high = up.add(high, up.multiply(Decimal(coef), large))
    return low, high
