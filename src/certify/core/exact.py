"""Exact integer arithmetic on arrays: dense ranks, grouped sums, and the one place where a logarithm is taken."""

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Masses = NDArray[Any]  # int64 while sums stay below 2**62, Python integers beyond

_INT64_SAFE = 2**62
_FLOAT_SAFE = 2**53


def as_masses(values: Iterable[int]) -> Masses:
    """Non-negative integers as an array whose sums cannot overflow."""
    items = list(values)
    return np.array(items, dtype=np.int64 if sum(items) < _INT64_SAFE else object)


def common_denominator(fractions: list[Fraction]) -> tuple[list[int], int]:
    """Integer numerators over the least common denominator."""
    denominator = math.lcm(*{f.denominator for f in fractions}) if fractions else 1
    return [f.numerator * (denominator // f.denominator) for f in fractions], denominator


def total_of(masses: Masses) -> int:
    """The sum as a Python integer."""
    return int(masses.sum()) if len(masses) else 0


def rank(keys: Ints) -> tuple[Ints, int]:
    """Dense labels 0…k−1 in the order of the keys, and k."""
    if not len(keys):
        return np.zeros(0, np.int64), 0
    low, high = int(keys.min()), int(keys.max())
    if high - low <= 4 * len(keys) + 1024:  # a presence table is linear; sorting is not
        shifted = keys - low if low else keys
        present = np.zeros(high - low + 1, bool)
        present[shifted] = True
        table = np.cumsum(present, dtype=np.int64) - 1
        return (shifted if present.all() else table[shifted]), int(table[-1]) + 1
    values, labels = np.unique(keys, return_inverse=True)
    return labels.astype(np.int64, copy=False), len(values)


def pair(first: Ints, second: Ints) -> Ints:
    """One integer key per pair of non-negative integers, ordered lexicographically."""
    if not len(first):
        return np.zeros(0, np.int64)
    width = int(second.max()) + 1
    if (int(first.max()) + 1) * width >= _INT64_SAFE:
        first, second = rank(first)[0], rank(second)[0]
        width = int(second.max()) + 1
    return first * width + second


def representatives(labels: Ints, count: int) -> Ints:
    """The first index that carries each label."""
    first = np.empty(count, np.int64)
    if count == len(labels):  # each label once
        first[labels] = np.arange(count)
        return first
    first[labels[::-1]] = np.arange(len(labels) - 1, -1, -1)
    return first


def group_sums(labels: Ints, masses: Masses, count: int) -> Masses:
    """Exact sum of the masses under each label 0…count−1."""
    if masses.dtype == object:
        sums = np.zeros(count, dtype=object)
        np.add.at(sums, labels, masses)
        return sums
    if total_of(masses) < _FLOAT_SAFE:  # every partial sum is an integer that a double holds exactly
        return np.bincount(labels, weights=masses, minlength=count).astype(np.int64)
    sums = np.zeros(count, np.int64)
    np.add.at(sums, labels, masses)
    return sums


def fold(base: Ints, source: Ints, values: Ints) -> tuple[Ints, int]:
    """Label each node by (base, its list of values); `source` is sorted and says whose value each is."""
    if len(source) == len(base) and np.array_equal(source, np.arange(len(base))):  # one value each
        return rank(pair(base, values))
    labels = base.copy()
    if len(source):
        starts = np.flatnonzero(np.r_[True, source[1:] != source[:-1]])
        position = np.arange(len(source)) - np.repeat(starts, np.diff(np.r_[starts, len(source)]))
        order = np.argsort(position, kind="stable") if position.any() else np.arange(len(source))
        bounds = np.cumsum(np.bincount(position))
        for begin, end in zip(np.r_[0, bounds[:-1]], bounds, strict=True):
            edges = order[begin:end]
            nodes = source[edges]
            fresh = int(labels.max()) + 1  # a longer list never collides with a shorter one
            labels[nodes] = rank(pair(labels[nodes], values[edges]))[0] + fresh
    return rank(labels)


def conditional_entropy(parts: Masses, wholes: Masses, total: int) -> float:
    """Σ p·log₂(whole/part) over cells with p = part/total: H(cell | fiber) in bits."""
    if parts.dtype == object or wholes.dtype == object:
        return math.fsum(int(m) / total * _log2_ratio(int(w), int(m)) for m, w in zip(parts, wholes, strict=True))
    if len(parts) and (parts[0] == parts).all() and (wholes[0] == wholes).all():  # uniform: one logarithm
        return int(parts[0]) * len(parts) / total * _log2_ratio(int(wholes[0]), int(parts[0]))
    terms = np.log2(wholes / parts)
    close = np.flatnonzero(terms < 1)  # near 1 the quotient has lost digits that the difference still has
    terms[close] = np.log1p((wholes[close] - parts[close]) / parts[close]) / math.log(2)
    terms *= parts / total
    return float(np.sum(terms, dtype=np.longdouble))


def label_entropy(observation: Ints, label: Ints, mass: Masses) -> float:
    """H(label | observation) in bits."""
    cell, count = rank(pair(observation, label))
    fiber, fibers = rank(observation)
    whole = group_sums(fiber, mass, fibers)[fiber[representatives(cell, count)]]
    return conditional_entropy(group_sums(cell, mass, count), whole, total_of(mass))


def _log2_ratio(whole: int, part: int) -> float:
    if whole < 2 * part:
        return math.log1p((whole - part) / part) / math.log(2)
    shift = max(0, whole.bit_length() - part.bit_length() - 1000)  # keeps the quotient inside a double
    return math.log2(whole / (part << shift)) + shift


def brief(value: Fraction | int) -> str:
    if value.numerator.bit_length() + value.denominator.bit_length() < 200:
        return str(value)
    return f"about {float(value):.6g}" if abs(value) < 10**300 else "a number beyond 1e300"
