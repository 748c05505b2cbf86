"""The five Franka tasks: one frozen dataclass each, whose fields are its parameters."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from certify.errors import UserError
from diacritic.tasks.base import from_parameters
from diacritic.tasks.franka.layout import DISPLAY_CHANNELS
from diacritic.tasks.franka.task import FrankaTask
from diacritic.tasks.franka.timeline import Step, annotate, approach, grasp, place, wait, weigh
from diacritic.tasks.protocol import Ints, Latents, Question, TaskGate

_THETA = 32  # hidden modes of `two-cues`; its classes are a few bits of the mode
_LEAD = 3  # steps from the last display of the slot to the first place decision of `hidden-mass`
_SCAN = 3
_LIGHT, _HEAVY = (0.1, 0.8), (1.8, 2.5)  # kilograms; the two halves are apart so that the sag separates them
_WEIGHTS = (0.1, 0.9, 1.7, 2.5)
_SMALL_WEIGHTS = (0.05, 0.10, 0.15, 0.20)  # where mass is a nuisance


@dataclass(frozen=True)
class _Carried(FrankaTask):
    """Approach, scan a display, wait, grasp, wait with the object in the hand, place."""

    gap: int = 6
    """Steps between grasp and place, with the object in the hand."""
    first_gap: int = 2
    """Steps between the display and the grasp."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in ("gap", "first_gap"):
            count = getattr(self, field)
            self.require(count >= 1, field, f"{count} steps are not a gap; give at least 1")

    def carried_steps(self, displayed: str) -> list[Step]:
        """The common timeline, T = 25 + first gap + gap."""
        scan = [replace(step, probe=displayed) for step in wait("scan", "hover", _SCAN)]
        gaps = wait("gap1", "hover", self.first_gap), wait("gap2", "carry", self.gap, closing=True)
        return [*approach(), *scan, *gaps[0], *grasp(), *gaps[1], *place()]

    def require_modes(self, modes: int, least: int) -> None:
        fits = least <= modes <= 2**DISPLAY_CHANNELS and modes & (modes - 1) == 0
        self.require(fits, "modes", f"{modes} is not a power of two from {least} to {2**DISPLAY_CHANNELS}")


