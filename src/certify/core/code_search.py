"""Does a machine with so many labels exist? A search through its table, entry by entry, that misses none.

An entry (label, continuation) → label is decided when a history needs it: always one with the fewest choices left, and
of the labels not used so far only the first. With every label goes the set of states whose histories have it. What an
entry says is followed to the end at once, and two states in conflict under one label refute it.

A time-indexed machine has labels of its own at every step; they are numbered step by step.
"""

import time
from collections.abc import Iterator

from certify.core.code_solver import Tables
from certify.core.code_states import Quotient
from certify.core.partition import members

_ENTRIES = 50_000  # of one table
_BEGIN = -1  # before the first observation

Row = tuple[int, int]  # label and continuation; after the beginning, the first observation
Open = tuple[Row, int, list[int]]  # a row, the states that it reaches, and its choices


class TableSearch:
    """The search for one number of labels; states are bits, and `enemies` are the conflicts of each."""

    def __init__(self, quotient: Quotient, enemies: list[int], stationary: bool, count: int) -> None:
        self.enemies, self.stationary, self.count = enemies, stationary, count
        self.target: dict[Row, int] = {}  # (state, continuation) → the state after it, as a bit
        self.leaving: list[dict[int, int]] = []  # of each step: continuation → the states that it leaves
        for s, moves in enumerate(quotient.moves):
            step = 0 if stationary else quotient.step[s]
            self.leaving += [{} for _ in range(step + 1 - len(self.leaving))]
            for word, after in moves.items():
                self.leaving[step][word] = self.leaving[step].get(word, 0) | 1 << s
                self.target[s, word] = 1 << after
        self.first: dict[int, int] = {}  # of each first observation: its states
        for s in range(quotient.start[1]):
            seen = int(quotient.observation[s])
            self.first[seen] = self.first.get(seen, 0) | 1 << s
        self.entries: dict[Row, int] = {}
        self.reached = [0] * (count * len(self.leaving))  # of each label: its states
        self.foes = self.reached.copy()  # of each label: the states in conflict with one of its own
        self._trail: list[tuple[int, int, int]] = []  # label, and what was reached and in conflict before
        self._images: dict[Row, int] = {}

    @property
    def small(self) -> bool:
        return sum(map(len, self.leaving)) * self.count <= _ENTRIES

    def run(self, deadline: float) -> Tables:
        """The table of a machine, empty if there is none; TimeoutError at the deadline."""
        frames: list[tuple[Open, int]] = []
        choice = self._tightest()
        while choice is not None:
            if time.monotonic() > deadline:
                raise TimeoutError
            frames.append((choice, len(self._trail)))
            while frames and not self._decide(*frames[-1]):
                frames.pop()
            if not frames:
                return {}
            choice = self._tightest()
        tables: Tables = {}
        for (label, word), after in self.entries.items():
            step, own = (_BEGIN, 0) if label == _BEGIN else divmod(label, self.count)
            tables[step, own, word] = after % self.count
        return tables

    def _decide(self, choice: Open, mark: int) -> bool:
        """Undo the last choice of a row and take its next one that is without conflict; whether there is one."""
        row, image, labels = choice
        while True:
            self._undo(row, mark)
            if not labels:
                return False
            self.entries[row] = label = labels.pop(0)
            if self._follow(label, image):
                return True

    def _undo(self, row: Row, mark: int) -> None:
        self.entries.pop(row, None)
        while len(self._trail) > mark:
            label, self.reached[label], self.foes[label] = self._trail.pop()

    def _tightest(self) -> Open | None:
        """An open entry with the fewest choices; None if every entry is decided."""
        best: Open | None = None
        for row, block, image in self._open():
            own = range(block * self.count, (block + 1) * self.count)
            labels = [label for label in own if self.reached[label] and not image & self.foes[label]]
            labels += [label for label in own if not self.reached[label]][:1]
            if best is None or (len(labels), -image.bit_count()) < (len(best[2]), -best[1].bit_count()):
                best = row, image, labels
                if len(labels) <= 1:
                    break
        return best

    def _open(self) -> Iterator[tuple[Row, int, int]]:
        """Entries that some history needs and that are not decided, the step of their labels, and what they reach."""
        for seen, states in self.first.items():
            if (_BEGIN, seen) not in self.entries:
                yield (_BEGIN, seen), 0, states
        for label, states in enumerate(self.reached):
            step = label // self.count
            for word, sources in self.leaving[step].items() if states else ():
                if states & sources and (label, word) not in self.entries:
                    yield (label, word), 0 if self.stationary else step + 1, self._image(states & sources, word)

    def _follow(self, label: int, states: int) -> bool:
        """Add states to a label, and all that follows from it; whether that is without conflict."""
        waiting = [(label, states)]
        while waiting:
            label, states = waiting.pop()
            new = states & ~self.reached[label]
            if not new:
                continue
            self._trail.append((label, self.reached[label], self.foes[label]))
            self.reached[label] |= new
            for s in members(new):
                self.foes[label] |= self.enemies[s]
            if self.reached[label] & self.foes[label]:
                return False
            for word, sources in self.leaving[label // self.count].items():
                after = self.entries.get((label, word)) if new & sources else None
                if after is not None:
                    waiting.append((after, self._image(new & sources, word)))
        return True

    def _image(self, states: int, word: int) -> int:
        image = self._images.get((states, word))
        if image is None:
            image = 0
            for s in members(states):
                image |= self.target[s, word]
            self._images[states, word] = image
        return image
