"""Labellings of episodes: classes that lie apart, and the information between labellings."""

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage

from diacritic.need.ridge import Floats, Ints

GAP = 4.0  # standard deviations between modes; a Gaussian cut in half has 2.6, a uniform distribution 3.5
MOST = 16  # classes of one decision
MANY = 4096  # labels that are counted without being renumbered
STRAYS = 0.05  # share of episodes that may lie between the modes


def one_hot(labels: Ints) -> Floats:
    return np.eye(int(labels.max()) + 1)[labels]


def entropy(labels: Ints) -> float:
    """Bits."""
    counts = np.bincount(labels)
    shares = counts[counts > 0] / len(labels)
    return float(-(shares * np.log2(shares)).sum())


def joint(one: Ints, two: Ints) -> Ints:
    """The labelling of pairs; numbers may be left out."""
    pairs = one * (int(two.max()) + 1) + two
    return pairs if pairs.max() < MANY else np.unique(pairs, return_inverse=True)[1].ravel()


def information(one: Ints, two: Ints) -> float:
    """Mutual information in bits."""
    return entropy(one) + entropy(two) - entropy(joint(one, two))


def same(one: Ints, two: Ints) -> bool:
    """Equal up to names, except for a few episodes."""
    most = max(entropy(one), entropy(two))
    return most - information(one, two) <= 0.05 * most


def majority(labels: Ints, given: Ints) -> Ints:
    """Of each episode the commonest label among those that share its value of `given`."""
    given = np.unique(given, return_inverse=True)[1].ravel()
    return np.array([np.bincount(labels[given == k]).argmax() for k in range(int(given.max()) + 1)])[given]


def _apart(one: Floats, two: Floats) -> float:
    """Distance of two clouds in their own standard deviations along the line between them; 1 is the tolerance."""
    way = one.mean(0) - two.mean(0)
    size = float(np.linalg.norm(way)) + 1e-12
    spread = (np.var(one @ way) + np.var(two @ way)) / (2 * size**2)
    return size / float(np.sqrt(spread + 1))


def split(values: Floats) -> Ints | None:
    """Labels of the most classes that all lie GAP apart; `values` in tolerances. None where there is one class."""
    values, episodes = values[:, values.std(0) > 1], len(values)
    if not values.shape[1]:
        return None
    tree = linkage(values, "ward")
    for classes in range(min(MOST, episodes // 8), 1, -1):
        labels = fcluster(tree, classes, "maxclust") - 1
        sizes = np.bincount(labels)
        large = np.flatnonzero(sizes >= max(4, 0.02 * episodes))
        if len(large) < 2 or sizes[large].sum() < (1 - STRAYS) * episodes:
            continue
        centres = np.array([values[labels == k].mean(0) for k in large])
        labels = ((values[:, None] - centres[None]) ** 2).sum(-1).argmin(1)
        clouds = [values[labels == k] for k in range(len(large))]
        if min(map(len, clouds)) > 2 and all(_apart(a, b) >= GAP for i, a in enumerate(clouds) for b in clouds[:i]):
            return labels.astype(np.int64)
    return None


def by_class(labels: Ints, values: Floats) -> Floats:
    """The mean of each episode's class."""
    hot = one_hot(labels)
    return hot @ ((hot.T @ values) / np.maximum(hot.sum(0), 1)[:, None])
