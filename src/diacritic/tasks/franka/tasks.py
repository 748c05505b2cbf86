"""The five Franka tasks: one frozen dataclass each, whose fields are its parameters."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from certify.errors import UserError
from diacritic.tasks.franka.convention import MASS_CLASSES
from diacritic.tasks.franka.layout import CHANNELS, DISPLAY_CHANNELS
from diacritic.tasks.franka.task import FrankaTask
from diacritic.tasks.franka.timeline import Step, approach, grasp, place, serial, weigh
from diacritic.tasks.protocol import Ints, Latents, Question, TaskGate, from_parameters

_THETA = 32  # hidden modes of `two-cues`; its classes are a few bits of the mode
_SCAN = 3  # steps for which a whole number is displayed
_CARRY = 4  # steps of the second gap of `weighing`
_LIGHT, _HEAVY = (0.05, 0.30), (0.05, 2.0)  # kilograms from the first mode to the last
_LONG = 20  # steps of a second gap for which some more episodes are recorded
_WEIGHTS = (0.1, 0.9, 1.7, 2.5)


@dataclass(frozen=True)
class _Carried(FrankaTask):
    """Scan a display, wait, grasp, wait with the object in the hand, place."""

    gap: int = 6
    """Steps between grasp and place, with the object in the hand."""
    first_gap: int = 2
    """Steps between the display and the grasp."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in ("gap", "first_gap"):
            count = getattr(self, field)
            self.require(count >= 1, field, f"{count} steps are not a gap; give at least 1")

    def carried_steps(self, scan: list[Step], late: Sequence[Step] = ()) -> list[Step]:
        """The common timeline with a display in the scan and, at `late` steps, at the end of the second gap."""
        waits = [Step("gap2", "carry", closing=True)] * (self.gap - len(late))
        return [*approach(), *scan, *[Step("gap1", "hover")] * self.first_gap, *grasp(), *waits, *late, *place()]


@dataclass(frozen=True)
class _Displayed(_Carried):
    """The display shows a mode as a whole."""

    least_modes: ClassVar[int] = 4

    modes: int = 32
    """Number M of modes on the display, a power of two from 4 (of the readouts 8) to 512."""

    def __post_init__(self) -> None:
        super().__post_init__()
        fits = self.least_modes <= self.modes <= 2**DISPLAY_CHANNELS and self.modes & (self.modes - 1) == 0
        said = f"{self.modes} is not a power of two from {self.least_modes} to {2**DISPLAY_CHANNELS}"
        self.require(fits, "modes", said)


