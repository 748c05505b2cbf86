"""What every Franka task declares: hidden values, classes, timeline, windows, decisions, and symbols.

Latents are the hidden values that an episode draws, each uniform on its range; choices are what the expert acts on.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from diacritic.files.convention import Convention
from diacritic.tasks.base import SimulatedTask
from diacritic.tasks.franka import convention, layout
from diacritic.tasks.franka.timeline import Step
from diacritic.tasks.protocol import (
    Batch,
    Floats,
    Ints,
    Latents,
    Question,
)


@dataclass(frozen=True)
class FrankaTask(SimulatedTask):
    """What all tasks share. A parameter that cannot be is refused when the task is made."""

    packages = ("mujoco", "numpy")
    channels = layout.CHANNELS
    camera_channels = layout.BESIDE_FRAMES
    action_names = layout.ACTIONS
    acting_phases = ("grasp", "place")
    deciding: ClassVar[tuple[str, ...]] = ("theta", "slot", "hover")
    """Latents on which a symbol may depend."""
    independent_classes: ClassVar[bool] = False
    """Whether side and slot are independent; elsewhere one is nested in the other."""
    sag_assumed: ClassVar[bool] = False
    """Whether the sag counts as seen wherever the task means it to be, whatever the means say."""

    jitter: float = 0.02
    """Half width in metres of the uniform jitter of the object's place in x and y; 0 for none."""
    no_noise: bool = False
    """Positive control: observe without the 2 mm of sensor noise."""

    def __post_init__(self) -> None:
        self.require(0 <= self.jitter <= 0.02, "jitter", f"{self.jitter} m is outside 0…0.02")

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
        """Metres by which the observed in-hand height reveals the slot class in the second gap."""
        return 0.0

    @property
    def reseat_step(self) -> int | None:
        """The step in which a fixture returns the object to its spawn pose."""
        return None

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The timeline: one entry per decision."""
        return self.build_steps()

    @property
    def phases(self) -> tuple[str, ...]:
        """The phase of each step."""
        return tuple(step.phase for step in self.steps)

    @property
    def windows(self) -> dict[str, range]:
        """The waiting gaps."""
        return {gap: self.phase_steps(gap) for gap in ("gap1", "gap2") if self.phase_steps(gap)}

    @property
    def levels(self) -> dict[str, int]:
        """What the expert acts on."""
        return {"side": self.sides, "slot": self.slots}

    @property
    def decisions(self) -> dict[str, int]:
        """First step at which the expert's action depends on a class that has more than one value."""
        first: dict[str, int] = {}
        for t, step in enumerate(self.steps):
            if step.decides and self._count(step.decides) > 1:
                first.setdefault(step.decides, t)
        return first

    @property
    def reveals(self) -> tuple[int, ...]:
        """The steps with a lit display; where nothing is displayed, those of the scan that show a load."""
        lit = tuple(t for t, step in enumerate(self.steps) if step.probe is not None)
        return lit or tuple(t for t in self.phase_steps("scan") if "sag" in self.steps[t].shows)

    @property
    def handover(self) -> str | None:
        """The first gap, where nothing is displayed."""
        return "gap1" if all(step.probe is None for step in self.steps) else None

    @property
    def convention(self) -> Convention:
        """What of the observation counts as seen."""
        return convention.convention(self)

    @property
    def questions(self) -> tuple[Question, ...]:
        """The two classes given each other, the mode, and every nuisance."""
        nuisances = ("x quartile", "y quartile", "hover", "distractor", "mass")
        classes = (Question("side", ("slot",)), Question("slot", ("side",)))
        return (*classes, Question("theta"), *(Question(name, ("slot",)) for name in nuisances))

    def _count(self, choice: str) -> int:
        """Number of values of `side`, `slot` or `sag`."""
        return {**self.levels, "sag": self.sags}[choice]

    def displayed(self, t: int, latents: Latents) -> Ints:
        """The number on the display at step t, −1 where it is dark."""
        what = self.steps[t].probe if t < self.horizon else None
        if what is None:
            return np.full(len(next(iter(latents.values()))), -1)
        if what in latents:
            return latents[what]
        choices = self.choices(latents)
        return choices["side"] + self.sides * choices["slot"] if what == "cues" else choices[what]

    def at_hover(self, t: int) -> bool:
        """Whether the observation of step t is taken at or above the hover, whose height is a nuisance."""
        return t == 0 or {self.steps[t - 1].start, self.steps[t - 1].end} <= {"home", "hover"}

    def symbolic_action(self, t: int, choices: Mapping[str, int]) -> str:
        """The expert's action as a symbol: the segment and the gripper, and the class on which the action depends."""
        step = self.steps[t]
        move = "wait" if step.start == step.end else f"{step.start}-{step.end}"
        symbol = f"{move} {'close' if step.closing else 'open'}"
        if step.decides is None or self._count(step.decides) == 1:
            return symbol
        return f"{symbol} {step.decides}={choices[step.decides]}"

    def symbolic_observation(self, t: int, latents: Mapping[str, int]) -> str:
        """What the convention credits to the observation by design: phase, display, visible classes, hover height."""
        step, hidden = self.steps[t], {name: np.array([value]) for name, value in latents.items()}
        choices = self.choices(hidden)
        parts = [step.phase]
        if step.probe is not None:
            parts.append(f"probe={self.displayed(t, hidden)[0]}")
        parts += [f"{name}={choices[name][0]}" for name in step.shows if self._count(name) > 1]
        if "hover" in latents and self.at_hover(t):
            parts.append(f"hover={latents['hover']}")
        return " ".join(parts)

    def hidden_labels(self, observations: Floats) -> dict[str, Ints]:
        """The quartiles of the object's first place, where it varies."""
        place = dict(zip("xy", self.initial_state(observations).T, strict=False))
        return {f"{axis} quartile": _quartile(values) for axis, values in place.items() if np.ptp(values)}

    def initial_state(self, observations: Floats) -> Floats:
        """The object's place [N, 3] in metres before the arm touches it: its mean over the steps of the first phase."""
        first = observations[list(self.phase_steps(self.phases[0]))].astype(np.float64)
        return (first[..., layout.SLICES["tool position"]] + first[..., layout.SLICES["object position"]]).mean(0)

    def executable(self, wanted: Floats) -> NDArray[np.float32]:
        """The action that the arm really takes."""
        return layout.executable(wanted)

    def action_error(self, executed: Floats, expert: Floats) -> Floats:
        """Distance of two displacements in centimetres."""
        return 100 * np.linalg.norm(executed[..., :3] - expert[..., :3], axis=-1)

    def batch(self, episodes: int, seed: int = 0, policies: int = 1, threads: int = 0, processes: int = 1) -> Batch:
        """Episodes to be played."""
        from diacritic.tasks.franka.batch import FrankaBatch  # needs the simulator

        return FrankaBatch(self, episodes, seed, threads, policies, processes)


def _quartile(values: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.searchsorted(np.quantile(values, (0.25, 0.5, 0.75)), values, side="right").astype(np.int64)
