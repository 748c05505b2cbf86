"""The Task interface: a task with its own physics that is recorded, learned from, played in closed loop and judged.

Everything above this room is written against `Task` and `Batch`. A task declares data (channels, phases, windows,
decisions, classes, gate) and simulates many episodes at once. Steps count from 0.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from certify.errors import UserError
from diacritic.files.convention import Convention
from diacritic.tasks.strata import stratified

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.integer[Any]]
Frames = NDArray[np.uint8]
Latents = Mapping[str, Ints]  # name → one integer per episode
Made = TypeVar("Made")
SYMBOL = "symbol"  # the name of Ō_t among what is given


@dataclass(frozen=True)
class TaskGate:
    """How a run on the task is judged: S_Γ in these windows and S_G at these decisions."""

    name: str
    windows: tuple[str, ...]
    decisions: tuple[str, ...]
    averaged: bool = False
    """Whether the mean over a window counts, rather than its least score."""


@dataclass(frozen=True)
class Question:
    """A content measurement I(C; about | given): names of hidden values, and `symbol` for Ō_t."""

    about: str
    given: tuple[str, ...] = (SYMBOL,)

    @property
    def title(self) -> str:
        return f"I(C;{self.about}|{','.join(self.given)})"


@dataclass(frozen=True)
class Simulation:
    """How episodes are simulated; none of it changes a number, except that frames are taken or not."""

    threads: int = 0
    """Threads that simulate; 0 for one per core."""
    frames: bool = False
    """Take a camera frame at every step."""
    processes: int = 1
    """Processes that render."""


class Demonstration(NamedTuple):
    """A batch of expert episodes, time-major; the latents include the classes on which the expert acted."""

    observations: NDArray[np.float32]  # [T, N, channels]
    actions: NDArray[np.float32]  # [T, N, action names]
    phase: NDArray[np.uint8]  # [T, N], index into the phases of the convention
    latents: Mapping[str, NDArray[np.int32]]  # each [N]
    success: NDArray[np.bool_]  # [N]
    frames: Frames | None = None  # [T, N, 64, 64, 3]


class Batch(Protocol):
    """`policies` × `episodes` rows in lockstep; every policy meets the same episodes, and policies vary slowest."""

    @property
    def policies(self) -> int: ...
    @property
    def episodes(self) -> int: ...
    @property
    def t(self) -> int:
        """The present step; the horizon when the episodes are over."""
        ...

    @property
    def latents(self) -> Latents:
        """Hidden values of each row."""
        ...

    @property
    def choices(self) -> Latents:
        """The classes on which the expert acts, of each row."""
        ...

    def reset(self, latents: Mapping[str, Any] | None = None) -> Floats:
        """Begin the next episodes and observe [rows, channels]; hidden values that are not given are drawn.

        Given values are one for all, or one for each episode.
        """
        ...

    def step(self, actions: Floats) -> Floats:
        """Execute actions [rows, action names] and observe."""
        ...

    def expert(self) -> Floats:
        """The expert's actions in the present state, [rows, action names]."""
        ...

    def outcome(self) -> dict[str, NDArray[Any]]:
        """Of each row: `success`, and for every class whether it was decided correctly; more is allowed."""
        ...

    def decided(self) -> dict[str, Ints]:
        """Of each row and class: the value that the episode ended with, −1 where none was chosen yet."""
        ...

    def frames(self) -> Frames:
        """What a policy's camera sees, [rows, 64, 64, 3]; refused where the task has no camera."""
        ...

    def pose(self) -> Floats:
        """What a picture shows of each row, [rows, ·]; a mean of two neighbouring poses is a pose between them."""
        ...

    def picture(self, height: int, width: int, pose: Floats | None = None, shown: int = -1) -> Frames:
        """A pose for a film, [height, width, 3], and the number that is displayed (−1: none).

        Without a pose, the first row as it is; refused where the task cannot be drawn.
        """
        ...

    def close(self) -> None:
        """Release cameras and simulators."""
        ...


