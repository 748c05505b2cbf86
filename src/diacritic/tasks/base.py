"""What simulated tasks have in common, so that a new one states only what is its own."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from certify.errors import UserError
from diacritic.files.convention import Convention
from diacritic.tasks.protocol import (
    Batch,
    Demonstration,
    Floats,
    Ints,
    Latents,
    Question,
    Simulation,
    TaskGate,
    numbered,
    play_expert,
)
from diacritic.tasks.strata import stratified

Made = TypeVar("Made")


class SimulatedTask(ABC):
    """A base of `Task` for frozen dataclasses whose fields are their parameters; usual answers can be overridden."""

    name = ""
    version = 1
    packages: Sequence[str] = ("numpy",)
    channels: Sequence[str] = ()
    camera_channels: Sequence[int] = ()
    action_names: Sequence[str] = ()
    acting_phases: Sequence[str] = ()

    @property
    @abstractmethod
    def phases(self) -> Sequence[str]:
        """The phase of each step."""

    @property
    @abstractmethod
    def windows(self) -> Mapping[str, range]:
        """The waiting gaps, in order."""

    @property
    @abstractmethod
    def levels(self) -> Mapping[str, int]:
        """The classes on which the expert acts, and how many values each has."""

    @property
    @abstractmethod
    def decisions(self) -> Mapping[str, int]:
        """First step at which the expert's action depends on a class that has more than one value."""

    @property
    @abstractmethod
    def latents(self) -> Mapping[str, int]:
        """Hidden values and their number of levels."""

    @property
    @abstractmethod
    def reveals(self) -> Sequence[int]:
        """The steps at which what is hidden is revealed."""

    @property
    @abstractmethod
    def convention(self) -> Convention:
        """What of the observation counts as seen."""

    @abstractmethod
    def choices(self, latents: Latents) -> dict[str, Ints]:
        """The classes on which the expert acts."""

    @abstractmethod
    def symbolic_action(self, t: int, choices: Mapping[str, int]) -> str:
        """The expert's action as a symbol, which names the class on which it depends."""

    @abstractmethod
    def symbolic_observation(self, t: int, latents: Mapping[str, int]) -> str:
        """What step t shows by design."""

    @abstractmethod
    def displayed(self, t: int, latents: Latents) -> Ints:
        """The number that is shown at step t, −1 where nothing is."""

    @abstractmethod
    def initial_state(self, observations: Floats) -> Floats:
        """Where the things that an episode meets stand at its start."""

    @abstractmethod
    def executable(self, wanted: Floats) -> NDArray[np.float32]:
        """The action that the body takes when a policy wants this one."""

    @abstractmethod
    def action_error(self, executed: Floats, expert: Floats) -> Floats:
        """How far apart two actions lead, in centimetres."""

    @abstractmethod
    def batch(self, episodes: int, seed: int = 0, policies: int = 1, threads: int = 0, processes: int = 1) -> Batch:
        """Episodes to be played."""

    def require(self, holds: bool, field: str, reason: str) -> None:
        """Refuse an impossible parameter in one line."""
        if not holds:
            raise UserError(f"{self.name}.{field}", reason)

    @property
    def parameters(self) -> dict[str, Any]:
        """The fields as plain values, for a manifest."""
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
        """Steps of one phase; empty where the task has none."""
        phases = list(self.phases)
        first = phases.index(phase) if phase in phases else 0
        return range(first, first + phases.count(phase))

    @property
    def gate(self) -> TaskGate:
        """Every window and every decision."""
        return TaskGate("full", tuple(self.windows), tuple(self.decisions))

    @property
    def handover(self) -> str | None:
        """None: what is hidden is displayed."""
        return None

    @property
    def questions(self) -> Sequence[Question]:
        """None in particular: every hidden value is asked about."""
        return ()

    def draw(self, episodes: int, seed: int) -> Latents:
        """Hidden values of so many episodes, balanced."""
        convention = self.convention
        return stratified(convention.strata, episodes, seed, {**convention.nuisances, **convention.coins})

    @property
    def frames_late(self) -> bool:
        """Whether a camera frame is taken after its step instead of before it."""
        return False

    def hidden_labels(self, observations: Floats) -> dict[str, Ints]:
        """None besides the latents."""
        return {}

    def symbolic_actions(self, latents: Latents) -> tuple[NDArray[np.int32], tuple[str, ...]]:
        """The expert's symbolic actions [T, N] and their names: equal where classes and coins are equal."""
        choices = self.choices(latents)
        tossed = {name: latents[name] for name in self.convention.coins}
        rows, which = _distinct({**tossed, **{name: choices[name] for name in self.levels}})
        table, names = numbered([[self.symbolic_action(t, row) for row in rows] for t in range(self.horizon)])
        return table[:, which], names

    def symbolic_observations(self, latents: Latents) -> tuple[NDArray[np.int32], tuple[str, ...]]:
        """What every step shows by design, [T, N], and the names."""
        rows, which = _distinct(latents)
        table, names = numbered([[self.symbolic_observation(t, row) for row in rows] for t in range(self.horizon)])
        return table[:, which], names

    def demonstrate(
        self,
        latents: Latents,
        seed: int,
        simulation: Simulation = Simulation(),  # noqa: B008 (frozen)
    ) -> Demonstration:
        """The expert plays one episode for each configuration."""
        count = len(next(iter(latents.values())))
        batch = self.batch(count, seed, threads=simulation.threads, processes=simulation.processes)
        try:
            return play_expert(self, batch, latents, simulation.frames, self.frames_late)
        finally:
            batch.close()


def from_parameters(kind: Callable[..., Made], name: str, parameters: Mapping[str, Any]) -> Made:
    """A dataclass of a task with its parameters; one that it does not have is refused by name."""
    there = getattr(kind, "__dataclass_fields__", {})
    for field in parameters:
        if field not in there:
            raise UserError(f"{name}.{field}", f"no such parameter; there are {', '.join(sorted(there))}")
    return kind(**parameters)


def _distinct(values: Latents) -> tuple[list[dict[str, int]], NDArray[np.int64]]:
    """The different rows of some labels, and of each episode which of them it has."""
    table, which = np.unique(np.stack(list(values.values())), axis=1, return_inverse=True)
    return [dict(zip(values, row, strict=True)) for row in table.T.tolist()], which.reshape(-1)
