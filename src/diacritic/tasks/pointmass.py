"""A point mass in the plane: cues are shown early, it waits, and goes where they said. Numpy alone.

With two cues it first visits one of two gates, comes home, waits again, and then goes to one of two goals. The mass
moves in thick oil: it has no momentum and covers a part of the displacement that is asked for.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certify.errors import UserError
from diacritic.files.convention import Convention, Factor
from diacritic.tasks.protocol import Floats, Frames, Ints, Latents, Task, given_latents

FAR, REACHED = 0.3, 0.05  # metres from home to a gate or a goal; how near to a goal an episode must end
DRAG, LARGEST = 0.8, 0.3  # share of a displacement that is covered; metres per axis and step
PHASES = ("cue", "first wait", "gate", "second wait", "goal")
AXES = {"gate": 1, "goal": 0}  # a gate lies above or below home, a goal to its left or right


@dataclass(frozen=True)
class PointMass(Task):
    """Go to the cued goal after a wait; with two cues by way of the cued gate."""

    name = "point-mass"
    channels = ("x", "y", "gate cue", "goal cue", *PHASES)
    action_names = ("dx", "dy")
    acting_phases = ("gate", "goal")

    cues: int = 2
    """1: the goal alone; 2: gate and goal."""
    first_wait: int = 2
    """Steps between the cue and the first movement."""
    wait: int = 3
    """Steps at home between gate and goal."""
    noise: float = 0.002
    """Standard deviation in metres of the observed position."""

    def __post_init__(self) -> None:
        self.require(self.cues in (1, 2), "cues", f"{self.cues} cues; give 1 or 2")
        for field in ("first_wait", "wait"):
            self.require(getattr(self, field) >= 1, field, f"{getattr(self, field)} steps; give at least 1")
        self.require(0 <= self.noise <= 0.01, "noise", f"{self.noise} m is outside 0…0.01")

    @property
    def levels(self) -> dict[str, int]:
        return {"gate": 2, "goal": 2} if self.cues == 2 else {"goal": 2}

    @property
    def latents(self) -> dict[str, int]:
        return self.levels

    @property
    def phases(self) -> tuple[str, ...]:
        lengths = (2, self.first_wait, 4, self.wait, 3) if self.cues == 2 else (2, self.first_wait, 0, 0, 3)
        return tuple(phase for phase, length in zip(PHASES, lengths, strict=True) for _ in range(length))

    @property
    def windows(self) -> dict[str, range]:
        return {name: self.phase_steps(name) for name in ("first wait", "second wait") if self.phase_steps(name)}

    @property
    def decisions(self) -> dict[str, int]:
        return {name: self.phase_steps(name).start for name in self.levels}

    @property
    def reveals(self) -> range:
        return self.phase_steps("cue")

    @property
    def convention(self) -> Convention:
        others = {name: tuple(other for other in self.levels if other != name) for name in self.levels}
        return Convention(
            phases=PHASES,
            phase_columns=(4, 9),
            probe_columns=(2, 4),
            position_columns=(0, 1),
            noise=self.noise,
            factors=tuple(Factor(name, name, 2, others[name], axes=(0, 1)) for name in self.levels),
            designed={name: tuple(self.phase_steps(name))[1:] for name in self.levels},
            strata=self.levels,
            hidden=self.levels,
        )

    def way(self) -> NDArray[np.float64]:
        """How far out along the axes of gate and goal the expert stands after each step, [T, 2], as shares."""
        way = np.zeros((self.horizon, 2))
        for column, (name, shares) in enumerate({"gate": (0.5, 1, 0.5, 0), "goal": (0.5, 1, 1)}.items()):
            way[list(self.phase_steps(name)), column] = shares[: len(self.phase_steps(name))]
        return way

    def choices(self, latents: Latents) -> dict[str, Ints]:
        return {name: latents[name] for name in self.levels}

    def symbolic_action(self, t: int, choices: Mapping[str, int]) -> str:
        moves = np.diff(self.way(), axis=0, prepend=0)[t]
        name = next((name for name, move in zip(AXES, moves, strict=True) if move), None)
        return "stay" if name is None else f"{'out' if moves.sum() > 0 else 'back'} {name}={choices[name]}"

    def symbolic_observation(self, t: int, latents: Mapping[str, int]) -> str:
        phase = self.phases[t]
        shown = [name for name in self.levels if phase == "cue" or t in self.phase_steps(name)[1:]]
        return " ".join([phase, *(f"{name}={latents[name]}" for name in shown)])

    def displayed(self, t: int, latents: Latents) -> Ints:
        number = sum(latents[name] << k for k, name in enumerate(self.levels))
        return np.where(t in self.reveals, number, -1)

    def initial_state(self, observations: Floats) -> Floats:
        return observations[0, :, :2].astype(np.float64)

    def executable(self, wanted: Floats) -> NDArray[np.float32]:
        return np.clip(np.nan_to_num(np.asarray(wanted, np.float32)), -LARGEST, LARGEST)

    def action_error(self, executed: Floats, expert: Floats) -> Floats:
        return 100 * np.linalg.norm(executed - expert, axis=-1)

    def batch(
        self, episodes: int, seed: int = 0, policies: int = 1, threads: int = 0, processes: int = 1
    ) -> "PointMassBatch":
        return PointMassBatch(self, episodes, seed, policies)


class PointMassBatch:
    """`policies` × `episodes` point masses in lockstep."""

    def __init__(self, task: PointMass, episodes: int, seed: int, policies: int) -> None:
        for name, count in (("policies", policies), ("episodes", episodes)):
            if count < 1:
                raise UserError(name, f"{count} of them; give at least 1")
        self.task, self.episodes, self.policies = task, episodes, policies
        self.t, self._seed, self._played = task.horizon, seed, 0

    def reset(self, latents: Mapping[str, Any] | None = None) -> Floats:
        task, first = self.task, self._played
        self._played, self.t = first + self.episodes, 0
        rngs = [np.random.default_rng((self._seed, first + k)) for k in range(self.episodes)]
        drawn = {name: np.array([rng.integers(size) for rng in rngs]) for name, size in task.latents.items()}
        drawn |= given_latents(task, latents or {}, self.episodes)
        noise = np.stack([task.noise * rng.standard_normal((task.horizon + 1, 2)) for rng in rngs], axis=1)
        self.latents = {name: np.tile(values, self.policies) for name, values in drawn.items()}
        self.choices = task.choices(self.latents)
        self._noise, self._sign = np.tile(noise, (1, self.policies, 1)), np.zeros((self.policies * self.episodes, 2))
        for name, values in self.choices.items():
            self._sign[:, AXES[name]] = 2 * values - 1
        self.position = np.zeros_like(self._sign)
        self._highest = np.zeros(len(self.position), np.int64)  # the gate that it came nearest to
        return self._observe()

    def expert(self) -> Floats:
        gate, goal = self.task.way()[self.t]
        return (FAR * self._sign * np.array([goal, gate]) - self.position) / DRAG

    def step(self, actions: Floats) -> Floats:
        if self.t >= self.task.horizon:
            raise UserError("step", "the episodes are over; call reset")
        self.position = self.position + DRAG * np.clip(actions, -LARGEST, LARGEST)
        if self.task.phases[self.t] == "gate":
            self._highest = np.where(np.abs(self.position[:, 1]) > FAR / 2, self.position[:, 1] > 0, self._highest)
        self.t += 1
        return self._observe()

    def _observe(self) -> Floats:
        task, t = self.task, min(self.t, self.task.horizon - 1)
        seen = np.zeros((len(self.position), len(task.channels)), np.float32)
        seen[:, :2] = self.position + self._noise[self.t]
        if t in task.reveals:
            for name, values in self.choices.items():
                seen[:, 2 + list(AXES).index(name)] = 2 * values - 1
        seen[:, 4 + PHASES.index(task.phases[t])] = 1
        return seen

    def decided(self) -> dict[str, Ints]:
        chosen = {"gate": self._highest, "goal": (self.position[:, 0] > 0).astype(np.int64)}
        return {name: chosen[name] for name in self.task.levels}

    def outcome(self) -> dict[str, NDArray[Any]]:
        right = {name: values == self.choices[name] for name, values in self.decided().items()}
        distance = np.linalg.norm(self.position - self._sign * [FAR, 0], axis=1)
        success = np.all(list(right.values()), axis=0) & (distance < REACHED)
        return {"success": success, **right, "distance": distance}

    def frames(self) -> Frames:
        raise UserError(self.task.name, "has no camera; record it without frames")

    def pose(self) -> Floats:
        return self.position.copy()

    def picture(self, height: int, width: int, pose: Floats | None = None, shown: int = -1) -> Frames:
        """Gates and goals as blue squares, the mass as an amber one."""
        image = np.full((height, width, 3), 240, np.uint8)
        mass = self.position[0] if pose is None else pose
        for (x, y), colour in [
            *((spot, (70, 110, 195)) for spot in ((0, FAR), (0, -FAR), (FAR, 0), (-FAR, 0))),
            (mass, (232, 110, 114)),
        ]:
            row, column = int(height * (0.5 - y)), int(width / 2 + height * x)
            image[max(0, row - 8) : max(0, row + 8), max(0, column - 8) : max(0, column + 8)] = colour
        return image

    def close(self) -> None:
        """Nothing is held."""
