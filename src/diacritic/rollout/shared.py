"""Many policies in the same episodes: one batch whose rows are policy by policy, and within each the same episodes."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from certify.errors import ModelError
from diacritic.tasks.franka import expert, observation, scene
from diacritic.tasks.franka.batch import FrankaBatch
from diacritic.tasks.franka.task import Task


class SharedEpisodes(FrankaBatch):
    """`policies` × `episodes` environments; row p · episodes + e is episode e of the seed, played by policy p."""

    def __init__(self, task: Task, policies: int, episodes: int, seed: int = 0, threads: int = 0) -> None:
        for name, count in (("policies", policies), ("episodes", episodes)):
            if count < 1:
                raise ModelError(name, f"{count} of them; give at least 1")
        self.policies, self.episodes = policies, episodes
        super().__init__(task, policies * episodes, seed, threads)

    def reset(self, latents: Mapping[str, Any] | None = None) -> np.ndarray:
        """As `FrankaBatch.reset`, with everything that an episode draws repeated for each policy."""
        rngs = [np.random.default_rng((self._seed, self._episode + k)) for k in range(self.episodes)]
        self._episode += self.episodes
        drawn = np.array([[rng.integers(levels) for levels in self.task.latents.values()] for rng in rngs])
        self.latents = dict(zip(self.task.latents, self._spread(drawn).T, strict=True))
        self.latents.update(self._given({name: self._spread(np.asarray(v)) for name, v in (latents or {}).items()}))
        self.choices = self.task.choices(self.latents)
        self.place = scene.SPAWN + self.task.jitter * self._spread(np.array([rng.uniform(-1, 1, 2) for rng in rngs]))
        noise = [observation.draw_noise(self.task, rng) for rng in rngs]
        self._noise = np.stack(noise * self.policies, axis=1)
        self._waypoints = expert.waypoints(self.task, self.latents, self.place)
        self._side = np.full(self.envs, -1)
        self.t = 0
        self.arm.reset(expert.home(self.latents, self.envs))
        self.object.reset(self.place, self.task.masses(self.latents))
        return self._observe()

    def _spread(self, values: np.ndarray) -> np.ndarray:
        """Values of each episode, once for every policy; a single value serves all."""
        return np.concatenate([values] * self.policies) if values.ndim and len(values) == self.episodes else values
