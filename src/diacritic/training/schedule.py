"""Where training stands: the step, the runs' own numbers, and random draws that depend on nothing else."""

from dataclasses import dataclass

import torch
from torch import Tensor

from diacritic.training.randomness import uniform


@dataclass(frozen=True)
class Schedule:
    """Tensors only, so that one update can be captured once and replayed."""

    step: Tensor  # int64 scalar, from 0
    steps: int
    seeds: Tensor  # int64 [S]
    weight: Tensor  # β of each run at full pressure, [S]
    auxiliary: Tensor  # weight of the auxiliary terms in each run, [S]
    pressure: tuple[float, float] = (0.0, 0.0)  # the shares of training between which β rises
    pressure_updates: int = 0  # or the updates over which it rises

    @property
    def progress(self) -> Tensor:
        """The share of training done, in [0, 1)."""
        return self.step.to(torch.float32) / self.steps

    @property
    def beta(self) -> Tensor:
        """β of each run now, [S]."""
        first, last = self.pressure
        if self.pressure_updates:
            return self.weight * ((self.step + 1) / self.pressure_updates).clamp(max=1).to(self.weight.dtype)
        if last <= 0:
            return self.weight
        return self.weight * ((self.progress - first) / (last - first)).clamp(0, 1).to(self.weight.dtype)

    def uniform(self, stream: int, *shape: int) -> Tensor:
        """Numbers in [0, 1), [S, *shape]: the same for a run in any cohort, alone or resumed."""
        return uniform(self.seeds, self.step, stream, shape)

    def integers(self, stream: int, high: int, *shape: int) -> Tensor:
        """Whole numbers in 0…high − 1, [S, *shape]."""
        return (self.uniform(stream, *shape) * high).long().clamp(max=high - 1)

    def falling(self, start: float, end: float) -> Tensor:
        """1 until `start` of training, linearly to 0 at `end`, 0 after; always 1 where `start` is 1."""
        if start >= 1:
            return torch.ones_like(self.progress)
        return ((end - self.progress) / (end - start)).clamp(0, 1)


_NAMES = ("batch", "offset", "restart", "bfs", "inverse", "noise", "restart offset", "refine")
STREAMS = {name: k for k, name in enumerate(_NAMES)}
