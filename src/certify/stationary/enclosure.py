"""Long runs that are too large for exact fractions: bits in a proved interval, by floats and their error bounds.

Let h(x) bound the expected time until a chain is in the state `root`, and let μ be any law with residual r = μP − μ.
For |g| ≤ 1 the sum of g minus its mean until `root` solves w − Pw = g − mean(g), and |w| ≤ 2h; so the law of the long
run is within 2·max(h)·|r| of μ. That h is such a bound is seen from h ≥ 1 + Ph outside `root`, however h was found.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from certify.stationary.chain import Chain, recurrent_classes

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
WIDEST = 1e-7  # bits; a wider interval proves too little to be called an answer
_GRID = 2**60  # masses are rounded to multiples of its inverse
_SLACK = 1e-6  # relative, by which h is made larger before it is checked
_ROUNDING = 2.0**-50  # bounds the relative error of a product of two rounded numbers, and of a correctly rounded sum


def enclosed_law(chain: Chain) -> tuple[Floats, float] | None:
    """A law and its total variation from that of the long run, at most; None without scipy, or where none is found."""
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
    return law, wait * _residual(source, target, weight, law)  # half of the sum of all differences


def enclosed_masses(chain: Chain, fiber: Sequence[int]) -> tuple[dict[int, Fraction], Fraction] | None:
    """Masses of labels, and by how many bits H(partition | fiber) can differ under the law of the long run.

    The bound holds for every partition of the labels (Alicki, Fannes, Winter); None where it is not narrow.
    """
    enclosed = enclosed_law(chain)
    if enclosed is None:
        return None
    law, distance = enclosed
    cells: dict[int, list[float]] = {}
    for p, label in zip(law.tolist(), chain.label, strict=True):
        cells.setdefault(label, []).append(p)
    rounded = {label: Fraction(round(math.fsum(parts) * _GRID), _GRID) for label, parts in cells.items()}
    mass = {label: p for label, p in rounded.items() if p}
    distance += len(cells) / _GRID + _ROUNDING
    width = max(Counter(fiber[label] for label in cells).values())
    slack = distance * math.log2(width) + (1 + distance) * _binary(distance / (1 + distance)) if width > 1 else 0.0
    slack += 1e-12 * (1 + math.log2(width))  # the masses sum to 1 only nearly
    return (mass, Fraction(slack)) if slack <= WIDEST / 2 else None


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


def _binary(p: float) -> float:
    return -p * math.log2(p) - (1 - p) * math.log2(1 - p) if 0 < p < 1 else 0.0
