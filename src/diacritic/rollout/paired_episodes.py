"""Many policies in the same episodes: one batch whose rows are policy by policy, and within each the same episodes."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import numpy as np

from certify.errors import UserError
from diacritic.tasks.franka.batch import FrankaBatch
from diacritic.tasks.franka.task import Task


class SharedEpisodes(FrankaBatch):
    """`policies` × `episodes` environments; row p · episodes + e is episode e of the seed, played by policy p."""

    def __init__(self, task: Task, policies: int, episodes: int, seed: int = 0, threads: int = 0) -> None:
        for name, count in (("policies", policies), ("episodes", episodes)):
            if count < 1:
                raise UserError(name, f"{count} of them; give at least 1")
        self.policies, self.episodes = policies, episodes
        super().__init__(task, policies * episodes, seed, threads)

    def reset(self, latents: Mapping[str, Any] | None = None) -> np.ndarray:
        """As `FrankaBatch.reset`; hidden values are one for all, or one for each episode."""
        return super().reset({name: self._spread(np.asarray(values)) for name, values in (latents or {}).items()})

    def generators(self) -> list[np.random.Generator]:
        """The same for every policy."""
        rngs = self.next_episodes(self.episodes)
        return [deepcopy(rng) for _ in range(self.policies) for rng in rngs]

    def _spread(self, values: np.ndarray) -> np.ndarray:
        """Values of each episode, once for every policy; a single value serves all."""
        return np.concatenate([values] * self.policies) if values.ndim and len(values) == self.episodes else values
