"""What every Franka task declares: hidden values, classes, timeline, windows, decisions, and symbols.

Latents are the hidden values that an episode draws, each uniform on its range; choices are what the expert acts on.
"""

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from certify.errors import UserError
from diacritic.tasks.franka.timeline import Step

Latents = dict[str, np.ndarray]  # name → one integer per episode
DISPLAY_CHANNELS = 9
NOISE = 0.002  # standard deviation in metres of every length that is observed


@dataclass(frozen=True)
class Task(ABC):
    """What all tasks share. A parameter that cannot be is refused when the task is made."""

    name: ClassVar[str]
    version: ClassVar[int] = 1

    jitter: float = 0.02
    """Half width in metres of the uniform jitter of the object's place in x and y; 0 for none."""
    no_noise: bool = False
    """Positive control: observe without the 2 mm of sensor noise."""

    def __post_init__(self) -> None:
        self.require(0 <= self.jitter <= 0.02, "jitter", f"{self.jitter} m is outside 0…0.02")

    def require(self, holds: bool, field: str, reason: str) -> None:
        """Refuse an impossible parameter in one line."""
        if not holds:
            raise UserError(f"{self.name}.{field}", reason)

    @property
    @abstractmethod
    def latents(self) -> dict[str, int]:
        """Hidden values and their number of levels; recordings are stratified over them in this order."""

    @property
    @abstractmethod
    def sides(self) -> int:
        """Number of grasp sides: 1, 2 or 4."""

    @property
    @abstractmethod
    def slots(self) -> int:
        """Number of slots: 2, 4 or 8."""

    @property
    def sags(self) -> int:
        """Number of classes of mass that the load shows; 1 where it shows none."""
        return 1

    @abstractmethod
    def choices(self, latents: Latents) -> Latents:
        """The classes `side` and `slot` on which the expert acts, and `sag` where the load shows one."""

    @abstractmethod
    def masses(self, latents: Latents) -> np.ndarray:
        """Mass of each object in kilograms."""

    @abstractmethod
    def build_steps(self) -> tuple[Step, ...]:
        """The timeline, annotated."""

    @property
    def physical(self) -> bool:
        """Whether friction holds the object; otherwise it is attached without contact and weighs nothing."""
        return False

    @property
    def display_levels(self) -> dict[str, int]:
        """What the display can show, and how many values it has."""
        return {}

    @property
    def analog_display(self) -> bool:
        """Whether the display is one channel from −1 to 1 instead of binary."""
        return False

    @property
    def height_shift(self) -> float:
        """Metres by which the observed in-hand height tells the slot class in the second gap."""
        return 0.0

    @property
    def reseat_step(self) -> int | None:
        """The step in which a fixture returns the object to its spawn pose."""
        return None

    @property
    def parameters(self) -> dict[str, Any]:
        """The fields as plain values, for a manifest."""
        return asdict(self)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The timeline: one entry per decision."""
        return self.build_steps()

    @property
    def horizon(self) -> int:
        """Number T of decisions; an observation precedes each, and one follows the last."""
        return len(self.steps)

    def phase_steps(self, phase: str) -> range:
        """Steps of one phase; empty where the task has none."""
        found = [t for t, step in enumerate(self.steps) if step.phase == phase]
        return range(found[0], found[-1] + 1) if found else range(0)

    @property
    def windows(self) -> dict[str, range]:
        """The waiting gaps."""
        return {gap: self.phase_steps(gap) for gap in ("gap1", "gap2") if self.phase_steps(gap)}

    @property
    def decisions(self) -> dict[str, int]:
        """First step at which the expert's action depends on a class that has more than one value."""
        first: dict[str, int] = {}
        for t, step in enumerate(self.steps):
            if step.decides and self.levels(step.decides) > 1:
                first.setdefault(step.decides, t)
        return first

    def levels(self, choice: str) -> int:
        """Number of values of `side`, `slot` or `sag`."""
        return {"side": self.sides, "slot": self.slots, "sag": self.sags}[choice]

    def probe_value(self, t: int, latents: Latents) -> np.ndarray:
        """The number on the display at step t, −1 where it is dark."""
        what = self.steps[t].probe if t < self.horizon else None
        if what is None:
            return np.full(len(next(iter(latents.values()))), -1)
        return latents[what] if what in latents else self._displayed(what, latents)

    def _displayed(self, what: str, latents: Latents) -> np.ndarray:
        choices = self.choices(latents)
        return choices["side"] + self.sides * choices["slot"] if what == "cues" else choices[what]

    def at_hover(self, t: int) -> bool:
        """Whether the observation of step t is taken at or above the hover, whose height is a nuisance."""
        return t == 0 or {self.steps[t - 1].start, self.steps[t - 1].end} <= {"home", "hover"}

    def symbolic_action(self, t: int, choices: dict[str, int]) -> str:
        """The expert's action as a symbol: the segment and the gripper, and the class on which the action depends."""
        step = self.steps[t]
        move = "wait" if step.start == step.end else f"{step.start}-{step.end}"
        symbol = f"{move} {'close' if step.closing else 'open'}"
        if step.decides is None or self.levels(step.decides) == 1:
            return symbol
        return f"{symbol} {step.decides}={choices[step.decides]}"

    def symbolic_observation(self, t: int, latents: dict[str, int]) -> str:
        """What the convention credits to the observation by design: phase, display, visible classes, hover height."""
        step, hidden = self.steps[t], {name: np.array([value]) for name, value in latents.items()}
        choices = self.choices(hidden)
        parts = [step.phase]
        if step.probe is not None:
            parts.append(f"probe={self.probe_value(t, hidden)[0]}")
        parts += [f"{name}={choices[name][0]}" for name in step.shows if self.levels(name) > 1]
        if "hover" in latents and self.at_hover(t):
            parts.append(f"hover={latents['hover']}")
        return " ".join(parts)


def draw_latents(task: Task, episodes: int, rng: np.random.Generator) -> Latents:
    """Stratified latents: every level of the first latent equally often, then every pair with the second, and so on."""
    index, before, drawn = np.arange(episodes), 1, {}
    for name, levels in task.latents.items():
        # each earlier combination starts at a level of its own, so that an unfinished round stays balanced
        start = rng.integers(levels, size=before)
        drawn[name] = (index // before + start[index % before]) % levels
        before *= levels
    order = rng.permutation(episodes)
    return {name: values[order] for name, values in drawn.items()}
