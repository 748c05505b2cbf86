"""The fewest labels K of one machine C_t = F_t(C_{t−1}, O_t, A_{t−1}) whose policy reads (O_t, C_t).

Histories of different observations may share a label, but not for free: those that share one share again after every
common continuation, and under one observation a label means one law. Two histories *conflict* when sharing would end in
two laws under one observation. Conflicts bound K from below, a partition closed under continuations bounds it from
above, and between the two a search decides, or a solver where that takes too long. A time-indexed machine only compares
histories of one step, a stationary one (a single F and a single policy) those of all steps.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from certify.core.code_bounds import colour, fiber_clique, futures, inherited
from certify.core.code_search import TableSearch
from certify.core.code_solver import Tables, solve, solver_ready, walk
from certify.core.code_states import Labels, Quotient
from certify.core.exact import Ints
from certify.core.floors import Floor, bitmasks
from certify.core.graph import Graph
from certify.core.joint import Joint
from certify.core.merged import as_tree
from certify.core.merger import Merger
from certify.core.relations import Matrix, Relation, strong_classes

_CLASSES = 100_000  # strong classes; beyond, only the machines that need no search
_NODES = 100_000  # of a graph that is unfolded
_STATES = 6_000  # to merge
_JOINS = 200_000  # in one attempt to merge the states


@dataclass(frozen=True)
class Codes:
    """The fewest labels of both kinds of machine; None where the bracket [low, high] is open."""

    time_indexed: int | None
    stationary: int | None
    brackets: dict[str, tuple[int, int]]
    reasons: dict[str, str]  # of each open bracket: why it is open
    labels: dict[str, Labels]  # of each node of each level of the model's graph: a machine with `high` labels
    cliques: dict[str, list[tuple[int, int]]]  # (level from 0, node), pairwise in conflict: proves what it is long


def fewest_codes(
    graph: Graph, relations: list[Relation], floors: Sequence[Floor], joint: Joint, seconds: float
) -> Codes:
    """The fewest labels of a time-indexed and of a stationary machine, or a bracket for each."""
    began = time.monotonic()
    clique = fiber_clique(graph, relations)
    low = max(len(clique), *(floor.states or 1 for floor in floors))
    searches = {
        "time_indexed": _Search(graph, False, began + seconds / 2, low, []),
        "stationary": _Search(graph, True, began + seconds, low, []),
    }
    fine, cells = Quotient.of(graph, strong_classes(graph), _CLASSES), futures(graph)
    coarse = [Quotient.of(graph, joint.cells, _CLASSES)] if joint.graph is graph else []
    before: _Search | None = None
    for search in searches.values():
        if before:  # a stationary machine is a time-indexed one too
            search.low, search.clique = max(low, before.low), before.clique
        if fine:
            search.run(fine, [quotient for quotient in coarse if quotient])
        else:
            search.reason = f"more than {_CLASSES:,} classes of histories are too many to compare"
        search.close(clique, cells)
        before = search
    return Codes(
        *(one.low if one.low == one.high else None for one in searches.values()),
        brackets={kind: (one.low, one.high or one.low) for kind, one in searches.items()},
        reasons={kind: one.reason for kind, one in searches.items() if one.low != one.high},
        labels={kind: one.labels for kind, one in searches.items() if one.labels is not None},
        cliques={kind: one.clique for kind, one in searches.items() if one.labels is not None},
    )


def verify_codes(graph: Graph, labels: Labels, stationary: bool) -> str | None:
    """None if the labels are a machine of that kind, otherwise what is wrong; uses no relation and no quotient."""
    if [len(level) for level in labels] != [level.size for level in graph.levels]:
        return "there is not one label for each node of each level"
    laws: dict[tuple[int, int, int], int] = {}
    moves: dict[tuple[int, int, int], int] = {}
    rows = [np.array(level, np.int64) for level in labels]
    for t, (level, label) in enumerate(zip(graph.levels, rows, strict=True)):
        step = 0 if stationary else t
        for code, observation, law in _distinct(label, level.observation, level.law):
            if laws.setdefault((step, code, observation), law) != law:
                return f"step {t + 1}: label {code} means two laws under {graph.observations[observation]!r}"
        if t + 1 == graph.horizon:
            break
        for code, word, target in _distinct(label[level.source], graph.continuation(t), rows[t + 1][level.child]):
            if moves.setdefault((step, code, word), target) != target:
                return f"step {t + 1}: one continuation leads from label {code} to two labels"
    return None


def _distinct(*columns: Ints) -> list[list[int]]:
    """The different rows of a table."""
    return np.unique(np.stack(columns, axis=1), axis=0).tolist()


@dataclass
class _Search:
    """The bracket of one kind of machine, narrowed until it closes or the time is up."""

    graph: Graph
    stationary: bool
    deadline: float
    low: int
    clique: list[tuple[int, int]]
    high: int | None = None
    labels: Labels | None = None
    reason: str = ""  # why the bracket is open

    def run(self, fine: Quotient, coarse: list[Quotient]) -> None:
        """Bounds from below by the strong classes, from above by every quotient, then the solver."""
        if not fine.small(self.stationary):
            self.reason = f"{fine.size:,} classes of histories are too many to compare pairwise"
        try:
            matrices = fine.conflicts(self.stationary) if fine.small(self.stationary) else []
            cliques = self._bound(fine, matrices)
            for quotient in (*coarse, fine):
                for code in self._machines(quotient):
                    self._offer([code[states].tolist() for states in quotient.state])
                    if self.low == self.high:
                        return
            if matrices:
                self._ask(fine, matrices, cliques)
        except TimeoutError:
            self.reason = "the search stopped at its limit; --seconds raises it"

    def close(self, clique: list[tuple[int, int]], cells: list[Ints]) -> None:
        """Complete the bracket of a search that could not: a clique of one fiber, and machines made in linear time."""
        if len(clique) > len(self.clique):
            self.clique = clique
        if self.low == self.high:
            return
        if self.stationary:
            labels = [cell.tolist() for cell in inherited(self.graph, cells)]
            if verify_codes(self.graph, labels, True) is None:
                self._offer(labels)
            starts = np.cumsum([0, *(int(cell.max()) + 1 for cell in cells)])
            cells = [cell + start for cell, start in zip(cells, starts, strict=False)]
        self._offer([cell.tolist() for cell in cells])

    def _bound(self, fine: Quotient, matrices: list[Matrix]) -> list[list[int]]:
        """A clique for each matrix; the largest, and the largest number of colours, are kept."""
        cliques: list[list[int]] = []
        for first, matrix in zip(fine.start, matrices, strict=False):
            self._left()
            coloured = colour(matrix)
            cliques.append([first + v for v in coloured.clique])
            self.low = max(self.low, coloured.least)
            if len(coloured.clique) > len(self.clique):
                self.clique = [(fine.step[s], fine.node[s]) for s in cliques[-1]]
        return cliques

    def _left(self, enough: bool = False) -> float:
        """The seconds left, while there are any and the search is not enough."""
        if (left := self.deadline - time.monotonic()) <= 0 or enough:
            raise TimeoutError
        return left

    def _offer(self, labels: Labels) -> None:
        """Keep a machine that is better than the best so far."""
        steps = [[code for level in labels for code in level]] if self.stationary else labels
        count = max(len(set(step)) for step in steps)
        if self.high is None or count < self.high:
            assert verify_codes(self.graph, labels, self.stationary) is None, "a constructed machine must be one"
            self.high, self.labels = count, labels

    def _machines(self, quotient: Quotient) -> Iterator[Ints]:
        """A few good machines, as one label a state."""
        if quotient.small(self.stationary) and not self.stationary:
            yield self._backward(quotient)
        if quotient.size > _STATES:
            return
        enemies = _enemies(quotient, quotient.conflicts(self.stationary))
        states = range(quotient.size)
        for order in (states, sorted(states, key=lambda s: -enemies[s].bit_count()), states[::-1]):
            yield self._merged(quotient, enemies, order)

    def _backward(self, quotient: Quotient) -> Ints:
        """Level by level from the last: histories may share a label if their successors do."""
        code = np.zeros(quotient.size, np.int64)
        after: Matrix | None = None
        for t in reversed(range(len(quotient.state))):
            self._left()
            first, end = quotient.start[t], quotient.start[t + 1]
            for k, members in enumerate(colour(quotient.apart(t, end, after)).classes):
                code[first + np.array(members)] = k
            after = code[first:end, None] != code[None, first:end]
        return code

    def _merged(self, quotient: Quotient, enemies: list[int], order: Sequence[int]) -> Ints:
        """State by state: the first label that takes it with all that follows, or a new one."""
        merger = Merger(quotient.moves, enemies)
        chosen: list[list[int]] = [[] for _ in quotient.state]
        for s in order:
            self._left(merger.joins > _JOINS)
            merger.fit(s, chosen[0 if self.stationary else quotient.step[s]])
        code = {merger.find(s): k for labelled in chosen for k, s in enumerate(labelled)}
        return np.array([code[merger.find(s)] for s in range(quotient.size)])

    def _ask(self, fine: Quotient, matrices: list[Matrix], cliques: list[list[int]]) -> None:
        """Try one number of labels after the other; a machine counts once it is verified."""
        tables: Tables | None = {}
        while tables == {} and self.low != self.high:
            tables = self._table(fine, matrices)
            if tables is None:
                if not solver_ready(self._left()):
                    self.reason = "there is no time to load the solver, or the extra 'search' is not installed"
                    return
                tables = solve(fine, matrices, cliques, self.stationary, self.low, self._left())
            self.low += tables == {}
        if tables is None:
            self.reason = "the solver leaves it open; --seconds gives it more time"
        if tables:
            tree = as_tree(self.graph, _NODES)  # one node may get two labels
            labels = walk(tree, tables, self.stationary)
            if verify_codes(tree, labels, self.stationary) is None:
                self.high, self.labels = self.low, labels if tree is self.graph else None
            else:
                self.reason = "merged histories may need different labels, and there are too many to take one by one"

    def _table(self, fine: Quotient, matrices: list[Matrix]) -> Tables | None:
        """The table of a machine, empty if there is none; None if half of the time that is left does not decide it."""
        search = TableSearch(fine, _enemies(fine, matrices), self.stationary, self.low)
        if not search.small:
            return None
        try:
            return search.run(time.monotonic() + self._left() / 2)
        except TimeoutError:
            return None


def _enemies(quotient: Quotient, matrices: list[Matrix]) -> list[int]:
    """Of each state, those in conflict with it, as bits."""
    return [mask << first for first, m in zip(quotient.start, matrices, strict=False) for mask in bitmasks(m)]
