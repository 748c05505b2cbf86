"""The native core: many episodes of one task in lockstep."""

import operator
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import numpy as np

from certify.errors import UserError
from diacritic.tasks.franka import expert, observation, scene
from diacritic.tasks.franka.control import Arm
from diacritic.tasks.franka.film import FilmCamera
from diacritic.tasks.franka.layout import ACTION_WIDTH, executable
from diacritic.tasks.franka.objects import REST, AttachedObject, FreeObject
from diacritic.tasks.franka.pixels import Cameras, states
from diacritic.tasks.franka.task import FrankaTask
from diacritic.tasks.franka.timeline import segments
from diacritic.tasks.protocol import Frames, Ints, given_latents

TOLERANCE, _LEVEL = 0.03, 0.02  # metres between object and slot centre, on the ground and in height
_BEFORE, _AFTER = 0.2, 0.3  # seconds in which the arm settles before the first decision and after the last


class FrankaBatch:
    """`episodes` of `task` at once, for each of `policies`: every policy meets the same place, hidden values and noise.

    Episode k of a seed is the same whatever the batch it is played in. Actions are (rows, 4): from the measured tool
    position to the commanded one in metres, and a gripper that closes above 0.5.
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
        self.arm = Arm(task.physical, self.envs, threads)
        self.object = FreeObject(self.arm) if task.physical else AttachedObject(self.arm)
        self.t = task.horizon  # nothing to step before the first reset
        self._segments = segments(task.steps)
        self._processes = processes
        self._cameras: Cameras | None = None
        self._camera: FilmCamera | None = None
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
        self.spawn = scene.SPAWN + self.task.jitter * np.array([rng.uniform(-1, 1, 2) for rng in rngs])
        self._noise = np.stack([observation.draw_noise(self.task, rng) for rng in rngs], axis=1)
        self._targets = expert.targets(self.task, self.latents, self.spawn)
        self._decided = {name: np.full(self.envs, -1) for name in self.task.levels}
        self.t = 0
        self.arm.reset()
        ground = np.full(self.envs, scene.OBJECT_HALF)
        self.arm.batch.mocap_pos[:, -1] = np.column_stack([scene.DISTRACTORS[self.latents["distractor"]], ground])
        self.object.reset(self.spawn, self.task.masses(self.latents))
        self.arm.simulate(_BEFORE)
        return self._observe()

    def step(self, actions: np.ndarray) -> np.ndarray:
        """Execute one decision and observe."""
        if self.t >= self.task.horizon:
            raise UserError("step", "the episodes are over; call reset")
        if np.shape(actions) != (self.envs, ACTION_WIDTH) or not np.isfinite(actions).all():
            raise UserError("actions", f"expected finite numbers of shape ({self.envs}, {ACTION_WIDTH})")
        moves, tool = executable(actions).astype(float), self.arm.tool.copy()
        if self.t == self.task.phase_steps("grasp")[0]:
            self._decided["side"] = expert.chosen_side(self.task, moves)
        if self.t == self.task.phase_steps("place")[0]:
            self._decided["slot"] = expert.chosen_slot(self.task, tool, moves)
        fixture = self.object.seat if self.t == self.task.reseat_step else None
        self.arm.advance(tool + moves[:, :3], moves[:, 3] > 0.5, fixture)
        self.t += 1
        seen = self._observe()
        if self.t == self.task.horizon:
            self.arm.simulate(_AFTER)
            self._update()
        return seen

    def expert(self) -> np.ndarray:
        """The expert's actions (rows, 4) in the present state: to its part of the segment, from the measured tool."""
        (k, length), step = self._segments[self.t], self.task.steps[self.t]
        command = self._start + (self._targets[step.target] - self._start) * k / length
        return np.column_stack([command - self.arm.tool, np.full(self.envs, float(step.closing))])

    def info(self) -> dict[str, Any]:
        """What the episode shows at this step: t, phase, probe (−1: dark), done; and the outcome when done."""
        done = self.t == self.task.horizon
        phase = self.task.steps[min(self.t, self.task.horizon - 1)].phase
        probe = self.task.displayed(self.t, self.latents)
        return {"t": self.t, "phase": phase, "probe": probe, "done": done, **(self.outcome() if done else {})}

    def outcome(self) -> dict[str, np.ndarray]:
        """Per episode: success, side and slot as decided, and the object's distance from its slot in metres."""
        slot = scene.SLOTS[self.choices["slot"]]
        distance = np.linalg.norm(self.object.position[:, :2] - slot, axis=1)
        success = (distance < TOLERANCE) & (np.abs(self.object.position[:, 2] - REST) < _LEVEL)
        correct = {name: values == self.choices[name] for name, values in self._decided.items()}
        return {"success": success, **correct, "distance": distance}

    def decided(self) -> dict[str, Ints]:
        """The side of the first action of the grasp, and the slot of the first action of placing."""
        return dict(self._decided)

    def frames(self) -> Frames:
        """The table as a policy's camera sees it."""
        if self._cameras is None:
            self._cameras = Cameras(self, self._processes)
        return self._cameras.frames(self)

    def pose(self) -> np.ndarray:
        """Joint positions, and where the posed objects are."""
        return states(self)

    def picture(self, height: int, width: int, pose: np.ndarray | None = None, shown: int = -1) -> Frames:
        """The scene from the front, with the lights on."""
        if self._camera is None or self._camera.size != (height, width):
            self._camera = FilmCamera(self.task.physical, self.task.levels["slot"], height, width)
        return self._camera.frame(states(self)[0] if pose is None else pose, shown)

    def close(self) -> None:
        """Release the cameras."""
        if self._cameras is not None:
            self._cameras.close()
        if self._camera is not None:
            self._camera.close()
        self._cameras = self._camera = None

    def _observe(self) -> np.ndarray:
        self._update()
        arm, thing = self.arm, self.object
        if self.t < self.task.horizon and self._segments[self.t][0] == 1:
            self._start = arm.tool.copy()
        poses = (arm.tool, arm.orientation), arm.opening, (thing.position, thing.orientation)
        seen = observation.sense(self.task, self.latents, *poses)
        seen += observation.symbols(self.task, self.t, self.latents) + self._noise[self.t]
        return seen.astype(np.float32)

    def _update(self) -> None:
        self.arm.refresh()
        self.object.update()

    def _generators(self) -> list[np.random.Generator]:
        """What each row draws its episode from: the same for every policy."""
        first, self._episode = self._episode, self._episode + self.episodes
        rngs = [np.random.default_rng((self._seed, first + k)) for k in range(self.episodes)]
        return rngs if self.policies == 1 else [deepcopy(rng) for _ in range(self.policies) for rng in rngs]

    def _spread(self, values: np.ndarray) -> np.ndarray:
        """Values of each episode, once for every policy; a single value serves all."""
        return np.concatenate([values] * self.policies) if values.ndim and len(values) == self.episodes else values
