"""Episodes on one clock: the frame of each step, its recent past in raw frames, and everything before."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from diacritic.need.cues import class_columns, distinct
from diacritic.need.frame import Frame
from diacritic.need.ridge import TOLERANCE, Floats, Ints, scaled

RECENT = 2  # raw frames before the present that give velocity
HALF_LIVES = (1, 3, 9)  # raw frames, of the averages that a filter may use


@dataclass(frozen=True, eq=False)
class Aligned:
    """Raw frames and actions, and for every step the raw index of each episode; actions are in tolerances."""

    observations: Floats  # [L, N, d], the last row of an episode repeated
    actions: Floats  # [L, N, k]
    index: Ints  # [T, N], increasing in T
    numbers: Ints  # [N], of each episode in the recording
    clock: str = "step"  # how episodes were aligned
    tolerance: float = TOLERANCE

    @property
    def steps(self) -> int:
        return len(self.index)

    @property
    def episodes(self) -> int:
        return self.index.shape[1]

    @cached_property
    def seen(self) -> Floats:
        """[T, N, d]"""
        return self.observations[self.index, np.arange(self.episodes)]

    @cached_property
    def acted(self) -> Floats:
        """[T, N, k]"""
        return self.actions[self.index, np.arange(self.episodes)]

    @cached_property
    def frames(self) -> list[Frame]:
        return [Frame(values) for values in self.seen]

    @cached_property
    def moves(self) -> list[Floats]:
        return [scaled(values) for values in self.acted]

    @cached_property
    def _averages(self) -> list[Floats]:
        """Exponential averages of all raw frames up to each."""
        results = []
        for life in HALF_LIVES:
            keep = 0.5 ** (1 / life)
            average = self.observations.copy()
            for t in range(1, len(average)):
                average[t] += keep * (average[t - 1] - average[t])
            results.append(average)
        return results

    def recent(self, s: int, values: Floats) -> list[Floats]:
        """Raw rows just before a step, of observations or actions."""
        before = [np.maximum(self.index[s] - lag, 0) for lag in range(1, RECENT + 1)]
        return [scaled(values[rows, np.arange(self.episodes)]) for rows in before]

    def averages(self, s: int) -> list[Floats]:
        """Exponential averages of the frames before a step."""
        rows = np.maximum(self.index[s] - 1, 0)
        return [scaled(average[rows, np.arange(self.episodes)]) for average in self._averages]

    def older(self, s: int) -> int:
        """How many of the first steps are older than the recent frames of step s."""
        return int((np.median(self.index[s] - self.index[:s], axis=1) > RECENT).sum())

    def past(self, steps: int) -> tuple[Floats, Ints]:
        """The channels and actions of the first steps, side by side, and the step of each column."""
        parts = [(t, part) for t in range(steps) for part in (self.frames[t].columns, self.moves[t])]
        columns = np.concatenate([np.zeros((self.episodes, 0)), *(part for _, part in parts)], 1)
        when = np.repeat([t for t, _ in parts], [part.shape[1] for _, part in parts])
        return columns, when.astype(np.int64)

    @cached_property
    def _move_classes(self) -> list[list[Ints]]:
        return [class_columns(moves) for moves in self.moves]

    def candidates(self, steps: int, present: int | None = None) -> list[Ints]:
        """Labellings by single channels of the first steps, and of the present; those of actions come last."""
        frames = [*range(steps), *([] if present is None else [present])]
        parts = [*(self.frames[t].classes for t in frames), *self._move_classes[:steps]]
        return distinct(labels for part in parts for labels in part)

    def with_frame(self, t: int, values: Floats) -> "Aligned":
        """The same with another frame at one step; the other frames' decompositions are shared."""
        rows = (self.index[t], np.arange(self.episodes))
        observations = self.observations.copy()
        observations[rows] = values
        changed = replace(self, observations=observations)
        changed.__dict__["frames"] = [Frame(values) if k == t else frame for k, frame in enumerate(self.frames)]
        return changed

    def with_action(self, t: int, values: Floats) -> "Aligned":
        """The same with other actions at one step."""
        actions = self.actions.copy()
        actions[self.index[t], np.arange(self.episodes)] = values
        changed = replace(self, actions=actions)
        changed.__dict__["frames"] = self.frames
        return changed
