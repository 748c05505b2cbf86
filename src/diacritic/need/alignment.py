"""One clock for all episodes: by step, by progress, by a phase, or by events in the actions."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certify.errors import UserError
from diacritic.files.demos import Demos
from diacritic.need.aligned import Aligned
from diacritic.need.ridge import EMPTY, TOLERANCE, Floats, Ints

CLOCKS = ("auto", "step", "progress", "phase", "events")
MOST_STEPS = 96  # longer episodes are thinned; recent frames stay raw
MOST_EPISODES = 1024
QUIET = 0.25  # of the largest action of its episode: below, the expert counts as at rest
SHORTEST = 3  # raw frames of rest or movement that make an event


def align(demos: Demos, clock: str = "auto", tolerance: float = TOLERANCE, seed: int = 0) -> Aligned:
    """The recording on one clock; `auto` is by step where episodes are equally long, else by progress.

    `phase` uses the recorded phases, `phase:K` those of the observation's column K, `events` the moments at which the
    expert starts and stops to act.
    """
    name, _, column = clock.partition(":")
    if name not in CLOCKS or (column and (name != "phase" or not column.isdigit())):
        raise UserError("--align", f"{clock!r} is not a clock; choose auto, step, progress, phase, phase:K or events")
    lengths = demos.lengths
    if name == "auto":
        name = "step" if len(set(lengths.tolist())) == 1 else "progress"
    observations = _padded(demos.observations, lengths).astype(np.float64)
    actions = _padded(demos.actions.reshape(*demos.actions.shape[:2], -1), lengths).astype(np.float64)
    if name == "step":
        index = np.repeat(np.arange(lengths.min())[:, None], demos.episodes, 1)
    elif name == "progress":
        index = _stretched(np.zeros_like(lengths), lengths, int(np.median(lengths)))
    else:
        index = _by_segments(_segments(demos, name, column, actions, lengths), lengths, name)
    if len(index) > MOST_STEPS:
        index = index[np.unique(np.linspace(0, len(index) - 1, MOST_STEPS).round().astype(np.int64))]
    chosen = np.arange(demos.episodes)
    if demos.episodes > MOST_EPISODES:
        chosen = np.sort(np.random.default_rng(seed).permutation(demos.episodes)[:MOST_EPISODES])
    running = np.arange(len(actions))[:, None] < lengths[None]
    spread = actions[running].std(0)
    acted = spread > EMPTY * (1 + np.abs(actions).max((0, 1)))
    if not acted.any():
        raise UserError(demos.task, "the actions never vary, so nothing is decided; give the expert's actions")
    scaled = actions[:, chosen][:, :, acted] / (tolerance * spread[acted])
    return Aligned(observations[:, chosen], scaled, index[:, chosen], chosen, clock if column else name, tolerance)


def _padded(values: NDArray[Any], lengths: Ints) -> NDArray[Any]:
    """Every episode continued with its last row."""
    rows = np.minimum(np.arange(len(values))[:, None], lengths[None] - 1)
    return values[rows, np.arange(values.shape[1])]


def _stretched(start: Ints, stop: Ints, count: int) -> Ints:
    """`count` raw rows of each episode, evenly from `start` to the last before `stop`."""
    share = np.linspace(0, 1, count)[:, None] if count > 1 else np.zeros((1, 1))
    return (start + share * (stop - 1 - start)).round().astype(np.int64)


def _segments(demos: Demos, name: str, column: str, actions: Floats, lengths: Ints) -> list[list[int]]:
    """Of each episode the rows at which a segment begins."""
    results = []
    for n, length in enumerate(lengths.tolist()):
        if name == "events":
            size = np.linalg.norm(actions[:length, n], axis=1)
            labels = _smooth(size > QUIET * size.max())
        elif column:
            if int(column) >= demos.observations.shape[2]:
                raise UserError("--align", f"column {column} is beyond the {demos.observations.shape[2]} observed")
            labels = demos.observations[:length, n, int(column)].round().astype(np.int64)
        else:
            labels = demos.phase[:length, n].astype(np.int64)
        results.append([0, *(np.flatnonzero(np.diff(labels)) + 1).tolist()])
    return results


def _smooth(moving: NDArray[np.bool_]) -> Ints:
    """Rest and movement without pieces that are too short to be an event."""
    labels = moving.astype(np.int64)
    start = 0
    for stop in [*(np.flatnonzero(np.diff(labels)) + 1).tolist(), len(labels)]:
        if start and stop - start < SHORTEST:
            labels[start:stop] = labels[start - 1]
        start = stop
    return labels


def _by_segments(begins: Sequence[Sequence[int]], lengths: Ints, name: str) -> Ints:
    """Each segment stretched to its median length; all episodes must have equally many."""
    counts = {len(begin) for begin in begins}
    if len(counts) > 1:
        said = f"episodes have {min(counts)} to {max(counts)} segments"
        raise UserError("--align", f"{said} by {name}; choose another clock, such as progress")
    edges = np.concatenate([np.array(begins).T, lengths[None]])
    parts = [_stretched(a, b, int(np.median(b - a))) for a, b in pairwise(edges)]
    return np.concatenate(parts)
