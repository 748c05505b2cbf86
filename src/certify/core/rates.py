"""Conditional entropies of labellings of one level, and how many labels an observation needs."""

import numpy as np

from certify.core.exact import Ints, Masses, conditional_entropy, group_sums, pair, rank, representatives
from certify.core.graph import Level


def cell_masses(level: Level, labels: Ints) -> tuple[Masses, Ints]:
    """Mass of each cell (observation, label), and one node of each."""
    cell, count = rank(pair(level.observation, labels))
    return group_sums(cell, level.mass, count), representatives(cell, count)


def conditional_rate(level: Level, labels: Ints) -> float:
    """H(label | O_t) in bits."""
    masses, node = cell_masses(level, labels)
    return conditional_entropy(masses, level.fiber_mass[node], level.total)


def most_in_a_fiber(level: Level, labels: Ints) -> int:
    """The largest number of different labels under one observation."""
    _, node = cell_masses(level, labels)
    return int(np.bincount(rank(level.observation[node])[0]).max())