class Task(ABC):
    """A task with its own physics and a scripted expert: what it must say, and usual answers that it may override.

    A task is a frozen dataclass whose fields are its parameters.
    """

    name: str = ""
    """Under which the registry knows it."""
    version: int = 1
    packages: Sequence[str] = ("numpy",)
    """Packages whose versions decide a recording."""
    channels: Sequence[str] = ()
    """Names of the observation's numbers."""
    camera_channels: Sequence[int] = ()
    """The channels that a policy with camera frames still reads beside them."""
    action_names: Sequence[str] = ()
    acting_phases: Sequence[str] = ()
    """The phases in which the expert acts on a class: their rates are reported beside those of the windows."""

    @property
    @abstractmethod
    def phases(self) -> Sequence[str]:
        """The name of each step's phase."""

    @property
    @abstractmethod
    def windows(self) -> Mapping[str, range]:
        """The waiting gaps in which memory is looked at, in order."""

    @property
    @abstractmethod
    def levels(self) -> Mapping[str, int]:
        """The classes on which the expert acts, and how many values each has."""

    @property
    @abstractmethod
    def decisions(self) -> Mapping[str, int]:
        """The first step at which the expert's action depends on a class that has more than one value."""

    @property
    @abstractmethod
    def latents(self) -> Mapping[str, int]:
        """Hidden values that an episode draws, each uniform on its number of levels."""

    @property
    @abstractmethod
    def reveals(self) -> Sequence[int]:
        """The steps at which what is hidden is revealed, in order."""

    @property
    @abstractmethod
    def convention(self) -> Convention:
        """What of an observation counts as seen."""

    @abstractmethod
    def choices(self, latents: Latents) -> dict[str, Ints]:
        """The classes on which the expert acts, each [N], from hidden values."""

    @abstractmethod
    def symbolic_action(self, t: int, choices: Mapping[str, int]) -> str:
        """The expert's action as a symbol, which names the class on which it depends."""

    @abstractmethod
    def symbolic_observation(self, t: int, latents: Mapping[str, int]) -> str:
        """What step t shows by design."""

    @abstractmethod
    def displayed(self, t: int, latents: Latents) -> Ints:
        """The number that is shown at step t, [N]; −1 where nothing is."""

    @abstractmethod
    def initial_state(self, observations: Floats) -> Floats:
        """Where the things that an episode meets stand at its start, [N, axes], read from recorded observations."""

    @abstractmethod
    def executable(self, wanted: Floats) -> NDArray[np.float32]:
        """The action that the body takes when a policy wants this one, [..., action names]; never NaN."""

    @abstractmethod
    def action_error(self, executed: Floats, expert: Floats) -> Floats:
        """How far apart two actions lead, in centimetres, [...]."""

    @abstractmethod
    def batch(self, episodes: int, seed: int = 0, policies: int = 1, threads: int = 0, processes: int = 1) -> Batch:
        """Episodes to be played, on some threads, rendered by some processes; neither changes a number."""

    def require(self, holds: bool, field: str, reason: str) -> None:
        """Refuse an impossible parameter in one line."""
        if not holds:
            raise UserError(f"{self.name}.{field}", reason)

    @property
    def parameters(self) -> dict[str, Any]:
        """The fields as plain values, for a manifest; the registry makes an equal task from them."""
        fields: Any = self
        return asdict(fields)

    @property
    def known_name(self) -> str:
        """The name in the registry that implies the most parameters."""
        return self.name

    @property
    def implied(self) -> Mapping[str, Any]:
        """The parameters that `known_name` implies."""
        return {}

    @property
    def title(self) -> str:
        """The name with the parameters that differ from their defaults: `two-cues gap=20`."""
        usual, own = type(self)().parameters, self.parameters
        changed = {key: value for key, value in own.items() if key not in self.implied and value != usual[key]}
        return " ".join([self.known_name, *(f"{key}={value}" for key, value in changed.items())])

    @property
    def least_episodes(self) -> int:
        """How many episodes a recording of a study has at least."""
        return 1024

    @property
    def horizon(self) -> int:
        """Number T of decisions; an observation precedes each, and one follows the last."""
        return len(self.phases)

    def phase_steps(self, phase: str) -> range:
        """The steps of one phase; empty where the task has none."""
        steps = [t for t, name in enumerate(self.phases) if name == phase]
        return range(steps[0], steps[-1] + 1) if steps else range(0)

    @property
    def gate(self) -> TaskGate:
        """How a run is judged: by every window and every decision."""
        return TaskGate("full", tuple(self.windows), tuple(self.decisions))

    @property
    def handover(self) -> str | None:
        """The phase before which only the expert's own movements reveal what is hidden; None where displays do.

        A policy that imitates late can be judged from there on, with its memory watching before.
        """
        return None

    @property
    def questions(self) -> Sequence[Question]:
        """What codes are asked about, besides the requirement; none asks about every hidden value."""
        return ()

    def draw(self, episodes: int, seed: int) -> Latents:
        """Hidden values of so many episodes, balanced, as a recording draws them."""
        convention = self.convention
        return stratified(convention.strata, episodes, seed, {**convention.nuisances, **convention.coins})

    @property
    def frames_late(self) -> bool:
        """Whether a camera frame is taken after its step instead of before it."""
        return False

    def hidden_labels(self, observations: Floats) -> dict[str, Ints]:
        """Further hidden values, each [N], that are read from recorded observations [T, N, channels]."""
        return {}

    def symbolic_actions(self, latents: Latents) -> tuple[NDArray[np.int32], tuple[str, ...]]:
        """The expert's symbolic actions [T, N] and their names: equal where classes and coins are equal."""
        choices = self.choices(latents)
        tossed = {name: latents[name] for name in self.convention.coins}
        return self._symbols({**tossed, **{name: choices[name] for name in self.levels}}, self.symbolic_action)

    def symbolic_observations(self, latents: Latents) -> tuple[NDArray[np.int32], tuple[str, ...]]:
        """What each step is designed to show, in the same form; from it the requirement follows without recording."""
        return self._symbols(latents, self.symbolic_observation)

    def _symbols(
        self, values: Latents, symbol: Callable[[int, Mapping[str, int]], str]
    ) -> tuple[NDArray[np.int32], tuple[str, ...]]:
        """Symbols [T, N] as numbers in the order in which they first occur, and the table of names; each different row
        of the values is asked for once."""
        different, which = np.unique(np.stack(list(values.values())), axis=1, return_inverse=True)
        rows = [dict(zip(values, row, strict=True)) for row in different.T.tolist()]
        names: dict[str, int] = {}
        table = [[names.setdefault(symbol(t, row), len(names)) for row in rows] for t in range(self.horizon)]
        return np.array(table, np.int32)[:, which.reshape(-1)], tuple(names)

    def demonstrate(
        self,
        latents: Latents,
        seed: int,
        simulation: Simulation = Simulation(),  # noqa: B008 (frozen)
    ) -> Demonstration:
        """The expert plays one episode for each configuration of hidden values."""
        count = len(next(iter(latents.values())))
        batch = self.batch(count, seed, threads=simulation.threads, processes=simulation.processes)
        try:
            return play_expert(self, batch, latents, simulation.frames, self.frames_late)
        finally:
            batch.close()


