"""Sufficiency where compatibility has no classes: what the best colouring inside every (Ō, C) cell still needs."""

import numpy as np
from numpy.typing import ArrayLike

from certify.colouring import Budget, minimum_entropy
from certify.exact import Masses, group_sums, pair, rank, representatives
from certify.floors import bitmasks
from certify.relations import Relation, blocks
from diacritic.measure.plugin import joint


def uncoloured(
    relation: Relation,
    kind: ArrayLike,
    cell: ArrayLike,
    budget: Budget | None = None,
    counts: Masses | None = None,
) -> float:
    """Σ_cell P(cell)·H_χ(cell) over episodes (that count once, unless counted), each with its kind of ~_t and its cell.

    With the cells of Ō alone this is the certified minimum R_t of these episodes; with those of (Ō, C) it is what the
    code leaves open. A search that meets its limit counts with the best colouring found.
    """
    budget = budget or Budget(60.0)
    place, kinds = joint(cell), np.asarray(kind, np.int64)
    label, count = rank(pair(place, kinds))
    one = representatives(label, count)
    masses = group_sums(label, np.ones(len(label), np.int64) if counts is None else counts, count)
    total, left = sum(int(mass) for mass in masses), 0.0
    for members in blocks(place[one]):
        if len(members) > 1:
            weights = [int(mass) for mass in masses[members]]
            conflicts = bitmasks(relation.conflict_matrix(kinds[one[members]]))
            left += sum(weights) / total * minimum_entropy(weights, conflicts, budget.limits()).upper.bits
    return left
