"""Statistics of tables of runs: Fisher's exact test, clustered logistic regression, lines.

All intervals are 95 %. Runs that share a configuration (or two rows of one run) are not independent: the logistic
regression therefore comes with errors that are robust to clusters, and with a bootstrap that redraws whole clusters.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from certify.errors import UserError
from certify.optional import import_optional
from certify.progress import track
from diacritic.measure.statistics import Interval

Floats = NDArray[np.float64]
Count = tuple[int, int]
"""Successes, and of how many."""
REPLICATES = 1000
UNBOUNDED = 15.0  # log-odds across a factor's range, beyond which its estimate is taken for infinite
_INTERCEPT = "intercept"


def fisher(first: Count, second: Count) -> float:
    """Two-sided p of Fisher's exact test that two counts share one probability."""
    for where, count in (("first", first), ("second", second)):
        _check_count(where, count)
    table = [[passed, trials - passed] for passed, trials in (first, second)]
    return float(import_optional("scipy.stats", "measure").fisher_exact(table).pvalue)


class Contrast(NamedTuple):
    """Two cells compared."""

    first: str
    second: str
    difference: float  # of the shares, second less first
    p: float  # Fisher
    adjusted: float  # the same after Holm over all contrasts of the table


def contrasts(cells: Mapping[str, Count]) -> list[Contrast]:
    """Every two of some cells, the surest difference first."""
    pairs = list(combinations(cells, 2))
    if not pairs:
        raise UserError("cells", f"{len(cells)} to compare; give at least two")
    raw = [fisher(cells[one], cells[two]) for one, two in pairs]
    adjusted = import_optional("statsmodels.stats.multitest", "measure").multipletests(raw, method="holm")[1]
    share = {name: passed / trials for name, (passed, trials) in cells.items()}
    compared = [
        Contrast(one, two, share[two] - share[one], p, float(holm))
        for (one, two), p, holm in zip(pairs, raw, adjusted, strict=True)
    ]
    return sorted(compared, key=lambda contrast: contrast.p)


@dataclass(frozen=True)
class Line:
    """A straight line by least squares, with Student's t intervals."""

    slope: Interval
    intercept: Interval
    p: float  # that the slope is 0
    points: int


def line(x: ArrayLike, y: ArrayLike) -> Line:
    """y on x, say a rate in bits on log₂ M."""
    across, up = (np.asarray(values, np.float64) for values in (x, y))
    if across.ndim != 1 or across.shape != up.shape or len(across) < 3:
        raise UserError("y", f"{up.size} values beside {across.size} of x; a line with an interval needs 3 or more")
    if not (np.isfinite(across).all() and np.isfinite(up).all() and np.ptp(across)):
        raise UserError("x", "a slope needs finite numbers and an x that varies")
    centred, n = across - across.mean(), len(across)
    slope = float(centred @ up / (centred @ centred))
    middle = float(up.mean() - slope * across.mean())
    left = up - middle - slope * across
    error = float(np.sqrt(left @ left / (n - 2) / (centred @ centred)))
    student = import_optional("scipy.stats", "measure").t(n - 2)
    width = float(student.ppf(0.975))
    away = error * float(np.sqrt((across @ across) / n))
    p = 2 * float(student.sf(abs(slope) / error)) if error else float(slope == 0)  # points on a line have no error
    return Line(_around(slope, width * error), _around(middle, width * away), p, n)


class Coefficient(NamedTuple):
    """One factor of a logistic regression, in log-odds."""

    value: float
    low: float  # cluster-robust
    high: float
    p: float
    redrawn: tuple[float, float] | None  # percentile interval over redrawn clusters; None where none were asked for


@dataclass(frozen=True)
class Logistic:
    """Log-odds of success as a linear function of factors."""

    coefficients: dict[str, Coefficient]
    rows: int
    clusters: int
    failed: int  # redrawn samples without an estimate, since success was separated there
    unbounded: tuple[str, ...]  # factors whose groups always or never succeed: their own numbers mean nothing

    def __getitem__(self, name: str) -> Coefficient:
        return self.coefficients[name]


