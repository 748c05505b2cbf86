"""Steps of symbolic episodes that are alike: inputs that occur again, and histories that several episodes share."""

from dataclasses import dataclass

from torch import Tensor

from diacritic.memory.protocol import Inputs
from diacritic.memory.quantise import look_up


@dataclass(frozen=True)
class Repeats:
    """Distinct inputs and distinct histories. Histories are sorted by their length: one step after another.

    For a memory that sees the last few steps alone, histories are these steps, whenever they come.
    """

    inputs: Inputs  # the distinct ones, [inputs, ·]
    shown: Tensor  # which of them every step shows, [T, N]
    last: Tensor  # which of them each history ends with, [histories]
    counts: tuple[int, ...]  # histories of 1, …, T steps
    parents: tuple[Tensor | None, ...]
    """For the histories of each step, which one of the step before they continue; none: each its own."""
    token: Tensor  # the history of every step, [T, N]
    example: Tensor  # a step t·N + n with each history, [histories]
    windows: Tensor | None = (
        None  # the inputs of each of the last few steps, [histories, steps]; their number: none yet
    )

    def steps(self, values: Tensor) -> Tensor:
        """Values of distinct inputs as values of every step: [runs, T, N, ·]."""
        flat = self.shown.flatten().expand(len(values), -1)
        return look_up(values, flat).unflatten(1, self.shown.shape)

    def histories(self, values: Tensor) -> Tensor:
        """Values of distinct inputs as values of the histories that end with them: [runs, histories, ·]."""
        return look_up(values, self.last.expand(len(values), -1))

    def pick(self, values: Tensor) -> Tensor:
        """Values of every step, [runs, T, N, ·], as values of the histories."""
        return look_up(values.flatten(1, 2), self.example.expand(len(values), -1))

    def spread(self, values: Tensor) -> Tensor:
        """Values of the histories as values of every step: [runs, T, N, ·]."""
        flat = self.token.flatten().expand(len(values), -1)
        return look_up(values, flat).unflatten(1, self.token.shape)

    def levels(self, values: Tensor) -> tuple[Tensor, ...]:
        """Values of distinct inputs, for the histories of each step."""
        return self.histories(values).split(self.counts, 1)


def continued(state: Tensor, parent: Tensor | None) -> Tensor:
    """States of the histories of one step as those from which the histories of the next step go on."""
    return state if parent is None else look_up(state, parent.expand(len(state), -1))
