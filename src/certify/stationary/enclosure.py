"""Long runs that are too large for exact fractions: bits in a proved interval, by floats and their error bounds.

Let h(x) bound the expected time until a chain is in the state `root`, and let μ be any law with residual r = μP − μ.
For |g| ≤ 1 the sum of g minus its mean until `root` solves w − Pw = g − mean(g), and |w| ≤ 2h; so the law of the long
run is within 2·max(h)·|r| of μ. That h is such a bound is seen from h ≥ 1 + Ph outside `root`, however h was found.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from certify.core.logs import LogSum
from certify.stationary.chain import Chain, recurrent_classes

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
WIDEST = 1e-7  # bits; a wider interval proves too little to be called an answer
_SLACK = 1e-6  # relative, by which h is made larger before it is checked
_ROUNDING = 2.0**-50  # bounds the relative error of a product of two rounded numbers, and of a correctly rounded sum


def enclosed_bits(chain: Chain, fiber: Sequence[int]) -> tuple[LogSum, LogSum] | None:
    """Bounds of H(label | fiber of the label) in the long run; None without scipy, or where they are not narrow."""
    classes = recurrent_classes(chain.rows)
    if len(classes) > 1:
        return None
    root = classes[0][0]
    edges = [(i, j, float(p)) for i, row in enumerate(chain.rows) for j, p in row.items()]
    source, target = (np.array([edge[k] for edge in edges], np.int64) for k in (0, 1))
    weight = np.array([edge[2] for edge in edges])
    solved = _solve(source, target, weight, root, chain.size)
    if solved is not None:  # again, with a state that is visited often: the times until it are shorter
        root = int(solved[0].argmax())
        solved = _solve(source, target, weight, root, chain.size)
    if solved is None:
        return None
    law, times = solved
    wait = _longest_wait(source, target, weight, root, times)
    if wait is None or not np.isfinite(law).all() or law.min() < 0:
        return None
    law = law / math.fsum(law)
    distance = wait * _residual(source, target, weight, law)  # half of the sum of all differences
    return _entropy(law, chain.label, fiber, distance)


def _solve(source: Places, target: Places, weight: Floats, root: int, size: int) -> tuple[Floats, Floats] | None:
    """The law of the long run and the times until `root`, nearly; None where that fails."""
    try:
        sparse, linalg = import_module("scipy.sparse"), import_module("scipy.sparse.linalg")
    except ModuleNotFoundError:
        return None
    inside = (source != root) & (target != root)
    steps = sparse.csc_matrix((weight[inside], (source[inside], target[inside])), shape=(size, size))
    try:
        solver = linalg.splu(sparse.identity(size, format="csc") - steps)
    except (RuntimeError, MemoryError):
        return None
    first = np.zeros(size)
    np.add.at(first, target[source == root], weight[source == root])
    first[root] = 0.0
    law = solver.solve(first, "T")
    law[root] = 1.0
    return np.maximum(law, 0.0), solver.solve(np.ones(size))


def _longest_wait(source: Places, target: Places, weight: Floats, root: int, times: Floats) -> float | None:
    """A number that no expected time until `root` exceeds, checked; None where the times do not prove it."""
    bound = np.maximum(times, 1.0) * (1 + _SLACK)
    inside = target != root
    ahead = np.bincount(source[inside], weight[inside] * bound[target[inside]], minlength=len(bound))
    most = np.bincount(source, minlength=len(bound)).max() + 3
    proved = bound * (1 - most * _ROUNDING) >= (1 + ahead) * (1 + most * _ROUNDING)
    proved[root] = True
    return float(bound.max()) if proved.all() else None


def _residual(source: Places, target: Places, weight: Floats, law: Floats) -> float:
    """At least Σ|μP − μ|: sums are rounded once each, whatever their length."""
    order = np.argsort(target, kind="stable")
    flow = (law[source] * weight)[order]
    begin = np.searchsorted(target[order], np.arange(len(law) + 1))
    moved = np.array([math.fsum(flow[begin[j] : begin[j + 1]]) for j in range(len(law))])
    return math.fsum(np.abs(moved - law)) * (1 + _ROUNDING) + 4 * _ROUNDING


def _entropy(law: Floats, labels: Sequence[int], fiber: Sequence[int], distance: float) -> tuple[LogSum, LogSum] | None:
    """Entropy of the float law, and how far that of a law at this total variation can be (Alicki, Fannes, Winter)."""
    cells: dict[int, list[float]] = {}
    for p, label in zip(law.tolist(), labels, strict=True):
        cells.setdefault(label, []).append(p)
    mass = {label: math.fsum(parts) for label, parts in cells.items()}
    whole: dict[int, list[float]] = {}
    for label, p in mass.items():
        whole.setdefault(fiber[label], []).append(p)
    total = {o: math.fsum(parts) for o, parts in whole.items()}
    bits = math.fsum(p * math.log2(total[fiber[label]] / p) for label, p in mass.items() if p)
    width = max(len(parts) for parts in whole.values())
    slack = distance * math.log2(width) + (1 + distance) * _binary(distance / (1 + distance)) if width > 1 else 0.0
    slack += 1e-13 * (1 + bits)
    if slack > WIDEST / 2:
        return None
    low, high = max(0.0, bits - slack), bits + slack
    return LogSum.rational(Fraction(low)), LogSum.rational(Fraction(high))


def _binary(p: float) -> float:
    return -p * math.log2(p) - (1 - p) * math.log2(1 - p) if 0 < p < 1 else 0.0
