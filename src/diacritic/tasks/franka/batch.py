"""The native core: many episodes of one task in lockstep."""

import operator
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import numpy as np

from certify.errors import UserError
from diacritic.tasks.franka import expert, observation, scene
from diacritic.tasks.franka.control import Arm
from diacritic.tasks.franka.layout import ACTION_WIDTH, LARGEST_MOVE
from diacritic.tasks.franka.objects import AttachedObject, FreeObject, Object
from diacritic.tasks.franka.pixels import Camera, Cameras, states
from diacritic.tasks.franka.task import FrankaTask
from diacritic.tasks.protocol import Frames, Ints, given_latents

TOLERANCE = 0.03  # metres between object and slot centre
_LEGIBLE = 2  # steps into the grasp at which the side pose is reached


class FrankaBatch:
    """`episodes` of `task` at once, for each of `policies`: every policy meets the same place, hidden values and noise.

    Episode k of a seed is the same whatever the batch it is played in. Actions are (rows, 4): a displacement of the
    commanded tool position in metres, and a gripper that closes below 0.
    """

    def __init__(
        self,
        task: FrankaTask,
        episodes: int,
        seed: int = 0,
        threads: int = 0,
        policies: int = 1,
        processes: int = 1,
    ) -> None:
        for name, count in (("policies", policies), ("episodes", episodes)):
            if count < 1:
                raise UserError(name, f"{count} of them; give at least 1")
        self.task, self.episodes, self.policies, self.envs = task, episodes, policies, policies * episodes
        self.arm = Arm(task.physical, task.slots, self.envs, threads)
        self.object: Object = FreeObject(self.arm) if task.physical else AttachedObject(self.arm)
        self.t = task.horizon  # nothing to step before the first reset
        self._processes = processes
        self._cameras: Cameras | None = None
        self._camera: Camera | None = None
        self.reseed(seed)

    def reseed(self, seed: int) -> None:
        """Begin the sequence of episodes again."""
        if operator.index(seed) < 0:
            raise UserError("seed", f"{seed} is negative; give 0 or more")
        self._seed, self._episode = operator.index(seed), 0

    def reset(self, latents: Mapping[str, Any] | None = None) -> np.ndarray:
        """Begin the next episodes and observe (rows, 27); hidden values that are not given are drawn."""
        rngs = self._generators()
        drawn = np.array([[rng.integers(levels) for levels in self.task.latents.values()] for rng in rngs])
        given = {name: self._spread(np.asarray(values)) for name, values in (latents or {}).items()}
        self.latents = dict(zip(self.task.latents, drawn.T, strict=True)) | given_latents(self.task, given, self.envs)
        self.choices = self.task.choices(self.latents)
        self.place = scene.SPAWN + self.task.jitter * np.array([rng.uniform(-1, 1, 2) for rng in rngs])
        self._noise = np.stack([observation.draw_noise(self.task, rng) for rng in rngs], axis=1)
        self._waypoints = expert.waypoints(self.task, self.latents, self.place)
        self._side = np.full(self.envs, -1)
        self.t = 0
        self.arm.reset(expert.home(self.latents, self.envs))
        self.object.reset(self.place, self.task.masses(self.latents))
        return self._observe()

    def step(self, actions: np.ndarray) -> np.ndarray:
        """Execute one macro step and observe."""
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
        return seen

    def expert(self) -> np.ndarray:
        """The expert's actions (rows, 4) in the present state."""
        return expert.expert_actions(self.task, self.t, self._waypoints[self.t], self.arm.position)

    def info(self) -> dict[str, Any]:
        """What the episode shows at this step: t, phase, probe (−1: dark), done; and the outcome when done."""
        done = self.t == self.task.horizon
        phase = self.task.steps[min(self.t, self.task.horizon - 1)].phase
        probe = self.task.displayed(self.t, self.latents)
        return {"t": self.t, "phase": phase, "probe": probe, "done": done, **(self.outcome() if done else {})}

    def outcome(self) -> dict[str, np.ndarray]:
        """Per episode: success, side and slot correct, object lifted, and its distance from the slot in metres."""
        slots = scene.slot_positions(self.task.slots)
        distances = np.linalg.norm(self.object.position[:, None, :2] - slots, axis=2)
        distance = distances[np.arange(self.envs), self.choices["slot"]]
        slot = distances.argmin(1) == self.choices["slot"]
        success = slot & (distance < TOLERANCE) & self.object.lifted & ~self.arm.closing
        side = self._side == self.choices["side"]
        return {"success": success, "side": side, "slot": slot, "lifted": self.object.lifted, "distance": distance}

    def decided(self) -> dict[str, Ints]:
        """The side pose that the tool came nearest to, and the slot nearest to the object."""
        slots = scene.slot_positions(self.task.slots)
        nearest = np.linalg.norm(self.object.position[:, None, :2] - slots, axis=2).argmin(1)
        return {"side": self._side, "slot": nearest}

    def frames(self) -> Frames:
        """The table as a policy's camera sees it."""
        if self._cameras is None:
            self._cameras = Cameras(self, self._processes)
        return self._cameras.frames(self)

    def picture(self, height: int, width: int) -> Frames:
        """The scene of the first row, from the side."""
        if self._camera is None:
            self._camera = Camera(self.task.physical, self.task.slots, "side", height, width)
        return self._camera.frame(states(self)[0])

    def close(self) -> None:
        """Release the cameras."""
        if self._cameras is not None:
            self._cameras.close()
        if self._camera is not None:
            self._camera.close()
        self._cameras = self._camera = None

    def _observe(self) -> np.ndarray:
        self.arm.refresh()
        self.object.update()
        arm, thing = self.arm, self.object
        seen = observation.sense(arm.tool, arm.velocity, arm.opening, thing.position, thing.yaw)
        seen += observation.symbols(self.task, self.t, self.latents) + self._noise[self.t]
        return seen.astype(np.float32)

    def _generators(self) -> list[np.random.Generator]:
        """What each row draws its episode from: the same for every policy."""
        first, self._episode = self._episode, self._episode + self.episodes
        rngs = [np.random.default_rng((self._seed, first + k)) for k in range(self.episodes)]
        return rngs if self.policies == 1 else [deepcopy(rng) for _ in range(self.policies) for rng in rngs]

    def _spread(self, values: np.ndarray) -> np.ndarray:
        """Values of each episode, once for every policy; a single value serves all."""
        return np.concatenate([values] * self.policies) if values.ndim and len(values) == self.episodes else values
