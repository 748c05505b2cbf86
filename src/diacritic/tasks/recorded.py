"""A recording that is its own task: everything that is judged follows from its episodes, and nothing can be played."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any, NoReturn

import numpy as np

from certify import Model
from certify.core.rates import conditional_rate
from certify.core.requirement import Requirement
from certify.errors import UserError
from diacritic.files.convention import Convention
from diacritic.files.demos import Demos
from diacritic.tasks.protocol import Floats, Ints, Latents, Task

NO_SIMULATOR = "this recording has no simulator: register a task to roll out"
POSITIVE = 1e-9  # bits; a requirement below is none


def required_spans(bits: Sequence[float | None]) -> dict[str, range]:
    """The stretches of steps with R_t > 0, or not proved to be 0, named by their steps counted from 1."""
    needed = [t for t, required in enumerate(bits) if required is None or required > POSITIVE]
    spans = [[t for _, t in run] for _, run in groupby(enumerate(needed), lambda pair: pair[1] - pair[0])]
    return {f"steps {span[0] + 1}–{span[-1] + 1}": range(span[0], span[-1] + 1) for span in spans}


def decision_steps(bits: Sequence[float]) -> dict[str, int]:
    """Every step with H(G_t|Ō_t) > 0, named by its number counted from 1."""
    return {f"step {t + 1}": t for t, present in enumerate(bits) if present > POSITIVE}


def require_labels(demos: Demos) -> None:
    """Refuse a recording without symbols or choices, from which alone a requirement follows."""
    for name, meaning in (("symbols", "what counts as seen"), ("choices", "what the expert did")):
        if not getattr(demos, name).size:
            raise UserError(demos.task, f"has no {name} ({meaning}), so nothing can be required; give {name} [T, N]")


def ended(demos: Demos) -> Demos:
    """Beyond the end of a shorter episode a symbol and a choice of their own, so that nothing is required there."""
    if demos.mask is None or demos.mask.all():
        return demos
    kinds = (("symbols", "symbol_names"), ("choices", "choice_names"))
    arrays = {
        key: np.where(demos.mask, getattr(demos, key), len(getattr(demos, names))).astype(getattr(demos, key).dtype)
        for key, names in kinds
    }
    named = {names: (*getattr(demos, names), "ended") for _, names in kinds}
    clean = {key: np.where(np.isfinite(x := getattr(demos, key)), x, 0) for key in ("observations", "actions")}
    return replace(demos, **arrays, **named, **clean)


def decision_class(demos: Demos, name: str, step: int) -> Ints:
    """Of every episode the class that a decision depends on: a hidden value of that name, or what the expert chose."""
    return demos.latents[name] if name in demos.latents else demos.choices[step]


@dataclass(frozen=True, eq=False)
class RecordedTask(Task):
    """The `Task` of a recording that no registered task made; windows and decisions are those of its certificate."""

    demos: Demos

    def __post_init__(self) -> None:
        demos = self.demos
        require_labels(demos)
        object.__setattr__(self, "demos", ended(demos))
        seen, done = (range(values.shape[-1]) for values in (demos.observations, demos.actions))
        # nobody named the channels: they have numbers
        named = {"channels": tuple(map(str, seen)), "camera_channels": seen, "action_names": tuple(map(str, done))}
        for name, value in {"name": demos.task, "version": demos.task_version, "packages": (), **named}.items():
            object.__setattr__(self, name, value)

    @cached_property
    def _bits(self) -> tuple[list[float | None], list[float]]:
        """R_t and H(G_t|Ō_t) of every step, each episode counted once."""
        model = Model.from_arrays(self.demos.symbols.T, self.demos.choices.T, empirical=True)
        present = [conditional_rate(level, level.law) for level in model.graph.levels]
        return list(Requirement.of(model).bits), present

    @property
    def parameters(self) -> dict[str, Any]:
        return dict(self.demos.parameters)

    @property
    def title(self) -> str:
        return " ".join([self.name, *(f"{key}={value}" for key, value in self.parameters.items())])

    @property
    def least_episodes(self) -> int:
        return self.demos.episodes

    @property
    def phases(self) -> Sequence[str]:
        """Those of the first episode."""
        return tuple(self.demos.convention.phases[number] for number in self.demos.phase[:, 0].tolist())

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
        return {name: int(values.max()) + 1 for name, values in self.demos.latents.items()}

    @property
    def reveals(self) -> Sequence[int]:
        """The steps after which more is required than before; the first where that never happens."""
        bits = [required or 0.0 for required in self._bits[0]]
        return [t for t in range(len(bits) - 1) if bits[t + 1] > bits[t] + POSITIVE] or [0]

    @property
    def convention(self) -> Convention:
        return self.demos.convention

    def choices(self, latents: Latents) -> dict[str, Ints]:
        """None follow from hidden values; see `decision_class`."""
        return {}

    def initial_state(self, observations: Floats) -> Floats:
        return observations[0]

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise UserError(self.name, NO_SIMULATOR)

    # only recorded episodes are known: there is no body, no expert to ask and no simulator
    symbolic_action = symbolic_observation = symbolic_actions = symbolic_observations = displayed = _refuse
    executable = action_error = draw = demonstrate = batch = _refuse
