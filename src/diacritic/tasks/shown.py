"""What a symbolic task shows as vectors: one-hot symbols, or the numbers that observations are named by."""

import numpy as np
from numpy.typing import NDArray

from certify import Model


def shown(model: Model) -> NDArray[np.float64]:
    """A row for every observation symbol.

    Where all names are equally many numbers ("0.9 0 1 -1"), two at least, these are what an environment shows and a
    policy reads; a single number may be the name of a symbol.
    """
    names = [model.graph.observations[k].split() for k in range(len(model.graph.observations))]
    try:
        rows = np.array([[float(word) for word in words] for words in names], np.float64)
    except ValueError:  # words, or rows of different lengths
        return np.eye(len(names))
    return rows if rows.shape[1] > 1 and np.isfinite(rows).all() else np.eye(len(names))
