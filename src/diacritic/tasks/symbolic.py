"""Any finite model as a Gymnasium environment: one episode at a time, or many rows at once.

Observations and actions are numbers; their names are in `info` and in the model's graph. An action earns 1 if it lies
in the support of the expert's law where it is taken, else 0, and an episode succeeds when every action earned 1. A
model with dynamics answers any action. One without answers what the expert does, and any other action ends the episode
as a failure (`info["off_support"]`); so does an observation that no demonstration shows, under either.
"""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from certify import Model
from certify.zoo import build
from diacritic.tasks.world import Urn, View, world_of

Info = dict[str, Any]


class _Task:
    """What every episode of a model shares."""

    def __init__(self, model: Model | str, parameters: dict[str, Any]) -> None:
        if isinstance(model, Model) and parameters:
            raise ValueError(
                f"{next(iter(parameters))}: a finished model takes no parameters; name an instance instead"
            )
        self.model = model if isinstance(model, Model) else build(model, **parameters)
        self.world = world_of(self.model)
        self.starts = Urn(self.world.starts())
        self.observations = Discrete(len(self.model.graph.observations))
        self.actions = Discrete(len(self.model.graph.actions))


class _Episode:
    """One episode on its way."""

    def __init__(self, task: _Task, random: np.random.Generator) -> None:
        self._task, self._random = task, random
        self._state = task.starts.draw(random)
        self._view: View = task.world.look(self._state)
        self.observation = self._view.observation or 0  # the first observation of an episode is always known
        self.t, self.clean, self.over, self.off_support = 1, True, False, False

    @property
    def success(self) -> bool:
        return self.over and self.clean and not self.off_support

    def act(self, action: int) -> float:
        """Take one action; what it earns."""
        earned = action in self._view.correct
        self.clean &= earned
        if self.t == self._task.model.horizon:
            self.over = True
            return float(earned)
        answers = self._task.world.answer(self._state, action)
        if answers:
            self._state = Urn(answers).draw(self._random)
            self._view = self._task.world.look(self._state)
        if not answers or self._view.observation is None:
            self.over = self.off_support = True
            return float(earned)
        self.observation, self.t = self._view.observation, self.t + 1
        return float(earned)

    def info(self) -> Info:
        name = self._task.model.graph.observations[self.observation]
        return {"observation": name, "t": self.t, "success": self.success, "off_support": self.off_support}


class SymbolicEnv(gymnasium.Env[np.int64, np.int64]):
    """A model, or the name of an instance of the zoo with its parameters, one episode at a time."""

    def __init__(self, model: Model | str = "gap", **parameters: Any) -> None:
        self._task = _Task(model, parameters)
        self.model = self._task.model
        self.observation_space, self.action_space = self._task.observations, self._task.actions
        self._episode: _Episode | None = None

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[np.int64, Info]:
        super().reset(seed=seed)
        self._episode = _Episode(self._task, self.np_random)
        return np.int64(self._episode.observation), self._episode.info()

    def step(self, action: np.int64) -> tuple[np.int64, float, bool, bool, Info]:
        episode = self._episode
        if episode is None or episode.over:
            raise ValueError("step: no episode is under way; call reset first")
        _check_actions(np.asarray([action]), self._task)
        earned = episode.act(int(action))
        return np.int64(episode.observation), earned, episode.over, False, episode.info()


class SymbolicVectorEnv(VectorEnv[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]):
    """Many episodes side by side. A row that is over stays as it is, earning 0, until `reset` is told to renew it."""

    def __init__(self, num_envs: int = 1, model: Model | str = "gap", **parameters: Any) -> None:
        if num_envs < 1:
            raise ValueError(f"num_envs: expected at least 1, not {num_envs}")
        self._task = _Task(model, parameters)
        self.model, self.num_envs = self._task.model, num_envs
        self.metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.DISABLED}
        self.single_observation_space, self.single_action_space = self._task.observations, self._task.actions
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._episodes: list[_Episode] = []

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: Info | None = None
    ) -> tuple[NDArray[np.int64], Info]:
        """Begin every row again, or those that `options["reset_mask"]` names."""
        if isinstance(seed, list):
            raise ValueError("seed: one number seeds all rows")
        super().reset(seed=seed)
        mask = (options or {}).get("reset_mask", np.ones(self.num_envs, bool))
        if not isinstance(mask, np.ndarray) or mask.shape != (self.num_envs,) or mask.dtype != np.bool_:
            raise ValueError(f"reset_mask: expected {self.num_envs} Boolean values in an array")
        if not self._episodes and not mask.all():
            raise ValueError("reset_mask: the first reset begins every row")
        self._episodes = [
            _Episode(self._task, self.np_random) if fresh else self._episodes[row] for row, fresh in enumerate(mask)
        ]
        return self._observations(), self._infos()

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Info]:
        if not self._episodes:
            raise ValueError("step: no episode is under way; call reset first")
        actions = np.asarray(actions)
        if actions.shape != (self.num_envs,):
            raise ValueError(f"actions: expected {self.num_envs} of them, not shape {list(actions.shape)}")
        _check_actions(actions, self._task)
        pairs = zip(self._episodes, actions.tolist(), strict=True)
        rewards = np.array([0.0 if episode.over else episode.act(action) for episode, action in pairs])
        over = np.array([episode.over for episode in self._episodes])
        return self._observations(), rewards, over, np.zeros(self.num_envs, bool), self._infos()

    def _observations(self) -> NDArray[np.int64]:
        return np.array([episode.observation for episode in self._episodes], np.int64)

    def _infos(self) -> Info:
        rows = [episode.info() for episode in self._episodes]
        infos: Info = {key: np.array([row[key] for row in rows]) for key in rows[0]}
        return infos | {f"_{key}": np.ones(self.num_envs, bool) for key in rows[0]}  # Gymnasium: which rows are set


def _check_actions(actions: NDArray[Any], task: _Task) -> None:
    count = int(task.actions.n)
    if actions.dtype.kind not in "iu" or actions.min() < 0 or actions.max() >= count:
        raise ValueError(f"action: expected whole numbers 0…{count - 1}, not {actions.tolist()[:8]}")
