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
from diacritic.tasks.franka import convention, layout
from diacritic.tasks.franka.quaternions import rotated
from diacritic.tasks.franka.timeline import Step
from diacritic.tasks.protocol import Batch, Floats, Ints, Latents, Question, Task
from diacritic.tasks.strata import stratified

_DISTRACTORS = 4
_MANY = 128  # hidden values, from which on independent draws would miss some,
_FEW = 8  # as they would with fewer episodes of each


@dataclass(frozen=True)
class FrankaTask(Task):
    """What all tasks share. A parameter that cannot be is refused when the task is made."""

    version = 2
    packages = ("mujoco", "numpy")
    channels = layout.CHANNELS[: layout.WIDTH]
    camera_channels = layout.BESIDE_FRAMES
    action_names = layout.ACTIONS
    acting_phases = ("grasp", "place")
    independent_classes: ClassVar[bool] = False
    """Whether side and slot are independent; elsewhere one is nested in the other."""
    sags: ClassVar[int] = 1
    """Number of classes of mass that the load shows; 1 where it shows none."""
    analog = False
    """Whether a whole number is displayed as one value from 0 to 1 instead of in binary."""
    leak = 0.0
    """Millimetres by which the observed in-hand height reveals the slot class in the second gap."""

    jitter: float = 0.02
    """Half width in metres of the uniform jitter of the object's place in x and y; 0 for none."""
    no_noise: bool = False
    """Positive control: observe without sensor noise."""

    def __post_init__(self) -> None:
        self.require(0 <= self.jitter <= 0.02, "jitter", f"{self.jitter} m is outside 0…0.02")

    @property
    @abstractmethod
    def hidden(self) -> dict[str, int]:
        """Hidden values on which a symbol may depend, and their number of levels."""

    @property
    def latents(self) -> dict[str, int]:
        """The same, with the distractor's place and the coin that the expert tosses at its first action."""
        return {**self.hidden, "distractor": _DISTRACTORS, "hover": 2}

    @property
    @abstractmethod
    def levels(self) -> dict[str, int]:
        """What the expert acts on: 1, 2 or 4 sides of the grasp, and 2, 4 or 8 slots."""

    @property
    def sides(self) -> int:
        return self.levels["side"]

    @property
    def slots(self) -> int:
        return self.levels["slot"]

    @abstractmethod
    def masses(self, latents: Latents) -> np.ndarray:
        """Mass of each object in kilograms."""

    @abstractmethod
    def build_steps(self) -> list[Step]:
        """The timeline."""

    @property
    def physical(self) -> bool:
        """Whether friction holds the object; otherwise it is attached without contact and weighs nothing."""
        return self.sags > 1

    @property
    def stratified(self) -> bool:
        """Whether recordings hold every hidden value equally often."""
        return max(self.hidden.values()) >= _MANY

    @property
    def least_episodes(self) -> int:
        """The authors' numbers."""
        return 1024 if self.stratified else 512

    @property
    def reseat_step(self) -> int | None:
        """The step in which a fixture returns the object to its spawn pose."""
        return None

    @property
    def shown(self) -> dict[str, tuple[str, ...]]:
        """Hidden values that phases show in part, outside the convention."""
        return {}

    @property
    def sag_steps(self) -> tuple[int, ...]:
        """The steps at which the load shows its class."""
        return ()

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The timeline: one entry per decision."""
        return tuple(self.build_steps())

    @property
    def phases(self) -> tuple[str, ...]:
        return tuple(step.phase for step in self.steps)

    @property
    def windows(self) -> dict[str, range]:
        return {gap: self.phase_steps(gap) for gap in ("gap1", "gap2")}

    @property
    def decisions(self) -> dict[str, int]:
        first = {step.decides: t for t, step in reversed(list(enumerate(self.steps)))}
        return {name: first[name] for name, count in self.levels.items() if count > 1}

    @property
    def reveals(self) -> tuple[int, ...]:
        """The steps with a lit display; where nothing is displayed, those of the scan that show a load."""
        lit = tuple(t for t, step in enumerate(self.steps) if step.probe is not None)
        return lit or tuple(t for t in self.phase_steps("scan") if t in self.sag_steps)

    @property
    def handover(self) -> str | None:
        """The first gap, where nothing is displayed."""
        return "gap1" if all(step.probe is None for step in self.steps) else None

    @property
    def convention(self) -> Convention:
        return convention.convention(self)

    @property
    def questions(self) -> tuple[Question, ...]:
        """The two classes given each other, the mode, and every nuisance."""
        nuisances = ("x quartile", "y quartile", "hover", "distractor", "mass")
        classes = (Question("side", ("slot",)), Question("slot", ("side",)))
        return (*classes, Question("theta"), *(Question(name, ("slot",)) for name in nuisances))

    def count(self, choice: str) -> int:
        """Number of values of `side`, `slot` or `sag`."""
        return {**self.levels, "sag": self.sags}[choice]

    def shows(self, choice: str) -> tuple[int, ...]:
        """Steps at which the pose, or the load, shows a class by design: the arm left for the side and is not back yet,
        or it has left for the slot."""
        if choice == "sag":
            return self.sag_steps
        if choice == "slot":
            return tuple(range(self.phase_steps("place")[1], self.horizon))
        first = self.phase_steps("grasp")[0]
        return tuple(range(first + 1, first + 4))

    def displayed(self, t: int, latents: Latents) -> Ints:
        """The bit or number on the display at step t, −1 where it is dark."""
        step = self.steps[t] if t < self.horizon else None
        if step is None or step.probe is None:
            return np.full(len(next(iter(latents.values()))), -1)
        choices = self.choices(latents)
        number = latents[step.probe] if step.probe in latents else choices["side"] + self.sides * choices["slot"]
        return number if step.bit is None else number >> step.bit & 1

    def draw(self, episodes: int, seed: int) -> Latents:
        """Independent draws; the hidden values of a stratified task, or of few episodes, go in rounds through all."""
        random = np.random.default_rng(seed)
        drawn = {name: random.integers(size, size=episodes) for name, size in self.latents.items()}
        if self.stratified or episodes < _FEW * max(self.hidden.values()):
            order = random.permutation(episodes)
            drawn |= {name: values[order] for name, values in stratified(self.hidden, episodes, seed).items()}
        return {name: values.astype(np.int32) for name, values in drawn.items()}

    def symbolic_action(self, t: int, choices: Mapping[str, int]) -> str:
        """The expert's action as a symbol, which names the class on which it depends, or the coin."""
        step = self.steps[t]
        if step.target == "home":
            return f"hover={choices['hover']}"
        if step.decides is None or self.count(step.decides) == 1:
            return "move"
        return f"{step.phase} {step.decides}={choices[step.decides]}"

    def symbolic_observation(self, t: int, latents: Mapping[str, int]) -> str:
        """What the convention credits to the observation by design: phase, display, visible classes."""
        hidden = {name: np.array([value]) for name, value in latents.items()}
        choices, shown = self.choices(hidden), int(self.displayed(t, hidden)[0])
        parts = [self.steps[t].phase, *([f"probe={shown}"] if shown >= 0 else [])]
        seen = [name for name in ("side", "slot", "sag") if self.count(name) > 1 and t in self.shows(name)]
        return " ".join([*parts, *(f"{name}={choices[name][0]}" for name in seen)])

    def hidden_labels(self, observations: Floats) -> dict[str, Ints]:
        """The quartiles of the object's first place, where it varies."""
        spawn = dict(zip("xy", self.initial_state(observations).T, strict=False))
        return {f"{axis} quartile": _quartile(values) for axis, values in spawn.items() if np.ptp(values)}

    def initial_state(self, observations: Floats) -> Floats:
        """The object's place [N, 3] in metres before the arm touches it: its mean over the steps before the scan."""
        first = observations[: self.phase_steps("scan")[0]].astype(np.float64)
        apart = first[..., layout.SLICES["object position"]]
        turn = first[..., layout.SLICES["tool orientation"]]
        turn = turn / np.linalg.norm(turn, axis=-1, keepdims=True)
        return (first[..., layout.SLICES["tool position"]] + rotated(turn, apart)).mean(0)

    def executable(self, wanted: Floats) -> NDArray[np.float32]:
        return layout.executable(wanted)

    def action_error(self, executed: Floats, expert: Floats) -> Floats:
        return 100 * np.linalg.norm(executed[..., :3] - expert[..., :3], axis=-1)

    def batch(self, episodes: int, seed: int = 0, policies: int = 1, threads: int = 0, processes: int = 1) -> Batch:
        from diacritic.tasks.franka.batch import FrankaBatch  # needs the simulator

        return FrankaBatch(self, episodes, seed, threads, policies, processes)


def _quartile(values: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.searchsorted(np.quantile(values, (0.25, 0.5, 0.75)), values, side="right").astype(np.int64)
