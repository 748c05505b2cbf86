"""The fewest labels K of one machine C_t = F_t(C_{t−1}, O_t, A_{t−1}) whose policy reads (O_t, C_t).

Histories of different observations may share a label, but not for free: those that share one share again after every
common continuation, and under one observation a label means one law. Two histories *conflict* when sharing would end in
two laws under one observation. Conflicts bound K from below, a partition closed under continuations bounds it from
above, and between the two a solver decides. A time-indexed machine only compares histories of one step, a stationary
one (a single F and a single policy) those of all steps.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from certify.core.assignments import bits
from certify.core.colouring import fewest_colours, heaviest_compatible_set
from certify.core.exact import Ints, pair, rank, representatives
from certify.core.floors import bitmasks
from certify.core.graph import Graph
from certify.core.joint import Joint
from certify.core.merged import unfold
from certify.core.partition import insert
from certify.core.rates import most_in_a_fiber
from certify.core.relations import Matrix, Relation, strong_classes

_NODES = 100_000  # beyond, nothing is tried
_PAIRS = 4_000_000  # of states whose conflicts are followed to the end
_STATES = 6_000  # to merge
_EXACT_COLOURING = 300  # vertices; beyond, a greedy colouring and a greedy clique
_BRANCHINGS = 2_000
_JOINS = 200_000  # in one attempt to merge the states
_CLAUSES = 400_000  # of one question to the solver

Labels = list[list[int]]


@dataclass(frozen=True)
class Codes:
    """The fewest labels of both kinds of machine; None where the bracket [low, high] is open."""

    time_indexed: int | None
    stationary: int | None
    brackets: dict[str, list[int | None]]
    labels: dict[str, Labels]  # of each node of each level of the model's graph: a machine with `high` labels
    cliques: dict[str, list[tuple[int, int]]]  # (level from 0, node), pairwise in conflict: proves what it is long


def fewest_codes(graph: Graph, relations: list[Relation], joint: Joint, seconds: float) -> Codes:
    """The fewest labels of a time-indexed and of a stationary machine, or a bracket for each."""
    began = time.monotonic()
    low = max(most_in_a_fiber(level, r.group[r.kind]) for level, r in zip(graph.levels, relations, strict=True))
    time_indexed = _Search(graph, False, began + seconds / 2, low, [])
    stationary = _Search(graph, True, began + seconds, low, [])
    if sum(level.size for level in graph.levels) <= _NODES:
        fine = _Quotient.of(graph, strong_classes(graph))
        coarse = [_Quotient.of(graph, joint.cells)] if joint.graph is graph else []
        time_indexed.run(fine, coarse)
        stationary.low, stationary.clique = time_indexed.low, time_indexed.clique  # it is a time-indexed one too
        stationary.run(fine, coarse)
    found = {"time_indexed": time_indexed, "stationary": stationary}
    return Codes(
        *(one.low if one.low == one.high else None for one in found.values()),
        brackets={kind: [one.low, one.high] for kind, one in found.items()},
        labels={kind: one.labels for kind, one in found.items() if one.labels is not None},
        cliques={kind: one.clique for kind, one in found.items() if one.labels is not None},
    )


def verify_codes(graph: Graph, labels: Labels, stationary: bool) -> str | None:
    """None if the labels are a machine of that kind, otherwise what is wrong; uses no relation and no quotient."""
    if [len(level) for level in labels] != [level.size for level in graph.levels]:
        return "there is not one label for each node of each level"
    laws: dict[tuple[int, int, int], int] = {}
    moves: dict[tuple[int, int, int], int] = {}
    for t, (level, label) in enumerate(zip(graph.levels, labels, strict=True)):
        step = 0 if stationary else t
        for code, observation, law in zip(label, level.observation.tolist(), level.law.tolist(), strict=True):
            if laws.setdefault((step, code, observation), law) != law:
                return f"step {t + 1}: label {code} means two laws under {graph.observations[observation]!r}"
        words = graph.continuation(t).tolist() if t + 1 < graph.horizon else []
        for source, word, child in zip(level.source.tolist(), words, level.child.tolist(), strict=True):
            target = labels[t + 1][child]
            if moves.setdefault((step, label[source], word), target) != target:
                return f"step {t + 1}: one continuation leads from label {label[source]} to two labels"
    return None


@dataclass(frozen=True)
class _Quotient:
    """Cells of a closed assignment as states, numbered through all levels; labels of states are labels of histories.

    Two strong classes conflict exactly if their histories do, so that bounds from below hold for histories too.
    """

    state: list[Ints]  # of each node of each level
    node: list[int]  # of each state: one node of its level
    step: list[int]  # of each state: its level
    start: list[int]  # of each level: its first state; then the number of states
    size: int  # the number of states
    observation: Ints
    law: Ints
    moves: list[dict[int, int]]  # of each state: continuation → state
    arrows: dict[int, Ints]  # of each continuation: its sources, sorted, and its targets

    @staticmethod
    def of(graph: Graph, cells: list[Ints]) -> "_Quotient":
        ranked = [rank(pair(level.observation, cell)) for level, cell in zip(graph.levels, cells, strict=True)]
        start = np.cumsum([0, *(count for _, count in ranked)]).tolist()
        state = [label + first for (label, _), first in zip(ranked, start[:-1], strict=True)]
        node = [representatives(label, count) for label, count in ranked]
        moves, by_word = [{} for _ in range(start[-1])], {}
        for t, level in enumerate(graph.levels[:-1]):
            arrows = np.stack([state[t][level.source], graph.continuation(t), state[t + 1][level.child]], axis=1)
            for source, word, target in np.unique(arrows, axis=0).tolist():
                moves[source][word] = target
                by_word.setdefault(word, []).append((source, target))
        observation = np.concatenate([level.observation[n] for level, n in zip(graph.levels, node, strict=True)])
        law = np.concatenate([level.law[n] for level, n in zip(graph.levels, node, strict=True)])
        step = [t for t, (_, count) in enumerate(ranked) for _ in range(count)]
        arrows = {word: np.array(found).T for word, found in by_word.items()}
        return _Quotient(state, np.concatenate(node).tolist(), step, start, len(step), observation, law, moves, arrows)

    def small(self, stationary: bool) -> bool:
        """Whether there are few pairs to compare."""
        return sum(n * n for n in ([self.size] if stationary else np.diff(self.start).tolist())) <= _PAIRS

    def apart(self, t: int, end: int, after: Matrix | None) -> Matrix:
        """Conflicts of level t with the states from there up to `end`, by those of level t + 1 with what follows it."""
        first, last = self.start[t], self.start[t + 1]
        matrix = self.observation[first:last, None] == self.observation[first:end]
        matrix &= self.law[first:last, None] != self.law[first:end]
        if after is None or not after.any():
            return matrix
        for word in {word for moves in self.moves[first:last] for word in moves}:
            sources, targets = self.arrows[word]
            begin, own, every = np.searchsorted(sources, [first, last, end])
            here, there = sources[begin:every] - first, targets[begin:every] - last
            matrix[np.ix_(here[: own - begin], here)] |= after[np.ix_(there[: own - begin], there)]
        return matrix

    def conflicts(self, stationary: bool) -> list[Matrix]:
        """Which states may not share a label: one matrix a level, or a single one for all levels together."""
        if not self.small(stationary):  # then only what shows at once: one observation, two laws
            return [(self.observation[:, None] == self.observation) & (self.law[:, None] != self.law)]
        rows: list[Matrix] = []
        for t in reversed(range(len(self.state))):
            rows.insert(0, self.apart(t, self.size if stationary else self.start[t + 1], rows[0] if rows else None))
        if not stationary:
            return rows
        whole = np.zeros((self.size, self.size), bool)
        for first, end, matrix in zip(self.start, self.start[1:], rows, strict=False):
            whole[first:end, first:] = matrix
        return [whole | whole.T]


class _Coloured(NamedTuple):
    """A proper colouring of a conflict graph, a clique in it, and a number of colours that it surely needs."""

    classes: list[list[int]]
    clique: list[int]
    least: int


def _colour(matrix: Matrix) -> _Coloured:
    """Colour a conflict matrix; vertices with equal rows are coloured alike."""
    _, first, twin = np.unique(np.packbits(matrix, axis=1), axis=0, return_index=True, return_inverse=True)
    members = [np.flatnonzero(twin.ravel() == k).tolist() for k in range(len(first))]
    small = _colour_masks(tuple(bitmasks(matrix[np.ix_(first, first)])))
    classes = [[v for k in kinds for v in members[k]] for kinds in small.classes]
    return _Coloured(classes, first[small.clique].tolist(), small.least)


@lru_cache(maxsize=256)
def _colour_masks(conflicts: tuple[int, ...]) -> _Coloured:
    """Exact on small graphs, greedy on large ones."""
    count, everything = len(conflicts), (1 << len(conflicts)) - 1
    order = sorted(range(count), key=lambda v: -conflicts[v].bit_count())
    clique, classes, exact = _greedy_clique(conflicts, order[:8]), insert((), order, [1] * count, conflicts), None
    if len(clique) < len(classes) and count <= _EXACT_COLOURING:
        others = [everything ^ enemies ^ 1 << v for v, enemies in enumerate(conflicts)]
        largest = heaviest_compatible_set([1] * count, others, _BRANCHINGS)
        clique = bits(largest[1]) if largest else clique
        exact = fewest_colours(conflicts, _BRANCHINGS) if len(clique) < len(classes) else None
    return _Coloured([bits(mask) for mask in exact or classes], clique, len(exact) if exact else len(clique))


def _greedy_clique(conflicts: tuple[int, ...], starts: list[int]) -> list[int]:
    """From each start, add the vertex that leaves the most to choose from."""
    best: list[int] = []
    for v in starts:
        clique, open_set = [v], conflicts[v]
        while open_set:
            v = max(bits(open_set), key=lambda w: (open_set & conflicts[w]).bit_count())
            clique.append(v)
            open_set &= conflicts[v]
        best = max(best, clique, key=len)
    return best


class _Merger:
    """Join states into labels; every join implies those of their successors, and is undone if a conflict follows."""

    def __init__(self, quotient: _Quotient, enemies: list[int]) -> None:
        self.home = list(range(quotient.size))
        self.members = [1 << s for s in self.home]
        self.enemies = list(enemies)
        self.moves = [dict(moves) for moves in quotient.moves]
        self.joins = 0

    def find(self, state: int) -> int:
        while self.home[state] != state:
            state = self.home[state]
        return state

    def merge(self, first: int, second: int) -> bool:
        done: list[tuple[int, int, int, int, list[int]]] = []
        stack = [(first, second)]
        while stack:
            a, b = sorted(map(self.find, stack.pop()), key=lambda s: -len(self.moves[s]))
            if a == b:
                continue
            if self.enemies[a] & self.members[b]:
                for kept, gone, members, enemies, words in reversed(done):
                    self.home[gone], self.members[kept], self.enemies[kept] = gone, members, enemies
                    for word in words:
                        del self.moves[kept][word]
                return False
            fresh = [word for word in self.moves[b] if word not in self.moves[a]]
            stack += [(self.moves[a][word], target) for word, target in self.moves[b].items() if word in self.moves[a]]
            self.moves[a] |= {word: self.moves[b][word] for word in fresh}
            done.append((a, b, self.members[a], self.enemies[a], fresh))
            self.joins += 1
            self.home[b] = a
            self.members[a] |= self.members[b]
            self.enemies[a] |= self.enemies[b]
        return True


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

    def run(self, fine: _Quotient, coarse: list[_Quotient]) -> None:
        """Bounds from below by the strong classes, from above by every quotient, then the solver."""
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
            pass

    def _bound(self, fine: _Quotient, matrices: list[Matrix]) -> list[list[int]]:
        """A clique for each matrix; the largest, and the largest number of colours, are kept."""
        cliques: list[list[int]] = []
        for first, matrix in zip(fine.start, matrices, strict=False):
            self._left()
            coloured = _colour(matrix)
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
        """Keep a machine that is better than what is known."""
        steps = [[code for level in labels for code in level]] if self.stationary else labels
        count = max(len(set(step)) for step in steps)
        if self.high is None or count < self.high:
            assert verify_codes(self.graph, labels, self.stationary) is None, "a constructed machine must be one"
            self.high, self.labels = count, labels

    def _machines(self, quotient: _Quotient) -> Iterator[Ints]:
        """A few good machines, as one label a state."""
        if quotient.small(self.stationary) and not self.stationary:
            yield self._backward(quotient)
        if quotient.size > _STATES:
            return
        matrices = zip(quotient.start, quotient.conflicts(self.stationary), strict=False)
        enemies = [mask << first for first, matrix in matrices for mask in bitmasks(matrix)]
        states = range(quotient.size)
        for order in (states, sorted(states, key=lambda s: -enemies[s].bit_count()), states[::-1]):
            yield self._merged(quotient, enemies, order)

    def _backward(self, quotient: _Quotient) -> Ints:
        """Level by level from the last: histories may share a label if their successors do."""
        code = np.zeros(quotient.size, np.int64)
        after: Matrix | None = None
        for t in reversed(range(len(quotient.state))):
            self._left()
            first, end = quotient.start[t], quotient.start[t + 1]
            for k, members in enumerate(_colour(quotient.apart(t, end, after)).classes):
                code[first + np.array(members)] = k
            after = code[first:end, None] != code[None, first:end]
        return code

    def _merged(self, quotient: _Quotient, enemies: list[int], order: Sequence[int]) -> Ints:
        """State by state: the first label that takes it with all that follows, or a new one."""
        merger = _Merger(quotient, enemies)
        chosen: list[list[int]] = [[] for _ in quotient.state]
        for s in order:
            self._left(merger.joins > _JOINS)
            root, known = merger.find(s), chosen[0 if self.stationary else quotient.step[s]]
            if all(merger.find(other) != root for other in known) and not any(merger.merge(o, s) for o in known):
                known.append(s)
        code = {merger.find(s): k for known in chosen for k, s in enumerate(known)}
        return np.array([code[merger.find(s)] for s in range(quotient.size)])

    def _ask(self, fine: _Quotient, matrices: list[Matrix], cliques: list[list[int]]) -> None:
        """Let the solver try one number of labels after the other; its machine counts once it is verified."""
        tables: Tables | None = {}
        while tables == {} and self.low != self.high:
            tables = _solve(fine, matrices, cliques, self.stationary, self.low, self._left())
            self.low += tables == {}
        if tables:
            histories = sum(sum(level.paths.tolist()) for level in self.graph.levels)
            merged = sum(level.size for level in self.graph.levels) < histories <= _NODES
            tree = unfold(self.graph) if merged else self.graph  # one node may get two labels
            labels = _walk(tree, tables, self.stationary)
            if verify_codes(tree, labels, self.stationary) is None:
                self.high, self.labels = self.low, labels if tree is self.graph else None


Tables = dict[tuple[int, int, int], int]  # (step, label, continuation) → label; (−1, 0, observation) → first label


def _walk(graph: Graph, tables: Tables, stationary: bool) -> Labels:
    """The label that a machine gives to each node."""
    labels = [[tables[-1, 0, o] for o in graph.levels[0].observation.tolist()]]
    for t, level in enumerate(graph.levels[:-1]):
        step, following = 0 if stationary else t, [0] * graph.levels[t + 1].size
        words = graph.continuation(t).tolist()
        for source, word, child in zip(level.source.tolist(), words, level.child.tolist(), strict=True):
            following[child] = tables[step, labels[t][source], word]
        labels.append(following)
    return labels


def _solve(
    q: _Quotient, matrices: list[Matrix], cliques: list[list[int]], stationary: bool, count: int, seconds: float
) -> Tables | None:
    """A machine of so many labels; empty if there is none; None if undecided, too large, or without a solver."""
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        return None
    codes, step = range(count), [0] * q.size if stationary else q.step
    arrows = [(s, word, target) for s, moves in enumerate(q.moves) for word, target in moves.items()]
    if len(arrows) * count**2 + sum(int(m.sum()) for m in matrices) * count > _CLAUSES:
        return None
    model = cp_model.CpModel()
    reached = [[model.new_bool_var("") for _ in codes] for _ in range(q.size)]  # by some history, with some label
    rows = {(step[s], code, word) for s, word, _ in arrows for code in codes}
    table = {row: [model.new_bool_var("") for _ in codes] for row in sorted(rows)}
    for targets in table.values():
        model.add_exactly_one(targets)
    for s, word, target in arrows:
        for code in codes:
            for after, move in enumerate(table[step[s], code, word]):
                model.add_bool_or(~reached[s][code], ~move, reached[target][after])
    for some in reached:
        model.add_bool_or(some)
    for first, matrix, clique in zip(q.start, matrices, cliques, strict=False):
        for s, other in np.argwhere(np.triu(matrix)).tolist():
            for code in codes:
                model.add_bool_or(~reached[first + s][code], ~reached[first + other][code])
        for code, s in enumerate(clique):  # the members have no label in common, so these are without loss
            model.add_bool_or(reached[s][code])
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = max(seconds, 0.01)
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return {} if status == cp_model.INFEASIBLE else None
    chosen = {key: [solver.boolean_value(move) for move in moves].index(True) for key, moves in table.items()}
    for s in range(q.start[1]):
        chosen[-1, 0, int(q.observation[s])] = [solver.boolean_value(has) for has in reached[s]].index(True)
    return chosen
