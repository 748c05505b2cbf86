"""The Miller–Madow correction of plug-in entropies, the same inside every score."""

from math import log

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diacritic.measure.plugin import conditional_entropy, joint


def correction(occupied: ArrayLike, given: ArrayLike, episodes: int) -> NDArray[np.float64]:
    """(m_{xy} − m_y) / (2 N ln 2) bits, by which a plug-in H(X|Y) of N episodes falls short; m counts cells."""
    return (np.asarray(occupied, np.float64) - np.asarray(given, np.float64)) / (2 * episodes * log(2))


def miller_madow(x: ArrayLike, given: ArrayLike) -> float:
    """Ĥ(X|Y) with its bias taken out to first order; every entry counts once."""
    y = joint(given)
    both = joint(y, x)
    return conditional_entropy(x, y) + float(correction(both.max() + 1, y.max() + 1, len(y)))


def corrected_score(about: ArrayLike, code: ArrayLike, given: ArrayLike) -> float | None:
    """S = 1 − Ĥ(X|C,Ō)/Ĥ(X|Ō) with both entropies corrected; None where nothing is required."""
    whole = miller_madow(about, given)
    return None if whole <= 1e-9 else 1 - miller_madow(about, joint(code, given)) / whole
