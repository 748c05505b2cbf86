"""Partition refinement on observers of up to millions of nodes: strong classes, and splits that are surely needed."""

from dataclasses import dataclass

import numpy as np

from certify.core.exact import Ints, fold, pair, rank, representatives
from certify.stationary.observer import Observer


def strong_classes(observer: Observer) -> tuple[Ints, int]:
    """The coarsest partition by (observation, law) whose classes have equal labels, leading to equal classes.

    Signatures are compared exactly. When a class splits, one part keeps its number, and only the predecessors of the
    others are looked at again.
    """
    labels, count = rank(pair(observer.observation, observer.law))
    if not len(observer.source):
        return labels, count
    labels = labels.copy()
    sizes = np.bincount(labels, minlength=observer.size)  # of each class; there are never more than nodes
    words, _ = rank(observer.label)
    out = np.searchsorted(observer.source, np.arange(observer.size + 1))
    order = np.argsort(observer.target, kind="stable")
    into = np.searchsorted(observer.target[order], np.arange(observer.size + 1))
    before = observer.source[order]
    nodes = np.unique(before)
    while len(nodes):
        edges = _spans(out, nodes)
        owner = np.repeat(np.arange(len(nodes)), out[nodes + 1] - out[nodes])
        part, parts = fold(labels[nodes], owner, pair(words[edges], labels[observer.target[edges]]))
        changed, count = _split(labels, sizes, nodes, part, parts, count)
        nodes = np.unique(before[_spans(into, changed)])
    return rank(labels)


def _spans(begin: Ints, nodes: Ints) -> Ints:
    """The places begin[n] … begin[n+1]−1 of every node n, one after the other."""
    lengths = begin[nodes + 1] - begin[nodes]
    total = int(lengths.sum())
    offset = np.repeat(begin[nodes] - np.cumsum(lengths) + lengths, lengths)
    return offset + np.arange(total)


def _split(labels: Ints, sizes: Ints, nodes: Ints, part: Ints, parts: int, count: int) -> tuple[Ints, int]:
    """Number the parts of split classes; returns the nodes whose class has a new number, and how many classes exist.

    A node that is looked at has a successor with a new number (in the first round: a successor at all), so it differs
    from the members of its class that are not looked at. These keep the number; where there are none, the largest part
    does.
    """
    weight = np.bincount(part, minlength=parts)
    home = labels[nodes[representatives(part, parts)]]
    order = np.lexsort((-weight, home))
    leader = order[np.flatnonzero(np.r_[True, home[order][1:] != home[order][:-1]])]
    homes = home[leader]  # ascending
    looked_at = np.bincount(np.searchsorted(homes, home), weights=weight).astype(np.int64)
    stays = np.zeros(parts, bool)
    stays[leader[looked_at == sizes[homes]]] = True
    fresh = count + np.arange(int((~stays).sum()))
    np.subtract.at(sizes, home[~stays], weight[~stays])
    sizes[fresh] = weight[~stays]
    number = home.copy()
    number[~stays] = fresh
    labels[nodes] = number[part]
    return nodes[~stays[part]], count + len(fresh)


@dataclass(frozen=True)
class SureSplits:
    """A partition of which any two classes of one observation conflict, member by member.

    Where it is `closed` under labels, members of one class are compatible: it is the partition of ~, which then is
    transitive.
    """

    labels: Ints
    count: int
    closed: bool
    rounds: int  # of look-ahead


def sure_splits(observer: Observer) -> SureSplits:
    """Split by laws, then by every label that all members of a class have and that leads to different classes."""
    labels, count = rank(pair(observer.observation, observer.law))
    rounds = 0
    while len(observer.source):
        size = np.bincount(labels, minlength=count)
        slot, slots = rank(pair(labels[observer.source], observer.label))
        held = np.bincount(slot, minlength=slots)
        common = held[slot] == size[labels[observer.source]]
        edges = np.flatnonzero(common)
        values = pair(slot[edges], labels[observer.target[edges]])
        finer, parts = fold(labels, observer.source[edges], values)
        if parts == count:
            break
        labels, count, rounds = finer, parts, rounds + 1
    return SureSplits(labels, count, _closed(observer, labels), rounds)


def _closed(observer: Observer, labels: Ints) -> bool:
    """Whether members of a class that share a label go to one class."""
    slot, slots = rank(pair(labels[observer.source], observer.label))
    target = labels[observer.target]
    return bool((target == target[representatives(slot, slots)][slot]).all()) if slots else True
