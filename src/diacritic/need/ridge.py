"""Kernel ridge regression with exact leave-one-out predictions: a row is one episode at one step."""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)  # each times the number of rows
KNOTS = tuple(np.linspace(0.06, 0.94, 8).tolist())  # quantiles at which piecewise linear features bend
TOLERANCE = 0.05  # of an action channel's standard deviation: smaller errors do not matter
EMPTY = 1e-9  # a channel that varies less, relative to its size, is constant

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Ridge:
    """The eigenvectors of one kernel, from which every target's leave-one-out predictions follow."""

    def __init__(self, kernel: Floats) -> None:
        self.rows = len(kernel)
        centred = kernel - kernel.mean(0) - kernel.mean(1)[:, None] + kernel.mean()
        values, vectors = eigh(centred, overwrite_a=True, check_finite=False)
        kept = values > 1e-10 * max(values[-1], 1e-12)
        self._vectors, values = vectors[:, kept], values[kept]
        self._shrunk = [values / (values + self.rows * penalty) for penalty in PENALTIES]
        squares = self._vectors**2
        self._free = [np.maximum(1 - squares @ shrunk - 1 / self.rows, 1e-6)[:, None] for shrunk in self._shrunk]

    def leave_one_out(self, targets: Floats) -> Floats:
        """Each row's prediction from all others; of every column with the penalty of least error, or its mean."""
        centred = targets - targets.mean(0)
        weights = self._vectors.T @ centred
        errors = centred * (self.rows / (self.rows - 1))
        least = (errors**2).mean(0)
        for shrunk, free in zip(self._shrunk, self._free, strict=True):
            trial = (centred - self._vectors @ (shrunk[:, None] * weights)) / free
            mean = (trial**2).mean(0)
            better = mean < least
            errors[:, better], least[better] = trial[:, better], mean[better]
        return targets - errors


def scaled(values: Floats) -> Floats:
    """The columns that vary, in standard deviations, clipped at four."""
    spread = values.std(0)
    varying = spread > EMPTY * (1 + np.abs(values).max(0, initial=0))
    return np.clip((values[:, varying] - values[:, varying].mean(0)) / spread[varying], -4, 4)


def linear_kernel(columns: Floats) -> Floats:
    return columns @ columns.T


def rich_kernel(columns: Floats) -> Floats:
    """Linear and piecewise linear in each column, and a Gaussian kernel of median width for interactions."""
    if not columns.shape[1]:
        return np.zeros((len(columns), len(columns)))
    hinges = [np.maximum(column[:, None] - np.unique(np.quantile(column, KNOTS)), 0) for column in columns.T]
    bent = 0.45 * np.concatenate(hinges, 1)
    kernel = columns @ columns.T
    squares = np.maximum(kernel.diagonal()[:, None] + kernel.diagonal()[None] - 2 * kernel, 0)
    width = np.median(squares[np.triu_indices(len(squares), 1)]) or 1.0
    return kernel + bent @ bent.T + columns.shape[1] * np.exp(-0.5 * squares / width)
