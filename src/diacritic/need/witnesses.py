"""Pairs of episodes that look alike at a decision while the expert acts differently, and when they last differed."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from diacritic.need.aligned import Aligned
from diacritic.need.decisions import Decision
from diacritic.need.ridge import Floats, Ints

PAIRS = 3  # of each decision


@dataclass(frozen=True)
class Witness:
    """Two episodes of one decision, by their places in the examined data."""

    decision: int  # counted from 1
    step: int
    pair: tuple[int, int]
    distance: float  # between their frames at the step, in standard deviations per channel
    nearer: float  # share of episodes whose nearest frame of the same class is at least as far
    action: float  # distance of their actions, in tolerances
    last: int | None  # the last earlier step at which their frames differ as the cue does


def witnesses(data: Aligned, decisions: Sequence[Decision]) -> list[Witness]:
    """The nearest pairs of each decision, each episode used once."""
    results = []
    for number, decision in enumerate(decisions, 1):
        s = decision.steps[0]
        far = squared_distances(data.frames[s].columns)
        other = decision.labels[:, None] != decision.labels[None]
        between = np.where(other, far, np.inf)
        for _ in range(PAIRS):
            i, j = (int(k) for k in np.unravel_index(int(between.argmin()), between.shape))
            if not np.isfinite(between[i, j]):
                break
            action = float(np.linalg.norm(data.acted[s, i] - data.acted[s, j]))
            likeness = alike(far, decision.labels, (i, j), data.frames[s].columns.shape[1])
            results.append(Witness(number, s, (i, j), *likeness, action, _last(decision, i, j)))
            between[[i, j]] = between[:, [i, j]] = np.inf
    return results


def squared_distances(columns: Floats) -> Floats:
    """Between all rows; infinite from a row to itself."""
    squares = (columns**2).sum(1)
    far = np.maximum(squares[:, None] + squares[None] - 2 * columns @ columns.T, 0)
    np.fill_diagonal(far, np.inf)
    return far


def alike(far: Floats, labels: Ints, pair: tuple[int, int], channels: int) -> tuple[float, float]:
    """A pair's distance per channel, and the share of episodes whose nearest frame of their own class is as far."""
    like = np.where(labels[:, None] == labels[None], far, np.inf).min(1)
    return float(np.sqrt(far[pair] / max(channels, 1))), float((like >= far[pair]).mean())


def _last(decision: Decision, one: int, two: int) -> int | None:
    """The last step before the decision at which some cue looks different in the two episodes."""
    steps = [
        t
        for cue in decision.cues
        for t in range(decision.steps[0])
        if cue.names(t)[cue.labels[one]] != cue.names(t)[cue.labels[two]]
    ]
    return max(steps, default=None)
