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
from typing import Any

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
    home = np.full(chain.size, -1)
    for k, members in enumerate(classes):
        home[members] = k
    edges = [(i, j, float(p)) for i, row in enumerate(chain.rows) for j, p in row.items()]
    source, target = (np.array([edge[k] for edge in edges], np.int64) for k in (0, 1))
    weight = np.array([edge[2] for edge in edges])
    start = np.array([float(p) for p in chain.start])
    entered = _absorbed(source, target, weight, start, home) if len(classes) > 1 else (np.ones(1), 0.0)
    if entered is None:
        return None
    law, (share, distance) = np.zeros(chain.size), entered
    for k, members in enumerate(classes):
        inside = np.flatnonzero(home[source] == k)
        number = np.zeros(chain.size, np.int64)
        number[members] = np.arange(len(members))
        part = _class_law(number[source[inside]], number[target[inside]], weight[inside], len(members))
        if part is None:
            return None
        law[members] = share[k] * part[0]
        distance += share[k] * part[1]
    return law, distance


def _class_law(source: Places, target: Places, weight: Floats, size: int) -> tuple[Floats, float] | None:
    """The law of a recurrent class, with its total variation from the true one, at most."""
    root = 0
    solved = _solve(source, target, weight, root, size)
    if solved is not None:  # again, with a state that is visited often: the times until it are shorter
        root = int(solved[0].argmax())
        solved = _solve(source, target, weight, root, size)
    if solved is None:
        return None
    law, times = solved
    wait = _longest_wait(source, target, weight, root, times)
    if wait is None or not np.isfinite(law).all() or law.min() < 0:
        return None
    law = law / math.fsum(law)
    return law, wait * _residual(source, target, weight, law)  # half of the sum of all differences


def _absorbed(
    source: Places, target: Places, weight: Floats, start: Floats, home: Places
) -> tuple[Floats, float] | None:
    """How likely each class is entered, and by how much that can be wrong; `home` is −1 outside the classes.

    Let y be any guess of the expected visits outside, with residual r = start + yP − y there. The true visits differ by
    r times the inverse of I − P, whose row sums are the expected times until a class is entered.
    """
    passing = np.flatnonzero(home < 0)
    parts = [start[home == k].tolist() for k in range(int(home.max()) + 1)]
    if not len(passing):
        return np.array([math.fsum(part) for part in parts]), _ROUNDING
    number = np.full(len(home), -1)
    number[passing] = np.arange(len(passing))
    inside = np.flatnonzero((home[source] < 0) & (home[target] < 0))
    edges = number[source[inside]], number[target[inside]], weight[inside]
    solver = _factored(*edges, len(passing))
    if solver is None:
        return None
    visits = np.maximum(solver.solve(start[passing], "T"), 0.0)
    wait = _longest_wait(*edges, None, solver.solve(np.ones(len(passing))))
    if wait is None or not np.isfinite(visits).all():
        return None
    leaving = np.flatnonzero((home[source] < 0) & (home[target] >= 0))
    flow = visits[number[source[leaving]]] * weight[leaving]
    into = home[target[leaving]]
    share = np.array([math.fsum([*part, *flow[into == k]]) for k, part in enumerate(parts)])
    total = math.fsum(visits)
    lost = _residual(*edges, visits, start[passing]) + 4 * _ROUNDING * total
    return share, (wait + 1) * lost + 4 * _ROUNDING * (1 + total)


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


def _factored(source: Places, target: Places, weight: Floats, size: int) -> Any:
    """I − P of some edges, factored; None without scipy, or where that fails."""
    try:
        sparse, linalg = import_module("scipy.sparse"), import_module("scipy.sparse.linalg")
    except ModuleNotFoundError:
        return None
    steps = sparse.csc_matrix((weight, (source, target)), shape=(size, size))
    try:
        return linalg.splu(sparse.identity(size, format="csc") - steps)
    except (RuntimeError, MemoryError):
        return None


def _solve(source: Places, target: Places, weight: Floats, root: int, size: int) -> tuple[Floats, Floats] | None:
    """The law of the long run and the times until `root`, nearly; None where that fails."""
    inside = (source != root) & (target != root)
    solver = _factored(source[inside], target[inside], weight[inside], size)
    if solver is None:
        return None
    first = np.zeros(size)
    np.add.at(first, target[source == root], weight[source == root])
    first[root] = 0.0
    law = solver.solve(first, "T")
    law[root] = 1.0
    return np.maximum(law, 0.0), solver.solve(np.ones(size))


def _longest_wait(source: Places, target: Places, weight: Floats, root: int | None, times: Floats) -> float | None:
    """A number that no expected time until `root`, or until no edge is left, exceeds; None where that is not proved."""
    bound = np.maximum(times, 1.0) * (1 + _SLACK)
    inside = np.ones(len(target), bool) if root is None else target != root
    ahead = np.bincount(source[inside], weight[inside] * bound[target[inside]], minlength=len(bound))
    most = np.bincount(source, minlength=len(bound)).max() + 3
    proved = bound * (1 - most * _ROUNDING) >= (1 + ahead) * (1 + most * _ROUNDING)
    if root is not None:
        proved[root] = True
    return float(bound.max()) if proved.all() else None


def _residual(source: Places, target: Places, weight: Floats, law: Floats, start: Floats | None = None) -> float:
    """At least Σ|start + μP − μ|: sums are rounded once each, whatever their length."""
    order = np.argsort(target, kind="stable")
    flow = (law[source] * weight)[order]
    begin = np.searchsorted(target[order], np.arange(len(law) + 1))
    moved = np.array([math.fsum(flow[begin[j] : begin[j + 1]]) for j in range(len(law))])
    moved += 0.0 if start is None else start
    return math.fsum(np.abs(moved - law)) * (1 + _ROUNDING) + 4 * _ROUNDING


def _binary(p: float) -> float:
    return -p * math.log2(p) - (1 - p) * math.log2(1 - p) if 0 < p < 1 else 0.0
