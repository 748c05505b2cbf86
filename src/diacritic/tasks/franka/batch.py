"""The native core: many episodes of one task in lockstep."""

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

from certify.errors import UserError
from diacritic.tasks.franka import expert, observation, scene
from diacritic.tasks.franka.control import Arm
from diacritic.tasks.franka.objects import AttachedObject, FreeObject, Object
from diacritic.tasks.franka.task import Latents, Task

ACTION_WIDTH = 4
LARGEST_MOVE = 0.25  # metres per axis and macro step
TOLERANCE = 0.03  # metres between object and slot centre
_LEGIBLE = 2  # steps into the grasp at which the side pose is reached


class FrankaBatch:
    """`envs` episodes of `task` at once; episode k of a seed is the same whatever the batch it is played in.

    Actions are (envs, 4): a displacement of the commanded tool position in metres, and a gripper that closes below 0.
    """

    def __init__(self, task: Task, envs: int, seed: int = 0, threads: int = 0) -> None:
        if envs < 1:
            raise UserError("envs", f"{envs} environments; give at least 1")
        self.task, self.envs = task, envs
        self.arm = Arm(task.physical, task.slots, envs, threads)
        self.object: Object = FreeObject(self.arm) if task.physical else AttachedObject(self.arm)
        self.t = task.horizon  # nothing to step before the first reset
        self.reseed(seed)

    def reseed(self, seed: int) -> None:
        """Begin the sequence of episodes anew."""
        if operator.index(seed) < 0:
            raise UserError("seed", f"{seed} is negative; give 0 or more")
        self._seed, self._episode = operator.index(seed), 0

    def reset(self, latents: Mapping[str, Any] | None = None) -> np.ndarray:
        """Begin the next `envs` episodes and observe (envs, 27); hidden values that are not given are drawn."""
        rngs = self.generators()
        drawn = np.array([[rng.integers(levels) for levels in self.task.latents.values()] for rng in rngs])
        self.latents: Latents = dict(zip(self.task.latents, drawn.T, strict=True))
        self.latents.update(self._given(latents or {}))
        self.choices = self.task.choices(self.latents)
        self.place = scene.SPAWN + self.task.jitter * np.array([rng.uniform(-1, 1, 2) for rng in rngs])
        self._noise = np.stack([observation.draw_noise(self.task, rng) for rng in rngs], axis=1)
        self._waypoints = expert.waypoints(self.task, self.latents, self.place)
        self._side = np.full(self.envs, -1)
        self.t = 0
        self.arm.reset(expert.home(self.latents, self.envs))
        self.object.reset(self.place, self.task.masses(self.latents))
        return self._observe()

    def generators(self) -> list[np.random.Generator]:
        """What each row draws its episode from; the next call gives those of the next episodes."""
        return self.next_episodes(self.envs)

    def next_episodes(self, count: int) -> list[np.random.Generator]:
        """The generators of the next `count` episodes of the seed."""
        first, self._episode = self._episode, self._episode + count
        return [np.random.default_rng((self._seed, first + k)) for k in range(count)]

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        """Execute one macro step; `info` holds t, phase, probe and done, and the outcome when the episode is over."""
        if self.t >= self.task.horizon:
            raise UserError("step", "the episodes are over; call reset")
        if np.shape(actions) != (self.envs, ACTION_WIDTH) or not np.isfinite(actions).all():
            raise UserError("actions", f"expected finite numbers of shape ({self.envs}, {ACTION_WIDTH})")
        if self.t == self.task.reseat_step:
            self.object.reseat()
        moves = np.clip(np.asarray(actions, float), -LARGEST_MOVE, LARGEST_MOVE)
        self.arm.advance(moves[:, :3], moves[:, 3] < 0)
        self.t += 1
        seen = self._observe()
        if self.t == self.task.phase_steps("grasp")[0] + _LEGIBLE:
            distance = expert.side_positions(self.task, self.place) - self.arm.tool[:, None, :2]
            self._side = np.linalg.norm(distance, axis=2).argmin(1)
        return seen, self.info()

    def expert(self) -> np.ndarray:
        """The expert's actions (envs, 4) in the present state."""
        return expert.expert_actions(self.task, self.t, self._waypoints[self.t], self.arm.position)

    def info(self) -> dict[str, Any]:
        """What the episode shows at this step: t, phase, probe (−1: dark), done; and the outcome when done."""
        done = self.t == self.task.horizon
        phase = self.task.steps[min(self.t, self.task.horizon - 1)].phase
        probe = self.task.probe_value(self.t, self.latents)
        return {"t": self.t, "phase": phase, "probe": probe, "done": done, **(self.outcome() if done else {})}

    def outcome(self) -> dict[str, np.ndarray]:
        """Per episode: success, side and slot right, object lifted, and its distance from the slot in metres."""
        slots = scene.slot_positions(self.task.slots)
        distances = np.linalg.norm(self.object.position[:, None, :2] - slots, axis=2)
        distance = distances[np.arange(self.envs), self.choices["slot"]]
        slot = distances.argmin(1) == self.choices["slot"]
        success = slot & (distance < TOLERANCE) & self.object.lifted & ~self.arm.closing
        side = self._side == self.choices["side"]
        return {"success": success, "side": side, "slot": slot, "lifted": self.object.lifted, "distance": distance}

    def _observe(self) -> np.ndarray:
        self.arm.refresh()
        self.object.update()
        arm, thing = self.arm, self.object
        seen = observation.sense(arm.tool, arm.velocity, arm.opening, thing.position, thing.yaw)
        seen += observation.symbols(self.task, self.t, self.latents) + self._noise[self.t]
        return seen.astype(np.float32)

    def _given(self, latents: Mapping[str, Any]) -> Latents:
        given = {}
        for name, values in latents.items():
            levels = self.task.latents.get(name)
            if levels is None:
                raise UserError(f"latents.{name}", f"no such hidden value; there are {', '.join(self.task.latents)}")
            array = np.asarray(values)
            if array.dtype.kind not in "iu" or array.ndim > 1 or array.size not in (1, self.envs):
                raise UserError(f"latents.{name}", f"expected one integer, or {self.envs} of them")
            if array.min() < 0 or array.max() >= levels:
                raise UserError(f"latents.{name}", f"values run from 0 to {levels - 1}")
            given[name] = np.broadcast_to(array.astype(np.int64).ravel(), self.envs).copy()
        return given