def policy_view(task: Task, observations: Floats, frames: Frames | None) -> Floats:
    """What a policy reads as numbers: everything, or beside frames only the channels that its camera lacks."""
    return observations if frames is None else observations[..., list(task.camera_channels)]


def given_latents(task: Task, latents: Mapping[str, Any], rows: int) -> dict[str, NDArray[np.int64]]:
    """Hidden values as somebody gave them, spread over the rows of a batch; what cannot be is refused by name."""
    given = {}
    for name, values in latents.items():
        levels = task.latents.get(name)
        if levels is None:
            raise UserError(f"latents.{name}", f"no such hidden value; there are {', '.join(task.latents)}")
        array = np.asarray(values)
        if array.dtype.kind not in "iu" or array.ndim > 1 or array.size not in (1, rows):
            raise UserError(f"latents.{name}", f"expected one integer, or {rows} of them")
        if array.min() < 0 or array.max() >= levels:
            raise UserError(f"latents.{name}", f"values run from 0 to {levels - 1}")
        given[name] = np.broadcast_to(array.astype(np.int64).ravel(), rows).copy()
    return given


def play_expert(
    task: Task, batch: Batch, latents: Latents | None, frames: bool = False, late: bool = False
) -> Demonstration:
    """Let the expert play the next episodes of a batch; `late` takes each frame after the step instead of before it."""
    seen, observations, actions, pictures = batch.reset(latents), [], [], []
    for _ in range(task.horizon):
        observations.append(seen)
        actions.append(batch.expert().astype(np.float32))  # what is recorded is what is executed
        if frames and not late:
            pictures.append(batch.frames())
        seen = batch.step(actions[-1])
        if frames and late:
            pictures.append(batch.frames())
    order = task.convention.phases
    phase = np.array([order.index(name) for name in task.phases], np.uint8)
    hidden = {**batch.latents, **batch.choices}
    return Demonstration(
        np.stack(observations).astype(np.float32),
        np.stack(actions),
        np.repeat(phase[:, None], len(observations[0]), axis=1),
        {name: np.asarray(values, np.int32) for name, values in hidden.items()},
        batch.outcome()["success"],
        np.stack(pictures) if pictures else None,
    )


def from_parameters(kind: Callable[..., Made], name: str, parameters: Mapping[str, Any]) -> Made:
    """A dataclass of a task with its parameters; one that it does not have is refused by name."""
    there = getattr(kind, "__dataclass_fields__", {})
    for field in parameters:
        if field not in there:
            raise UserError(f"{name}.{field}", f"no such parameter; there are {', '.join(sorted(there))}")
    return kind(**parameters)
