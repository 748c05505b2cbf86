"""Gymnasium faces of the native core: one environment, and a vector of them that never resets by itself."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv

from diacritic.tasks.franka.batch import FrankaBatch
from diacritic.tasks.franka.layout import ACTION_WIDTH, LARGEST_MOVE
from diacritic.tasks.franka.tasks import make_task

_HIGHEST = np.array([LARGEST_MOVE] * 3 + [1.0], np.float32)
_ACTIONS = spaces.Box(-_HIGHEST, _HIGHEST, (ACTION_WIDTH,), np.float32)


class FrankaEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """One episode at a time. The reward is 1 with the last step of a success; `reset(options={"latents": …})` sets
    hidden values, and `info` reports phase, probe, hidden values, and at the end success, side, slot and distance."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012 - Gymnasium's own declaration

    def __init__(self, task: str = "two-cues", render_mode: str | None = None, **parameters: Any) -> None:
        self.render_mode = render_mode
        self.core = FrankaBatch(make_task(task, **parameters), 1, threads=1)
        self.action_space, self.observation_space = _ACTIONS, _observations(self.core)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self.core.reseed(seed)
        seen = self.core.reset((options or {}).get("latents"))
        return seen[0], self._info(self.core.info())

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        seen = self.core.step(np.asarray(action)[None])
        info = self.core.info()
        reward = float(info["success"][0]) if info["done"] else 0.0
        return seen[0], reward, bool(info["done"]), False, self._info(info)

    def render(self) -> np.ndarray | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        if self.render_mode is None:
            return None
        return self.core.picture(240, 320)

    def close(self) -> None:
        self.core.close()

    def expert(self) -> np.ndarray:
        """The expert's action in the present state."""
        return self.core.expert()[0].astype(np.float32)

    def _info(self, info: dict[str, Any]) -> dict[str, Any]:
        hidden = {name: int(value[0]) for name, value in self.core.latents.items()}
        plain = {key: value[0].item() if isinstance(value, np.ndarray) else value for key, value in info.items()}
        return {**plain, "latents": hidden}


def _observations(core: FrankaBatch) -> spaces.Box:
    return spaces.Box(-10.0, 10.0, (len(core.task.channels),), np.float32)


class FrankaVectorEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """`num_envs` episodes in lockstep on native threads; all end together, and only `reset` begins new ones."""

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.DISABLED}  # noqa: RUF012 - Gymnasium's own

    def __init__(self, num_envs: int = 1, task: str = "two-cues", threads: int = 0, **parameters: Any) -> None:
        self.num_envs = num_envs
        self.render_mode = None
        self.core = FrankaBatch(make_task(task, **parameters), num_envs, threads=threads)
        self.single_action_space, self.single_observation_space = _ACTIONS, _observations(self.core)
        self.action_space = gymnasium.vector.utils.batch_space(_ACTIONS, num_envs)
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, num_envs)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        if isinstance(seed, list):
            raise ValueError("seed: one integer seeds all environments; episode k of a seed is always the same")
        if seed is not None:
            self.core.reseed(seed)
        if "reset_mask" in (options or {}):
            raise ValueError("options.reset_mask: the environments run in lockstep; reset all of them")
        seen = self.core.reset((options or {}).get("latents"))
        return seen, {**self.core.info(), "latents": self.core.latents}

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        seen = self.core.step(actions)
        info = self.core.info()
        done = np.full(self.num_envs, info["done"])
        reward = info["success"].astype(float) if info["done"] else np.zeros(self.num_envs)
        return seen, reward, done, np.zeros(self.num_envs, bool), {**info, "latents": self.core.latents}
