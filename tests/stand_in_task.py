"""A stand-in for a robot task: the same phases, display, poses and noise, drawn instead of simulated."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diacritic.files.convention import Convention, Factor
from diacritic.tasks.protocol import Demonstration, Latents, Simulation
from diacritic.tasks.strata import stratified

PHASES = ("approach", "scan", "gap1", "grasp", "gap2", "place")
LENGTHS = (1, 2, 2, 4, 3, 4)
OUT = {"grasp": (0.0, 1.0, 1.0, 0.0), "place": (0.0, 0.7, 1.0, 1.0)}  # how far out the pose is at each step


@dataclass(frozen=True)
class StandIn:
    """Side and slot are displayed in the scan; the pose shows the side in mid-grasp and the slot while placing."""

    sides: int = 2
    slots: int = 2
    spread: float = 0.1  # metres between neighbouring classes
    leak: float = 0.0  # metres of height that the slot shifts in the second gap
    noise: float = 0.002
    pixels: bool = False
    late: bool = False  # frames are taken one step late
    failures: int = 0
    name: str = "stand-in"
    version: int = 3

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {"sides": self.sides, "slots": self.slots}

    @property
    def packages(self) -> tuple[str, ...]:
        return ("numpy",)

    @property
    def phase(self) -> NDArray[np.uint8]:
        return np.repeat(np.arange(len(PHASES), dtype=np.uint8), LENGTHS)

    @property
    def convention(self) -> Convention:
        return Convention(
            phases=PHASES,
            phase_columns=(18, 24),
            probe_columns=(9, 18),
            position_columns=(0, 1, 2),
            noise=self.noise,
            factors=(
                Factor("side", "side", self.sides, given=("slot",)),
                Factor("slot", "slot", self.slots, given=("side",)),
            ),
            designed={"side": (6, 7), "slot": (13, 14, 15)},
            strata={"side": self.sides, "slot": self.slots},
            hidden={"side": self.sides, "slot": self.slots, "mass": 4, "distractor": 4},
            shown={"distractor": ("gap2",)},
        )

    def draw(self, episodes: int, seed: int) -> Latents:
        return stratified(self.convention.strata, episodes, seed)

    def demonstrate(
        self,
        latents: Latents,
        seed: int,
        simulation: Simulation = Simulation(),  # noqa: B008 (frozen)
    ) -> Demonstration:
        draw = np.random.default_rng(seed)
        count, phase = len(latents["side"]), self.phase
        hidden = {**latents, **{name: draw.integers(0, 4, count, np.int32) for name in ("mass", "distractor")}}
        steps = len(phase)
        observations = np.zeros((steps, count, 27), np.float32)
        at = {name: np.flatnonzero(phase == k) for k, name in enumerate(PHASES)}
        for name, variable, axis in (("grasp", "side", 1), ("place", "slot", 0)):
            for t, out in zip(at[name], OUT[name], strict=True):
                observations[t, :, axis] += out * self.spread * hidden[variable]
        observations[at["gap2"], :, 8] += (2.0 * hidden["slot"] - 1) * self.leak
        observations[at["gap2"], :, 24] = hidden["distractor"]
        observations[..., :9] += draw.normal(0, self.noise, (steps, count, 9))
        for k, variable in enumerate(("side", "slot")):
            for bit in range(2):
                observations[at["scan"], :, 9 + 2 * k + bit] = np.where(hidden[variable] >> bit & 1, 1, -1)
        observations[np.arange(steps), :, 18 + phase] = 1
        actions = draw.normal(size=(steps, count, 4)).astype(np.float32)
        success = np.arange(count) >= self.failures
        frames = self._frames(observations) if self.pixels else None
        return Demonstration(observations, actions, np.repeat(phase[:, None], count, 1), hidden, success, frames)

    def symbolic_actions(self, latents: Latents) -> tuple[NDArray[np.int32], tuple[str, ...]]:
        """Outward moves name the class; everything else is the phase."""
        names = [*PHASES, *(f"side{k}" for k in range(self.sides)), *(f"slot{k}" for k in range(self.slots))]
        choices = np.repeat(self.phase.astype(np.int32)[:, None], len(latents["side"]), 1)
        choices[[5, 7]] = len(PHASES) + latents["side"]
        choices[[12, 13]] = len(PHASES) + self.sides + latents["slot"]
        return choices, tuple(names)

    def _frames(self, observations: np.ndarray) -> NDArray[np.uint8]:
        """A white square where the hand is, on grey."""
        seen = np.roll(observations, -1, axis=0) if self.late else observations
        frames = np.full((*observations.shape[:2], 64, 64, 3), 90, np.uint8)
        for t, n in np.ndindex(observations.shape[:2]):
            x, y = (np.clip(20 + 200 * seen[t, n, :2], 0, 56)).astype(int)
            frames[t, n, x : x + 8, y : y + 8] = 255
        return frames