@dataclass(frozen=True)
class TwoCues(_Carried):
    """Two classes are displayed early; one chooses the side of the grasp, the other, after a gap, the slot (A′)."""

    name = "two-cues"
    independent_classes: ClassVar[bool] = True

    classes: int = 2
    """Sides and slots: 2 of each, or 4 of each."""
    leak: float = 0.0
    """Millimetres by which the observed in-hand height reveals the slot class in the second gap, 0 to 8."""
    contact: bool = False
    """Positive control: hold the object by friction, so that its mass leaves traces, instead of attaching it."""
    late_frame: bool = False
    """Positive control: take the camera frame after the macro step instead of before it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.classes in (2, 4), "classes", f"{self.classes} do not fit the sides and slots; 2 and 4 do")
        self.require(0 <= self.leak <= 8, "leak", f"{self.leak} mm is outside 0…8")

    @property
    def latents(self) -> dict[str, int]:
        return {"theta": _THETA, "hover": 2, "mass": len(_SMALL_WEIGHTS), "distractor": 4}

    @property
    def sides(self) -> int:
        return self.classes

    @property
    def slots(self) -> int:
        return self.classes

    @property
    def physical(self) -> bool:
        return self.contact

    @property
    def frames_late(self) -> bool:
        return self.late_frame

    @property
    def height_shift(self) -> float:
        return self.leak / 1000

    @property
    def display_levels(self) -> dict[str, int]:
        return {"cues": self.classes**2}

    def choices(self, latents: Latents) -> dict[str, Ints]:
        theta = latents["theta"]
        return {"side": theta % self.classes, "slot": theta // self.classes % self.classes}

    def masses(self, latents: Latents) -> np.ndarray:
        return np.array(_SMALL_WEIGHTS)[latents["mass"]]

    def build_steps(self) -> tuple[Step, ...]:
        return annotate(self.carried_steps("cues"))


@dataclass(frozen=True)
class FullReveal(_Carried):
    """As `two-cues`, but the display shows the whole mode, of which two bits matter (P-I)."""

    name = "full-reveal"
    independent_classes: ClassVar[bool] = True

    modes: int = 32
    """Number M of modes on the display, a power of two from 4 to 512."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_modes(self.modes, 4)

    @property
    def latents(self) -> dict[str, int]:
        return {"theta": self.modes, "hover": 2, "mass": len(_SMALL_WEIGHTS), "distractor": 4}

    @property
    def sides(self) -> int:
        return 2

    @property
    def slots(self) -> int:
        return 2

    @property
    def display_levels(self) -> dict[str, int]:
        return {"theta": self.modes}

    def choices(self, latents: Latents) -> dict[str, Ints]:
        return {"side": latents["theta"] % 2, "slot": latents["theta"] // 2 % 2}

    def masses(self, latents: Latents) -> np.ndarray:
        return np.array(_SMALL_WEIGHTS)[latents["mass"]]

    def build_steps(self) -> tuple[Step, ...]:
        return annotate(self.carried_steps("theta"))


@dataclass(frozen=True)
class Readout(_Carried):
    """The display shows the mode; its quartile chooses the side, its half or its octile the slot (readout-2, -3)."""

    name = "readout"

    modes: int = 32
    """Number M of modes on the display, a power of two from 8 to 512."""
    place_by: Literal["half", "octile"] = "half"
    """What chooses the slot: the half of the mode (2 slots) or its octile (8 slots)."""
    analog: bool = False
    """Positive control: show the mode on a single channel instead of in binary."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_modes(self.modes, 8)
        self.require(self.place_by in ("half", "octile"), "place_by", f"{self.place_by!r} is neither half nor octile")

    @property
    def latents(self) -> dict[str, int]:
        return {"theta": self.modes, "hover": 2, "mass": len(_SMALL_WEIGHTS), "distractor": 4}

    @property
    def sides(self) -> int:
        return 4

    @property
    def slots(self) -> int:
        return 2 if self.place_by == "half" else 8

    @property
    def display_levels(self) -> dict[str, int]:
        return {"theta": self.modes}

    @property
    def analog_display(self) -> bool:
        return self.analog

    @property
    def known_name(self) -> str:
        return next(name for name, (_, preset) in TASKS.items() if preset == self.implied)

    @property
    def implied(self) -> dict[str, Any]:
        return {"place_by": self.place_by}

    def choices(self, latents: Latents) -> dict[str, Ints]:
        theta = latents["theta"]
        return {"side": theta * self.sides // self.modes, "slot": theta * self.slots // self.modes}

    def masses(self, latents: Latents) -> np.ndarray:
        return np.array(_SMALL_WEIGHTS)[latents["mass"]]

    def build_steps(self) -> tuple[Step, ...]:
        return annotate(self.carried_steps("theta"))


@dataclass(frozen=True)
class HiddenMass(_Carried):
    """The display shows one of M masses, which no action depends on; the slot is displayed late (Task A)."""

    name = "hidden-mass"
    deciding: ClassVar[tuple[str, ...]] = ("mass", "slot", "hover")
    sag_assumed: ClassVar[bool] = True

    modes: int = 32
    """Number M of masses, a power of two from 4 to 512."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_modes(self.modes, 4)
        self.require(self.gap > _LEAD, "gap", f"{self.gap} steps leave no time to display the slot; give {_LEAD + 1}")

    @property
    def latents(self) -> dict[str, int]:
        return {"mass": self.modes, "slot": 4, "hover": 2, "distractor": 4}

    @property
    def sides(self) -> int:
        return 1

    @property
    def slots(self) -> int:
        return 4

    @property
    def sags(self) -> int:
        return 2

    @property
    def physical(self) -> bool:
        return True

    @property
    def display_levels(self) -> dict[str, int]:
        return {"mass": self.modes, "slot": self.slots}

    @property
    def gate(self) -> TaskGate:
        """The slot at use alone: class-specific sufficiency."""
        return TaskGate("slot at use", (), ("slot",))

    @property
    def questions(self) -> tuple[Question, ...]:
        return tuple(Question(name) for name in ("mass", "slot", "hover", "distractor"))

    def choices(self, latents: Latents) -> dict[str, Ints]:
        mass = latents["mass"]
        return {"side": np.zeros_like(mass), "slot": latents["slot"], "sag": mass * 2 // self.modes}

    def masses(self, latents: Latents) -> np.ndarray:
        half = self.modes // 2
        return np.concatenate([np.linspace(*_LIGHT, half), np.linspace(*_HEAVY, half)])[latents["mass"]]

    def build_steps(self) -> tuple[Step, ...]:
        steps = self.carried_steps("mass")
        first = next(t for t, step in enumerate(steps) if step.phase == "place")
        for t in (first - _LEAD - 1, first - _LEAD):
            steps[t] = replace(steps[t], probe="slot")
        return annotate(steps, load_shows=("sag",))


@dataclass(frozen=True)
class Weighing(FrankaTask):
    """Nothing is displayed: the arm lifts the object, feels its mass, puts it back, waits, and acts on the mass."""

    name = "weighing"
    deciding: ClassVar[tuple[str, ...]] = ("mass",)

    jitter: float = 0.0
    """Half width in metres of the uniform jitter of the object's place; it would hide what the fixture is there for."""
    gap: int = 6
    """Steps of hovering between weighing and grasp."""
    hold: int = 4
    """Steps for which the object is held aloft."""
    no_fixture: bool = False
    """Positive control: leave the object where the loaded arm put it instead of re-seating it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.gap >= 1, "gap", f"{self.gap} steps are not a gap; give at least 1")
        self.require(self.hold >= 1, "hold", f"{self.hold} steps are not a hold; give at least 1")

    @property
    def latents(self) -> dict[str, int]:
        return {"mass": len(_WEIGHTS)}

    @property
    def sides(self) -> int:
        return 4

    @property
    def slots(self) -> int:
        return 2

    @property
    def sags(self) -> int:
        return len(_WEIGHTS)

    @property
    def physical(self) -> bool:
        return True

    @property
    def gate(self) -> TaskGate:
        """Every gap and the grasp; the load reveals the slot again before it is decided."""
        return TaskGate("weighing", tuple(self.windows), ("side",))

    @property
    def questions(self) -> tuple[Question, ...]:
        return (Question("mass"),)

    @property
    def reseat_step(self) -> int | None:
        return None if self.no_fixture else self.phase_steps("scan")[-1]

    def choices(self, latents: Latents) -> dict[str, Ints]:
        mass = latents["mass"]
        return {"side": mass, "slot": mass // 2, "sag": mass}

    def masses(self, latents: Latents) -> np.ndarray:
        return np.array(_WEIGHTS)[latents["mass"]]

    def build_steps(self) -> tuple[Step, ...]:
        steps = [*approach(), *weigh(self.hold), *wait("gap1", "hover", self.gap), *grasp(), *place()]
        return annotate(steps, load_shows=("sag",))


TASKS: dict[str, tuple[type[FrankaTask], dict[str, Any]]] = {
    "two-cues": (TwoCues, {}),
    "full-reveal": (FullReveal, {}),
    "hidden-mass": (HiddenMass, {}),
    "readout-2": (Readout, {"place_by": "half"}),
    "readout-3": (Readout, {"place_by": "octile"}),
    "weighing": (Weighing, {}),
}


def make_task(name: str, **parameters: Any) -> FrankaTask:
    """A task by its name, with its parameters."""
    kind, preset = TASKS.get(name, (None, {}))
    if kind is None:
        raise UserError("task", f"{name!r} is unknown; there are {', '.join(TASKS)}")
    return from_parameters(kind, name, {**preset, **parameters})