class _Light(_Carried):
    """The object is attached and weighs little: its mass grows with the mode and leaves no trace."""

    modes: int
    """Number of modes θ."""

    @property
    def hidden(self) -> dict[str, int]:
        return {"theta": self.modes}

    @abstractmethod
    def classes_of(self, theta: Ints) -> tuple[Ints, Ints]:
        """Side and slot of a mode."""

    def choices(self, latents: Latents) -> dict[str, Ints]:
        side, slot = self.classes_of(latents["theta"])
        return {"side": side, "slot": slot, "mass": MASS_CLASSES * latents["theta"] // self.modes}

    def masses(self, latents: Latents) -> np.ndarray:
        return np.interp(latents["theta"], (0, self.modes - 1), _LIGHT)


@dataclass(frozen=True)
class TwoCues(_Light):
    """Two classes are displayed early; one chooses the side of the grasp, the other, after a gap, the slot (A′)."""

    name = "two-cues"
    independent_classes = True
    modes = _THETA

    classes: int = 2
    """Sides and slots: 2 of each, or 4 of each."""
    leak: float = 0.0
    """Millimetres by which the observed in-hand height reveals the slot class in the second gap, 0 to 8."""
    contact: bool = False
    """Positive control: hold the object by friction, so that its mass leaves traces, instead of attaching it."""
    late_frame: bool = False
    """Positive control: take the camera frame after the step instead of before it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.classes in (2, 4), "classes", f"{self.classes} do not fit the sides and slots; 2 and 4 do")
        self.require(0 <= self.leak <= 8, "leak", f"{self.leak} mm is outside 0…8")

    @property
    def levels(self) -> dict[str, int]:
        return {"side": self.classes, "slot": self.classes}

    @property
    def least_episodes(self) -> int:
        return 576 if self.gap >= _LONG else super().least_episodes

    @property
    def physical(self) -> bool:
        return self.contact

    @property
    def frames_late(self) -> bool:
        return self.late_frame

    @property
    def shown(self) -> dict[str, tuple[str, ...]]:
        """Of four classes, slot and mass share a bit of the mode."""
        return {"mass": ("place", "done")} if self.classes > 2 else {}

    def classes_of(self, theta: Ints) -> tuple[Ints, Ints]:
        return theta % self.classes, theta // self.classes % self.classes

    def build_steps(self) -> list[Step]:
        return self.carried_steps(serial("scan", "hover", "cues", _bits(self.classes**2)))


@dataclass(frozen=True)
class FullReveal(_Light, _Displayed):
    """As `two-cues`, but the display shows the whole mode, of which two bits matter (P-I)."""

    name = "full-reveal"
    independent_classes = True

    @property
    def levels(self) -> dict[str, int]:
        return {"side": 2, "slot": 2}

    def classes_of(self, theta: Ints) -> tuple[Ints, Ints]:
        return theta % 2, theta // 2 % 2

    def build_steps(self) -> list[Step]:
        return self.carried_steps(serial("scan", "hover", "theta", _bits(self.modes)))


@dataclass(frozen=True)
class Readout(_Light, _Displayed):
    """The display shows the mode; its quartile chooses the side, its half or its octile the slot (readout-2, -3)."""

    name = "readout"
    channels = CHANNELS
    least_modes = 8

    place_by: Literal["half", "octile"] = "half"
    """What chooses the slot: the half of the mode (2 slots) or its octile (8 slots)."""
    analog: bool = False
    """Positive control: show the mode as one value instead of in binary."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.place_by in ("half", "octile"), "place_by", f"{self.place_by!r} is neither half nor octile")

    @property
    def levels(self) -> dict[str, int]:
        return {"side": 4, "slot": 2 if self.place_by == "half" else 8}

    @property
    def stratified(self) -> bool:
        return True

    @property
    def shown(self) -> dict[str, tuple[str, ...]]:
        """Side, slot and mass are parts of one mode."""
        return {"side": ("place", "done"), "slot": ("grasp", "done"), "mass": ("place", "done")}

    @property
    def known_name(self) -> str:
        return next(name for name, (_, preset) in TASKS.items() if preset == self.implied)

    @property
    def implied(self) -> dict[str, Any]:
        return {"place_by": self.place_by}

    def classes_of(self, theta: Ints) -> tuple[Ints, Ints]:
        return theta * self.sides // self.modes, theta * self.slots // self.modes

    def build_steps(self) -> list[Step]:
        return self.carried_steps([Step("scan", "hover", probe="theta")] * _SCAN)


@dataclass(frozen=True)
class HiddenMass(_Displayed):
    """The display shows one of M masses, which no action depends on; the slot is displayed late (Task A)."""

    name = "hidden-mass"
    sags = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        least = _bits(self.slots)
        self.require(self.gap >= least, "gap", f"{self.gap} steps leave no time to display the slot; give {least}")

    @property
    def hidden(self) -> dict[str, int]:
        return {"mass": self.modes, "slot": self.slots}

    @property
    def levels(self) -> dict[str, int]:
        return {"side": 1, "slot": 4}

    @property
    def gate(self) -> TaskGate:
        """The slot at use alone: class-specific sufficiency."""
        return TaskGate("slot at use", (), ("slot",))

    @property
    def questions(self) -> tuple[Question, ...]:
        return tuple(Question(name) for name in ("mass", "slot", "hover", "distractor"))

    @property
    def shown(self) -> dict[str, tuple[str, ...]]:
        """The load is felt as soon as it is lifted, and shifts a little as it is let go."""
        return {"mass": ("grasp", "done")}

    @property
    def sag_steps(self) -> tuple[int, ...]:
        """By convention, while waiting with the load and while placing."""
        return (*self.phase_steps("gap2"), *self.phase_steps("place"))

    def choices(self, latents: Latents) -> dict[str, Ints]:
        mass = latents["mass"]
        return {"side": np.zeros_like(mass), "slot": latents["slot"], "sag": mass * 2 // self.modes}

    def masses(self, latents: Latents) -> np.ndarray:
        return np.interp(latents["mass"], (0, self.modes - 1), _HEAVY)

    def build_steps(self) -> list[Step]:
        late = serial("gap2", "carry", "slot", _bits(self.slots), closing=True)
        return self.carried_steps(serial("scan", "hover", "mass", _bits(self.modes)), late)


@dataclass(frozen=True)
class Weighing(FrankaTask):
    """Nothing is displayed: the arm lifts the object, feels its mass, puts it back, waits, and acts on the mass."""

    name = "weighing"
    sags = len(_WEIGHTS)

    gap: int = 6
    """Steps between weighing and grasp."""
    hold: int = 4
    """Steps for which the object is held aloft."""
    no_fixture: bool = False
    """Positive control: leave the object where the loaded arm put it instead of re-seating it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.gap >= 1, "gap", f"{self.gap} steps are not a gap; give at least 1")
        self.require(self.hold >= 1, "hold", f"{self.hold} steps are not a hold; give at least 1")

    @property
    def hidden(self) -> dict[str, int]:
        return {"mass": len(_WEIGHTS)}

    @property
    def levels(self) -> dict[str, int]:
        return {"side": len(_WEIGHTS), "slot": 2}

    @property
    def stratified(self) -> bool:
        return True

    @property
    def gate(self) -> TaskGate:
        """The first gap and the grasp; the load reveals the slot again before it is decided."""
        return TaskGate("weighing", ("gap1",), ("side",))

    @property
    def questions(self) -> tuple[Question, ...]:
        return (Question("mass"),)

    @property
    def reseat_step(self) -> int | None:
        return None if self.no_fixture else self.phase_steps("scan")[-1]

    @property
    def sag_steps(self) -> tuple[int, ...]:
        """While the load hangs and has settled: not yet when a slow lift begins, nor on the way down."""
        moves = [(step.closing, step.target) for step in self.steps]
        weighed = range(moves.index((True, "hover")) + 2, moves.index((True, "back")) + 1)
        return (*weighed, *range(self.phase_steps("gap2")[0] - 1, moves.index((True, "low")) + 1))

    def choices(self, latents: Latents) -> dict[str, Ints]:
        mass = latents["mass"]
        return {"side": mass, "slot": mass // 2, "sag": mass}

    def masses(self, latents: Latents) -> np.ndarray:
        return np.array(_WEIGHTS)[latents["mass"]]

    def build_steps(self) -> list[Step]:
        waits = [Step("gap1", "hover")] * self.gap
        carried = [Step("gap2", "carry", closing=True)] * _CARRY
        return [*approach(), *weigh(self.hold), *waits, *grasp(), *carried, *place()]


def _bits(levels: int) -> int:
    return (levels - 1).bit_length()


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
