"""Recording: batches of scripted episodes, stratified over what is hidden, symbolised by the frozen convention."""

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from certify.errors import UserError
from certify.progress import track
from diacritic._version import __version__
from diacritic.demos.binner import Binner
from diacritic.files.convention import Convention
from diacritic.files.demos import Demos
from diacritic.tasks.protocol import Demonstration, Latents, Simulation


class Recordable(Protocol):
    """The part of a task that recording needs: `demonstrate` plays the expert once for each latent configuration."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def parameters(self) -> Mapping[str, Any]: ...
    @property
    def packages(self) -> Sequence[str]: ...
    @property
    def convention(self) -> Convention: ...
    def draw(self, episodes: int, seed: int) -> Latents: ...
    def demonstrate(self, latents: Latents, seed: int, simulation: Simulation = ...) -> Demonstration: ...
    def symbolic_actions(self, latents: Latents) -> tuple[NDArray[np.int32], tuple[str, ...]]: ...


def record(
    task: Recordable,
    episodes: int,
    seed: int = 0,
    batch: int = 64,
    simulation: Simulation = Simulation(),  # noqa: B008 (frozen)
) -> tuple[Demos, Binner]:
    """Record `episodes` demonstrations and fit the binner to them; the same seed gives the same recording."""
    for name, count in (("batch", batch), ("episodes", episodes)):
        if count < 1:
            raise UserError(name, f"expected at least one episode, not {count}")
    if seed < 0:
        raise UserError("seed", f"{seed} is negative; give 0 or more")
    latents = task.draw(episodes, seed)
    parts: list[Demonstration] = []
    for first in track(range(0, episodes, batch), f"recording {task.name}"):
        chosen = {name: values[first : first + batch] for name, values in latents.items()}
        parts.append(task.demonstrate(chosen, _seed(seed, first // batch), simulation))
    return assemble(task, seed, joined(parts))


def assemble(task: Recordable, seed: int, raw: Demonstration) -> tuple[Demos, Binner]:
    """Fit the binner, and give every step its symbol Ō_t and its symbolic action."""
    convention = task.convention
    binner = Binner.fit(convention, raw.observations, raw.latents)
    choices, choice_names = task.symbolic_actions(raw.latents)
    demos = Demos(
        task=task.name,
        parameters=dict(task.parameters),
        seed=seed,
        convention=convention,
        observations=raw.observations,
        actions=raw.actions,
        phase=raw.phase,
        symbols=binner.symbols(raw.observations, raw.latents),
        symbol_names=binner.names,
        choices=choices,
        choice_names=choice_names,
        latents=dict(raw.latents),
        success=raw.success,
        frames=raw.frames,
        versions={"diacritic": __version__, "python": platform.python_version()}
        | {name: version(name) for name in task.packages},
        task_version=task.version,
    )
    return demos, binner


def joined(parts: list[Demonstration]) -> Demonstration:
    """Batches side by side."""
    first, *others = parts
    if any(part.latents.keys() != first.latents.keys() for part in others):
        raise UserError("latents", "the batches recorded different latents")
    frames = [part.frames for part in parts if part.frames is not None]
    stepwise = ("observations", "actions", "phase")
    return Demonstration(
        **{name: np.concatenate([getattr(part, name) for part in parts], axis=1) for name in stepwise},
        latents={name: np.concatenate([part.latents[name] for part in parts]) for name in first.latents},
        success=np.concatenate([part.success for part in parts]),
        frames=np.concatenate(frames, axis=1) if frames else None,
    )


def _seed(seed: int, batch: int) -> int:
    """A seed of its own for each batch."""
    return int(np.random.SeedSequence([seed, batch]).generate_state(1)[0])
