"""A recording that is its own task: everything that is judged follows from its episodes, and nothing can be played."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from certify import Model
from certify.core.rates import conditional_rate
from certify.core.requirement import Requirement
from certify.errors import UserError
from diacritic.files.convention import Convention
from diacritic.files.demos import Demos
from diacritic.tasks.protocol import Batch, Demonstration, Floats, Ints, Latents, Question, Simulation, TaskGate

NO_SIMULATOR = "this recording has no simulator: register a task to roll out"
POSITIVE = 1e-9  # bits; a requirement below is none


def required_spans(bits: Sequence[float | None]) -> dict[str, range]:
    """The stretches of steps with R_t > 0, or not proved to be 0, named by their steps counted from 1."""
    spans: list[list[int]] = []
    for t, required in enumerate(bits):
        if required is None or required > POSITIVE:
            if spans and spans[-1][-1] == t - 1:
                spans[-1].append(t)
            else:
                spans.append([t])
    return {f"steps {span[0] + 1}–{span[-1] + 1}": range(span[0], span[-1] + 1) for span in spans}


def decision_steps(bits: Sequence[float]) -> dict[str, int]:
    """Every step with H(G_t|Ō_t) > 0, named by its number counted from 1."""
    return {f"step {t + 1}": t for t, present in enumerate(bits) if present > POSITIVE}


def require_labels(demos: Demos) -> None:
    """Refuse a recording without symbols or choices, from which alone a requirement follows."""
    for name, meaning in (("symbols", "what counts as seen"), ("choices", "what the expert did")):
        if not getattr(demos, name).size:
            raise UserError(demos.task, f"has no {name} ({meaning}), so nothing can be required; give {name} [T, N]")


def decision_class(demos: Demos, name: str, step: int) -> Ints:
    """Of every episode the class that a decision depends on: a hidden value of that name, or what the expert chose."""
    return demos.latents[name] if name in demos.latents else demos.choices[step]


@dataclass(frozen=True, eq=False)
class RecordedTask:
    """The `Task` of a recording that no registered task made; windows and decisions are those of its certificate."""

    demos: Demos

    def __post_init__(self) -> None:
        require_labels(self.demos)
        if self.demos.mask is not None and not self.demos.mask.all():
            remedy = "cut them to one length, or pad them with a symbol and a choice of its own and leave out the mask"
            raise UserError(self.demos.task, f"has episodes of unequal length, which cannot be learned from; {remedy}")

    @cached_property
    def _bits(self) -> tuple[list[float | None], list[float]]:
        """R_t and H(G_t|Ō_t) of every step, each episode counted once."""
        model = Model.from_arrays(self.demos.symbols.T, self.demos.choices.T, empirical=True)
        present = [conditional_rate(level, level.law) for level in model.graph.levels]
        return list(Requirement.of(model).bits), present

    @property
    def name(self) -> str:
        """That of the recording."""
        return self.demos.task

    @property
    def version(self) -> int:
        """That of the recording."""
        return self.demos.task_version

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Those of the recording."""
        return dict(self.demos.parameters)

    @property
    def title(self) -> str:
        """The name with all parameters."""
        return " ".join([self.name, *(f"{key}={value}" for key, value in self.parameters.items())])

    @property
    def least_episodes(self) -> int:
        """All that were recorded."""
        return self.demos.episodes

    @property
    def packages(self) -> Sequence[str]:
        """None decide a recording that exists."""
        return ()

    @property
    def channels(self) -> Sequence[str]:
        """Numbers: nobody named them."""
        return tuple(map(str, range(self.demos.observations.shape[2])))

    @property
    def camera_channels(self) -> Sequence[int]:
        """All of them."""
        return range(self.demos.observations.shape[2])

    @property
    def action_names(self) -> Sequence[str]:
        """Numbers: nobody named them."""
        return tuple(map(str, range(self.demos.actions.shape[-1])))

    @property
    def horizon(self) -> int:
        """The recorded steps."""
        return self.demos.steps

    @property
    def phases(self) -> Sequence[str]:
        """Those of the first episode."""
        return tuple(self.demos.convention.phases[number] for number in self.demos.phase[:, 0].tolist())

    @property
    def acting_phases(self) -> Sequence[str]:
        """None are known."""
        return ()

    @property
    def windows(self) -> Mapping[str, range]:
        """The stretches in which memory is required."""
        return required_spans(self._bits[0])

    @property
    def decisions(self) -> Mapping[str, int]:
        """The steps at which the observation alone does not decide the expert's choice."""
        return decision_steps(self._bits[1])

    @property
    def levels(self) -> Mapping[str, int]:
        """How many choices the expert has at each decision."""
        return {name: len(np.unique(self.demos.choices[t])) for name, t in self.decisions.items()}

    @property
    def latents(self) -> Mapping[str, int]:
        """Recorded hidden values."""
        return {name: int(values.max()) + 1 for name, values in self.demos.latents.items()}

    @property
    def reveals(self) -> Sequence[int]:
        """The steps after which more is required than before; the first where that never happens."""
        bits = [required or 0.0 for required in self._bits[0]]
        return [t for t in range(len(bits) - 1) if bits[t + 1] > bits[t] + POSITIVE] or [0]

    @property
    def handover(self) -> str | None:
        """None: nothing is played."""
        return None

    @property
    def gate(self) -> TaskGate:
        """Every window and every decision."""
        return TaskGate("full", tuple(self.windows), tuple(self.decisions))

    @property
    def convention(self) -> Convention:
        """That of the recording."""
        return self.demos.convention

    @property
    def questions(self) -> Sequence[Question]:
        """Every recorded hidden value is asked about."""
        return ()

    def choices(self, latents: Latents) -> dict[str, Ints]:
        """None follow from hidden values; see `decision_class`."""
        return {}

    def symbolic_actions(self, latents: Latents) -> tuple[NDArray[np.int32], tuple[str, ...]]:
        """Refused: only recorded episodes are known."""
        self._refuse()

    def symbolic_observations(self, latents: Latents) -> tuple[NDArray[np.int32], tuple[str, ...]]:
        """Refused: only recorded episodes are known."""
        self._refuse()

    def displayed(self, t: int, latents: Latents) -> Ints:
        """Refused: only recorded episodes are known."""
        self._refuse()

    def hidden_labels(self, observations: Floats) -> dict[str, Ints]:
        """None besides the latents."""
        return {}

    def initial_state(self, observations: Floats) -> Floats:
        """The first observation."""
        return observations[0]

    def executable(self, wanted: Floats) -> NDArray[np.float32]:
        """Refused: there is no body."""
        self._refuse()

    def action_error(self, executed: Floats, expert: Floats) -> Floats:
        """Refused: there is no body."""
        self._refuse()

    def draw(self, episodes: int, seed: int) -> Latents:
        """Refused: nothing can be played with them."""
        self._refuse()

    def demonstrate(
        self,
        latents: Latents,
        seed: int,
        simulation: Simulation = Simulation(),  # noqa: B008 (frozen)
    ) -> Demonstration:
        """Refused: there is no expert to ask."""
        self._refuse()

    def batch(self, episodes: int, seed: int = 0, policies: int = 1, threads: int = 0, processes: int = 1) -> Batch:
        """Refused: there is no simulator."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise UserError(self.name, NO_SIMULATOR)
