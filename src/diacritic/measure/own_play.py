"""Own occupancy: what policies see, do and hold while they act themselves, with the actions that were executed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diacritic.demos.binner import Binner
from diacritic.rollout.closed_loop import Loop
from diacritic.rollout.policies import Player
from diacritic.tasks.protocol import Latents, Task, draw_latents

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class OwnPlay:
    """S policies in the same E episodes of T steps."""

    seen: Floats  # O_t, [S, T, E, channels]
    executed: Floats  # A_t, [S, T, E, A]
    codes: Ints  # C_t, [S, T, E]
    symbols: Ints  # Ō_t as the online binner reads it, [S, T, E]
    success: NDArray[np.bool_]  # [S, E]
    latents: Latents  # each [E]
    choices: Latents  # what the expert would choose, each [E]
    positions: Floats
    """Of the body as it is sensed, metres, [S, T, E, axes]."""


def own_play(
    task: Task, player: Player, binner: Binner, episodes: int = 128, seed: int = 0, threads: int = 0
) -> OwnPlay:
    """Play; hidden values are stratified, and the seed decides everything."""
    batch = task.batch(episodes, seed, player.runs, threads)
    hidden = draw_latents(task, episodes, np.random.default_rng(seed))
    moments = Loop(task, batch, player, hidden, binner).play()
    seen = np.stack([moment.seen for moment in moments], 1)
    symbols = [moment.symbols for moment in moments if moment.symbols is not None]
    return OwnPlay(
        seen,
        np.stack([moment.executed for moment in moments], 1),
        np.stack([moment.codes for moment in moments], 1),
        np.stack(symbols, 1),
        batch.outcome()["success"].reshape(player.runs, episodes),
        {name: values[:episodes] for name, values in batch.latents.items()},
        {name: values[:episodes] for name, values in batch.choices.items()},
        seen[..., list(binner.convention.position_columns)],
    )
