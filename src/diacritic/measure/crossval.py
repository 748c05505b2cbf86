"""Bounds from held-out predictions: what a classifier that never saw an episode still gets right about its code.

The mean log loss of any prediction made without looking at the episode is, in expectation, at least H(C|inputs): an
upper bound that small cells do not spoil. Subtracted from H(C|Γ,Ō) it bounds from below what the inputs explain of it.
"""

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from certify.errors import UserError
from certify.optional import import_optional
from diacritic.measure.plugin import Floats, conditional_entropy, joint

_STRENGTHS = (0.01, 0.1, 1.0, 10.0)
_FREE = 10.0  # a larger column is penalised less: the given values are distinguished at no cost
_FLOOR = 1e-3  # share of a prediction of trees that goes to all codes alike
Learner = Literal["logistic", "trees"]
"""Multinomial logistic regression; or boosted trees as the authors have them (150 rounds of depth 4 at rate 0.1)."""


def held_out_bits(code: ArrayLike, features: Floats, folds: int, seed: int = 0, learner: Learner = "logistic") -> float:
    """Cross-validated log loss of a classifier, in bits an episode.

    A small share of each prediction goes to all codes alike, so that the loss is finite, and the penalty of a logistic
    regression is chosen inside each training fold. It stays a bound, since any prediction gives one.
    """
    codes = joint(code)
    if len(features) != len(codes) or features.ndim != 2:
        raise UserError("features", f"shape {features.shape} beside {len(codes)} codes; one row an episode is needed")
    if not 2 <= folds <= len(codes):
        raise UserError("folds", f"{folds} folds of {len(codes)} episodes; expected 2 to {len(codes)}")
    count = int(codes.max()) + 1
    loss = np.empty(len(codes))
    splits = import_optional("sklearn.model_selection", "measure").KFold(folds, shuffle=True, random_state=seed)
    for train, test in splits.split(features):
        if learner == "trees":
            predicted = _grow(features[train], codes[train], features[test], count, seed)
        else:
            chosen = _penalty(features[train], codes[train], count)
            predicted = _predict(features[train], codes[train], features[test], count, chosen)
        loss[test] = -np.log2(predicted[np.arange(len(test)), codes[test]])
    return float(loss.mean())


def rate_bound(code: ArrayLike, symbol: ArrayLike, observations: ArrayLike, folds: int = 2, seed: int = 0) -> float:
    """An upper bound on H(C|O) at one step, from the raw observation [N, d] and Ō."""
    return held_out_bits(code, np.hstack([standardised(observations), _FREE * one_hot(symbol)]), folds, seed)


@dataclass(frozen=True)
class Explained:
    """How much of the surplus at one step some inputs explain at least; bits."""

    surplus: float  # Ĥ(C | Γ, Ō)
    least: float  # lower bound on I(C; inputs | Γ, Ō)


def explained_surplus(
    code: ArrayLike,
    memory: ArrayLike,
    symbol: ArrayLike,
    inputs: ArrayLike,
    folds: int = 5,
    seed: int = 0,
    learner: Learner = "logistic",
) -> Explained:
    """H(C|Γ,Ō) less the held-out loss given Γ, Ō and the inputs [N, D]; never below 0.

    A regression has its own weights in every (Γ, Ō) cell, for a code may mean another position in each. The
    plug-in entropy is short of the truth and the loss beyond it: the bound is conservative twice.
    """
    given = joint(memory, symbol)
    surplus = conditional_entropy(code, given)
    cells, values = one_hot(given), standardised(inputs)
    if len(values) != len(cells):
        raise UserError("inputs", f"{len(values)} rows for {len(cells)} episodes")
    if learner == "logistic":
        values = (cells[:, :, None] * values[:, None, :]).reshape(len(cells), -1)
    loss = held_out_bits(code, np.hstack([_FREE * cells, values]), folds, seed, learner)
    return Explained(surplus, max(0.0, surplus - loss))


def one_hot(labels: ArrayLike) -> Floats:
    """One column a label that occurs."""
    dense = joint(labels)
    return np.eye(int(dense.max()) + 1)[dense]


def standardised(values: ArrayLike) -> Floats:
    """Columns with mean 0 and deviation 1; those that never vary are left out."""
    table = np.asarray(values, np.float64)
    if table.ndim != 2 or not np.isfinite(table).all():
        raise UserError("observations", f"expected finite numbers [episodes, channels], not shape {table.shape}")
    spread = table.std(0)
    varied = spread > 1e-9
    if not varied.any():
        raise UserError("observations", "no channel varies, so they predict nothing; check the recording")
    return (table[:, varied] - table[:, varied].mean(0)) / spread[varied]


def _penalty(features: Floats, codes: NDArray[np.int64], count: int) -> float:
    """The inverse penalty that predicts the last quarter of a training fold best from the rest of it."""
    cut = max(1, 3 * len(codes) // 4)

    def loss(strength: float) -> float:
        predicted = _predict(features[:cut], codes[:cut], features[cut:], count, strength)
        return -np.log2(predicted[np.arange(len(predicted)), codes[cut:]]).sum()

    return min(_STRENGTHS, key=loss)


def _predict(train: Floats, codes: NDArray[np.int64], test: Floats, count: int, strength: float) -> Floats:
    """Probabilities of all codes for the test rows, a share that an unseen code deserves spread over all alike."""
    present, rest = np.unique(codes), 1 / (len(codes) + 1)
    result = np.full((len(test), count), rest / count)
    if len(present) == 1 or not len(test):
        result[:, present] += 1 - rest
        return result
    model = import_optional("sklearn.linear_model", "measure").LogisticRegression(C=strength, max_iter=200)
    limits = import_optional("threadpoolctl", "measure").threadpool_limits
    unfinished = import_optional("sklearn.exceptions", "measure").ConvergenceWarning
    with limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", unfinished)  # a fit that stops early predicts all the same, and bounds
        model.fit(train, codes)
        result[:, present] += (1 - rest) * model.predict_proba(test)
    return result


def _grow(train: Floats, codes: NDArray[np.int64], test: Floats, count: int, seed: int) -> Floats:
    """The same from boosted trees."""
    present = np.unique(codes)
    result = np.full((len(test), count), _FLOOR / count)
    if len(present) == 1:
        result[:, present] += 1 - _FLOOR
        return result
    forest = import_optional("sklearn.ensemble", "measure").GradientBoostingClassifier
    model = forest(n_estimators=150, max_depth=4, learning_rate=0.1, random_state=seed)
    result[:, present] += (1 - _FLOOR) * model.fit(train, codes).predict_proba(test)
    return result
