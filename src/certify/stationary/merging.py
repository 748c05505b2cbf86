"""Closed partitions of strong classes, found by merging: few codes, or few bits."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from certify.core.code_bounds import colour_masks
from certify.core.exact import Ints
from certify.core.floors import bitmasks
from certify.core.merger import Merger
from certify.stationary.observer import Observer
from certify.stationary.relation import Matrix

_MOST_CLAUSES = 600_000


def merged(observer: Observer, enemies: Sequence[int], pairs: Iterable[tuple[int, int]]) -> Ints:
    """A closed partition: each pair in turn is joined unless a conflict follows."""
    merger = Merger(observer.moves, enemies)
    for first, second in pairs:
        merger.merge(first, second)
    return merger.labels()


@dataclass(frozen=True)
class Codes:
    """The fewest codes of a machine that is right for ever lie in [low, high]; `labels` is a machine with `high`."""

    low: int
    high: int
    clique: list[int]  # strong classes of which no two can share a code
    labels: Ints | None  # of each strong class; None where one class may carry several codes
    tables: dict[tuple[int, int], int] | None = None  # (code, label) → code, where `labels` is None
    first: dict[int, int] | None = None  # O_1 → code, likewise

    @property
    def count(self) -> int | None:
        return self.low if self.low == self.high else None

    @property
    def proved(self) -> bool:
        """Whether as many classes as codes are pairwise in conflict; otherwise a solver said that fewer do not do."""
        return self.count == len(self.clique)


def fewest_codes(observer: Observer, conflicts: Matrix, seconds: float) -> Codes:
    """Conflicting classes from below, merged classes from above, and a solver between them where it is installed."""
    enemies = bitmasks(conflicts)
    clique, least = _clique(enemies)
    best: Ints | None = None
    nodes = range(observer.size)
    for order in (nodes, sorted(nodes, key=lambda s: -enemies[s].bit_count()), nodes[::-1]):
        labels = _few_codes(observer, enemies, order)
        if best is None or labels.max() < best.max():
            best = labels
    assert best is not None, "an observer has at least one node"
    low, high = max(1, least), int(best.max()) + 1
    deadline = time.monotonic() + seconds
    while low < high and (left := deadline - time.monotonic()) > 0:
        solved = _solve(observer, conflicts, clique, low, left)
        if solved is None:
            break
        first, tables = solved
        if tables:
            return Codes(low, low, clique, None, tables, first)
        low += 1
    return Codes(low, high, clique, best)


def _few_codes(observer: Observer, enemies: Sequence[int], order: Sequence[int]) -> Ints:
    """Node by node: the first code that takes it with all that follows, or a new one."""
    merger = Merger(observer.moves, enemies)
    chosen: list[int] = []
    for s in order:
        root = merger.find(s)
        if all(merger.find(c) != root for c in chosen) and not any(merger.merge(c, s) for c in chosen):
            chosen.append(s)
    code = {merger.find(s): k for k, s in enumerate(chosen)}
    return np.array([code[merger.find(s)] for s in range(observer.size)])


def _clique(enemies: Sequence[int]) -> tuple[list[int], int]:
    """A large set of pairwise conflicting nodes, and a number of codes that is surely needed."""
    twins: dict[int, int] = {}
    for v, mask in enumerate(enemies):
        twins.setdefault(mask, v)
    nodes = list(twins.values())
    small = colour_masks(tuple(sum(1 << k for k, v in enumerate(nodes) if enemies[u] >> v & 1) for u in nodes))
    return [nodes[v] for v in small.clique], small.least


Solution = tuple[dict[int, int], dict[tuple[int, int], int]]


def _solve(observer: Observer, conflicts: Matrix, clique: list[int], count: int, seconds: float) -> Solution | None:
    """First codes and moves of a machine with `count` codes; no moves if none exists; None if undecided.

    A strong class may carry several codes, by the way it was reached: the search is over closed covers.
    """
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        return None
    codes, arrows = range(count), list(zip(observer.source, observer.label, observer.target, strict=True))
    if len(arrows) * count**2 + int(conflicts.sum()) * count > _MOST_CLAUSES:
        return None
    model = cp_model.CpModel()
    has = [[model.new_bool_var("") for _ in codes] for _ in range(observer.size)]
    table = {(c, int(u)): [model.new_bool_var("") for _ in codes] for c in codes for u in np.unique(observer.label)}
    for row in table.values():
        model.add_exactly_one(row)
    for source, label, target in arrows:
        for c in codes:
            for d in codes:
                model.add_bool_or(~has[source][c], ~table[c, int(label)][d], has[target][d])
    for row in has:
        model.add_bool_or(row)
    for s, t in np.argwhere(np.triu(conflicts)).tolist():
        for c in codes:
            model.add_bool_or(~has[s][c], ~has[t][c])
    for c, s in enumerate(clique):  # the members share no code, so these are without loss
        model.add_bool_or(has[s][c])
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = max(seconds, 0.05)
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return ({}, {}) if status == cp_model.INFEASIBLE else None
    moves = {key: [solver.boolean_value(x) for x in row].index(True) for key, row in table.items()}
    first = {o: [solver.boolean_value(x) for x in has[s]].index(True) for o, s in observer.first.items()}
    return first, moves
