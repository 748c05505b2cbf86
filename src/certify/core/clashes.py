"""Which signatures conflict: a join of the edges of one level with the conflicts of the next, all groups at once."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from certify.core.exact import Ints, rank, representatives


def within(values: Ints, ascending: Ints) -> NDArray[np.bool_]:
    """Which values occur in an ascending array."""
    if not len(ascending):
        return np.zeros(len(values), bool)
    position = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    return ascending[position] == values


def clashes(
    context: Ints,
    kind: Ints,
    signature: Ints,
    group: Ints,
    loose: Ints,
    clash: Ints,
    conflicting: Callable[[Ints, Ints], NDArray[np.bool_]],
    limit: int,
) -> tuple[Ints, Ints] | None:
    """Ordered pairs of signatures that meet conflicting kinds in one context; None if more than `limit` are looked at.

    Each edge has a context (its group and continuation), the kind that it leads to, and its signature. In a context
    whose kinds all belong to one loose group the listed conflicts are joined; in any other, all pairs are compared.
    """
    kinds = len(group)
    item, items = rank(context * kinds + kind)  # in the order of (context, kind)
    one = representatives(item, items)
    where, what = context[one], kind[one]
    contexts = int(where.max()) + 1
    home = group[what[representatives(where, contexts)]]  # the group of one kind of each context
    mixed = np.zeros(contexts, bool)
    mixed[where[group[what] != home[where]]] = True
    sparse = (within(home, loose) & ~mixed)[where]
    dense = np.flatnonzero(~sparse)
    begin, end = (np.searchsorted(clash, (what + k) * kinds) for k in (0, 1))
    degree = np.where(sparse, end - begin, 0)
    cost = int((np.bincount(where[dense], minlength=contexts) ** 2).sum()) + int(degree.sum())
    if cost > limit:
        return None
    first, second = _equal_pairs(where[dense])
    apart = conflicting(what[dense[first]], what[dense[second]])
    pairs = [(dense[first[apart]], dense[second[apart]])]
    if degree.any():
        left = np.repeat(np.arange(items), degree)
        partner = clash[np.repeat(begin, degree) + _counted(degree)] % kinds
        key = where * kinds + what
        position = np.minimum(np.searchsorted(key, where[left] * kinds + partner), items - 1)
        met = key[position] == where[left] * kinds + partner
        pairs.append((left[met], position[met]))
    return _expand(np.concatenate([a for a, _ in pairs]), np.concatenate([b for _, b in pairs]), item, signature, limit)


def _expand(first: Ints, second: Ints, item: Ints, signature: Ints, limit: int) -> tuple[Ints, Ints] | None:
    """From pairs of items to pairs of the signatures that share them."""
    order = np.argsort(item, kind="stable")
    size = np.bincount(item)
    start = np.cumsum(size) - size
    each = size[first] * size[second]
    if int(each.sum()) > limit:
        return None
    offset, width = _counted(each), np.repeat(size[second], each)
    left = np.repeat(start[first], each) + offset // np.maximum(width, 1)
    right = np.repeat(start[second], each) + offset % np.maximum(width, 1)
    return signature[order[left]], signature[order[right]]


def _equal_pairs(keys: Ints) -> tuple[Ints, Ints]:
    """All ordered pairs of places with equal keys; the keys are ascending."""
    label, count = rank(keys)
    size = np.bincount(label, minlength=count)
    mine = size[label]
    return np.repeat(np.arange(len(keys)), mine), np.repeat((np.cumsum(size) - size)[label], mine) + _counted(mine)


def _counted(sizes: Ints) -> Ints:
    """0…n−1 for each size n, one after the other."""
    return np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
