"""Controls: pasts exchanged between episodes, and cues planted into the recording and found again."""

from collections.abc import Iterable, Sequence

import numpy as np

from diacritic.need.aligned import Aligned
from diacritic.need.classes import information, one_hot
from diacritic.need.decisions import LEVEL, Decision
from diacritic.need.past import dependence
from diacritic.need.screen import Screen

EXCHANGES = 64
ACTION = 1.0  # standard deviations of an action channel between the planted classes
FOUND = 0.8  # bits of the planted cue that the found classes must hold


def exchanged(data: Aligned, decisions: Sequence[Decision], rng: np.random.Generator) -> int:
    """How many of EXCHANGES exchanges of all pasts still seem to explain a decision."""
    count = 0
    parts = []
    for decision in decisions:
        s = decision.steps[0]
        frame, hot, columns = data.frames[s], one_hot(decision.labels), data.past(s)[0]
        parts.append((hot - frame.predict(hot), columns - frame.predict(columns)))
    for _ in range(EXCHANGES):
        order = rng.permutation(data.episodes)
        count += any(dependence(goal, left[order])[0] * data.steps < LEVEL for goal, left in parts)
    return count


def power(data: Aligned, plants: Iterable[int], width: float, seed: int, action: float = ACTION) -> float:
    """The share of planted one-bit cues that are found: `width` standard deviations to either side of one channel, at a
    step drawn at random, and an action that follows it three or more steps later by `action` standard deviations."""
    return float(np.mean([_found(data, width, action, np.random.default_rng((seed, k))) for k in plants]))


def _found(data: Aligned, width: float, action: float, rng: np.random.Generator) -> bool:
    usable = [s for s in range(data.steps) if data.older(s)]
    if not usable:
        return False
    s = int(rng.choice(usable))
    u, bit = int(rng.integers(data.older(s))), rng.permutation(data.episodes) % 2
    seen, acted = data.seen[u].copy(), data.acted[s].copy()
    channel = int(rng.integers(seen.shape[1]))
    spread = seen[:, channel].std() or data.seen[:, :, channel].std() or 1.0
    seen[:, channel] += (2 * bit - 1) * width * spread
    acted[:, rng.integers(acted.shape[1])] += (bit - 0.5) * action / data.tolerance
    planted = Screen(data.with_frame(u, seen).with_action(s, acted))
    planted.step(s)
    return any(d.needs_memory and information(d.labels, bit) > FOUND for d in planted.decisions)
