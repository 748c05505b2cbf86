"""Sufficiency where compatibility has no classes: what the best colouring inside every (Ō, C) cell still needs."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from certify.core.colouring import Budget, minimum_entropy
from certify.core.exact import Masses, group_sums, pair, rank, representatives
from certify.core.floors import bitmasks
from certify.core.relations import Relation, blocks
from diacritic.measure.plugin import joint


def uncoloured(
    relation: Relation,
    kind: ArrayLike,
    cell: ArrayLike,
    budget: Budget | None = None,
    masses: Masses | None = None,
) -> float:
    """Σ_cell P(cell)·H_χ(cell) over histories (all of the same mass, unless given), each with its kind of ~_t and cell.

    H_χ is the least entropy of a proper colouring. With the cells of Ō alone this is the certified minimum R_t; with
    those of (Ō, C) it is what a second memory would still need beside the code. A search that meets its limit counts
    with the best colouring found, so that no memory is overrated.
    """
    budget = budget or Budget(60.0)
    place, kinds = joint(cell), np.asarray(kind, np.int64)
    label, count = rank(pair(place, kinds))
    one = representatives(label, count)
    total_of = group_sums(label, np.ones(len(label), np.int64) if masses is None else masses, count)
    total, left = sum(int(mass) for mass in total_of), 0.0
    for members in blocks(place[one]):
        if len(members) > 1:
            weights = [int(mass) for mass in total_of[members]]
            conflicts = bitmasks(relation.conflict_matrix(kinds[one[members]]))
            left += sum(weights) / total * minimum_entropy(weights, conflicts, budget.limits()).upper.bits
    return left


def whole_numbers(weights: NDArray[np.float64]) -> Masses:
    """Probabilities as positive integers, rounded at 2⁻⁵²."""
    return np.maximum(1, np.rint(weights * 2.0**52)).astype(np.int64)
