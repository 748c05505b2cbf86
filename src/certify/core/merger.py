"""Join the states of a deterministic graph into labels, with all that a join implies, and undo what conflicts."""

from collections.abc import Mapping, Sequence

import numpy as np

from certify.core.exact import Ints


class Merger:
    """Join states into labels; a join implies those of their successors, and all are undone if a conflict follows."""

    def __init__(self, moves: Sequence[Mapping[int, int]], enemies: Sequence[int]) -> None:
        self.home = list(range(len(moves)))
        self.members = [1 << s for s in self.home]
        self.enemies = list(enemies)
        self.moves = [dict(each) for each in moves]
        self.joins = 0

    def find(self, state: int) -> int:
        """The state that stands for the label of this one."""
        while self.home[state] != state:
            state = self.home[state]
        return state

    def merge(self, first: int, second: int) -> bool:
        """Join two states and whatever follows; False, and nothing is changed, where that ends in a conflict."""
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

    def fit(self, state: int, labelled: list[int]) -> None:
        """Join a state to the first of the labelled ones that takes it; else it is one of them."""
        root = self.find(state)
        if all(self.find(other) != root for other in labelled) and not any(self.merge(o, state) for o in labelled):
            labelled.append(state)

    def labels(self) -> Ints:
        """The number of each state's label."""
        numbers: dict[int, int] = {}
        return np.array([numbers.setdefault(self.find(s), len(numbers)) for s in range(len(self.home))])
