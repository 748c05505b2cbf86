"""Plug-in entropies of integer labels with weights: H(X), H(X|Y), I(X;Y|Z), in bits.

A weight is a count or a probability, one an entry (all equal if none are given); only ratios matter. Several variables
are one: `joint(x, y)` labels their pairs.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from certify.core.exact import pair, rank

Labels = NDArray[np.int64]
Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]


def joint(*labels: ArrayLike) -> Labels:
    """One dense label for each combination of labels that occurs."""
    first, *others = (_labels(values) for values in labels)
    dense = rank(first)[0]
    for values in others:
        if len(values) != len(dense):
            raise ValueError(f"labels: {len(values)} entries beside {len(dense)}; each variable needs one an entry")
        dense = rank(pair(dense, rank(values)[0]))[0]
    return dense


def entropy(x: ArrayLike, weights: ArrayLike | None = None) -> float:
    """H(X) = −Σ p(x) log₂ p(x)."""
    x = _labels(x)
    return conditional_entropy(x, np.zeros(len(x), np.int64), weights)


def conditional_entropy(x: ArrayLike, given: ArrayLike, weights: ArrayLike | None = None) -> float:
    """H(X|Y) = Σ p(x,y) log₂ p(y)/p(x,y); exactly 0 where Y decides X."""
    y = joint(given)
    both = joint(y, x)
    mass = _weights(weights, len(y))
    # both sums run over the entries in one order, so that a cell which is its whole column is so to the last digit
    part, whole = np.bincount(both, mass), np.bincount(y, mass)
    column = np.zeros(len(part), np.int64)
    column[both] = y
    held = part > 0
    ratio = whole[column[held]] / part[held]
    return float(np.sum(part[held] * np.log2(ratio)) / mass.sum())


def mutual_information(x: ArrayLike, y: ArrayLike, given: ArrayLike, weights: ArrayLike | None = None) -> float:
    """I(X;Y|Z) = H(X|Z) − H(X|Y,Z); never below 0."""
    z = joint(given)
    return max(0.0, conditional_entropy(x, z, weights) - conditional_entropy(x, joint(z, y), weights))


def shuffled_within(values: ArrayLike, given: ArrayLike, random: np.random.Generator) -> Labels:
    """Labels exchanged among the entries of each value of what is given, uniformly at random."""
    cells, labels = np.asarray(given), _labels(values)
    result = np.empty_like(labels)
    result[np.argsort(cells, kind="stable")] = labels[np.lexsort((random.random(len(labels)), cells))]
    return result


def _labels(values: ArrayLike) -> Labels:
    array = np.asarray(values)
    if array.ndim != 1 or not len(array) or array.dtype.kind not in "iub":
        raise ValueError(f"labels: expected integers along one axis, not {array.dtype} of shape {list(array.shape)}")
    return array.astype(np.int64, copy=False)


def _weights(weights: ArrayLike | None, count: int) -> Floats:
    if weights is None:
        return np.ones(count)
    mass = np.asarray(weights, np.float64)
    if mass.shape != (count,) or not np.isfinite(mass).all() or mass.min() < 0 or not mass.any():
        raise ValueError(f"weights: expected {count} numbers, none negative and not all zero")
    return mass
