"""The states that a machine may label: cells of a closed assignment, their conflicts, and merging them into labels."""

from dataclasses import dataclass

import numpy as np

from certify.core.exact import Ints, pair, rank, representatives
from certify.core.graph import Graph
from certify.core.relations import Matrix

Labels = list[list[int]]  # of each node of each level
PAIRS = 4_000_000  # of states whose conflicts are followed to the end


@dataclass(frozen=True)
class Quotient:
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
    def of(graph: Graph, cells: list[Ints], most: int) -> "Quotient | None":
        """The cells as states; None if there are more than `most`."""
        ranked = [rank(pair(level.observation, cell)) for level, cell in zip(graph.levels, cells, strict=True)]
        start = np.cumsum([0, *(count for _, count in ranked)]).tolist()
        if start[-1] > most:
            return None
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
        arrows = {word: np.array(pairs).T for word, pairs in by_word.items()}
        return Quotient(state, np.concatenate(node).tolist(), step, start, len(step), observation, law, moves, arrows)

    def small(self, stationary: bool) -> bool:
        """Whether there are few pairs to compare."""
        return sum(n * n for n in ([self.size] if stationary else np.diff(self.start).tolist())) <= PAIRS

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
        """Which states may not share a label: one matrix per level, or a single one for all levels together."""
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