def logistic(
    success: ArrayLike,
    factors: Mapping[str, ArrayLike],
    clusters: ArrayLike,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> Logistic:
    """Success (0 or 1) on an intercept and factors, one row an entry; `clusters` says which rows belong together.

    An interaction is one more factor, the product of two; a group enters by its `indicators`.
    """
    hits, group = np.asarray(success, np.float64), np.unique(np.asarray(clusters), return_inverse=True)[1].reshape(-1)
    design = _design(hits, factors, group)
    names, count = [_INTERCEPT, *factors], int(group.max()) + 1
    fit = _fit(hits, design, np.ones(len(hits)), group)
    if fit is None:
        raise UserError("factors", "they separate success from failure, so no estimate is finite; use fewer factors")
    value, bounds, p = (np.asarray(numbers) for numbers in (fit.params, fit.conf_int(), fit.pvalues))
    drawn = _redraw(hits, design, group, replicates, seed)
    ends = [(low, high) for low, high in np.quantile(drawn, (0.025, 0.975), axis=0).T.tolist()] if len(drawn) else None
    reach = np.abs(value * np.array([1.0, *np.ptp(design[:, 1:], axis=0)]))
    return Logistic(
        {
            name: Coefficient(float(value[k]), float(low), float(high), float(p[k]), None if ends is None else ends[k])
            for k, (name, (low, high)) in enumerate(zip(names, bounds, strict=True))
        },
        len(hits),
        count,
        replicates - len(drawn),
        tuple(name for name, far in zip(names, reach, strict=True) if far > UNBOUNDED),
    )


def indicators(name: str, labels: ArrayLike) -> dict[str, Floats]:
    """A group as factors: one column for each of its values but the first, which is what they are compared with."""
    values = np.asarray(labels)
    return {f"{name}={value}": (values == value).astype(np.float64) for value in np.unique(values)[1:]}


def _design(hits: Floats, factors: Mapping[str, ArrayLike], group: NDArray[np.int64]) -> Floats:
    """The intercept and all factors [rows, 1 + factors]; refused where they are collinear."""
    if hits.ndim != 1 or not np.isin(hits, (0.0, 1.0)).all() or len(np.unique(hits)) < 2:
        raise UserError("success", "expected 0 and 1, both among them, one an entry")
    if group.shape != hits.shape or group.max() == 0:
        raise UserError("clusters", f"{group.size} entries in {group.max() + 1} clusters, for {len(hits)} rows")
    columns = [np.ones(len(hits))]
    for name, values in factors.items():
        column = np.asarray(values, np.float64)
        if column.shape != hits.shape or not np.isfinite(column).all():
            raise UserError(f"factors[{name}]", f"shape {column.shape}; expected {len(hits)} finite numbers")
        columns.append(column)
        if np.linalg.matrix_rank(np.stack(columns, 1)) < len(columns):
            raise UserError(f"factors[{name}]", "never varies, or follows from the others; leave it out")
    return np.stack(columns, 1)


def _fit(hits: Floats, design: Floats, weights: Floats, group: NDArray[np.int64] | None) -> Any:
    """A maximum-likelihood fit, or None where there is none; without clusters only its estimates are meant."""
    family = import_optional("statsmodels.genmod.families", "measure").Binomial()
    model = import_optional("statsmodels.genmod.generalized_linear_model", "measure")
    separated = import_optional("statsmodels.tools.sm_exceptions", "measure").PerfectSeparationWarning
    robust = {} if group is None else {"cov_type": "cluster", "cov_kwds": {"groups": group}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a weighted fit warns of how it counts rows
        warnings.simplefilter("error", separated)
        try:
            fit = model.GLM(hits, design, family=family, freq_weights=weights).fit(**robust)
        except (separated, np.linalg.LinAlgError):
            return None
    return fit if np.isfinite(fit.params).all() else None


def _redraw(hits: Floats, design: Floats, group: NDArray[np.int64], replicates: int, seed: int) -> Floats:
    """Estimates [replicates, factors] where clusters are drawn again with replacement; samples without one are left."""
    count = int(group.max()) + 1
    times = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=replicates)
    replicated = []
    for drawn in track(list(times), "redrawing clusters"):
        weights = drawn[group].astype(np.float64)
        held = weights > 0
        if len(np.unique(hits[held])) < 2 or np.linalg.matrix_rank(design[held]) < design.shape[1]:
            continue
        fit = _fit(hits[held], design[held], weights[held], None)
        if fit is not None:
            replicated.append(np.asarray(fit.params))
    return np.array(replicated).reshape(len(replicated), design.shape[1])


def _around(value: float, half: float) -> Interval:
    return Interval(float(value), float(value - half), float(value + half))


def _check_count(where: str, count: Count) -> None:
    successes, trials = count
    if not 0 <= successes <= trials or not trials:
        raise UserError(where, f"{successes} of {trials} is not a share")
