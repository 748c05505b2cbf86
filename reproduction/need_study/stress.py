"""Recordings made worse: heavy tails, dropped frames, unequal lengths, and an expert that errs."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from diacritic.demos.readers import from_arrays
from diacritic.files.demos import Demos

ERRORS, DROPPED, LONGER = 0.05, 0.05, 0.3


def heavy_tails(demos: Demos, rng: np.random.Generator) -> Demos:
    """Noise with two degrees of freedom on every channel and action."""
    draw = lambda values, size: size * values.std((0, 1)) * rng.standard_t(2, values.shape)  # noqa: E731
    seen, acted = demos.observations, demos.actions
    return from_arrays(seen + draw(seen, 0.02), acted + draw(acted, 0.01), task=demos.task)


def dropped_frames(demos: Demos, rng: np.random.Generator) -> Demos:
    """Some frames never arrived, and the one before is repeated."""
    seen = demos.observations.copy()
    lost = rng.random(seen.shape[:2]) < DROPPED
    for t in range(1, len(seen)):
        seen[t, lost[t]] = seen[t - 1, lost[t]]
    return replace(demos, observations=seen)


def unequal_lengths(demos: Demos, rng: np.random.Generator) -> Demos:
    """Every episode dwells: some of its steps last twice as long."""
    repeats = 1 + (rng.random((demos.episodes, demos.steps)) < LONGER)
    lengths = repeats.sum(1)
    rows = [np.repeat(np.arange(demos.steps), repeat) for repeat in repeats]
    index = np.array([np.pad(row, (0, lengths.max() - len(row)), mode="edge") for row in rows]).T
    mask = np.arange(lengths.max())[:, None] < lengths[None]
    columns = np.arange(demos.episodes)
    return from_arrays(demos.observations[index, columns], demos.actions[index, columns], mask=mask, task=demos.task)


def wrong_labels(demos: Demos, rng: np.random.Generator) -> Demos:
    """At every step some episodes take the action of another one."""
    acted = demos.actions.copy()
    for t in range(len(acted)):
        wrong = np.flatnonzero(rng.random(demos.episodes) < ERRORS)
        acted[t, wrong] = acted[t, rng.permutation(demos.episodes)[: len(wrong)]]
    return replace(demos, actions=acted)


STRESSES: dict[str, Callable[[Demos, np.random.Generator], Demos]] = {
    "heavy-tails": heavy_tails,
    "dropped-frames": dropped_frames,
    "unequal-lengths": unequal_lengths,
    "wrong-labels": wrong_labels,
}
