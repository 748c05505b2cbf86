"""Recording: batches of scripted episodes, stratified over what is hidden, symbolised by the frozen convention."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from certify.errors import UserError
from certify.progress import track
from diacritic.demos.binner import Binner, Latents
from diacritic.demos.strata import stratified
from diacritic.files.convention import Convention
from diacritic.files.demos import Demos, Floats


class Raw(NamedTuple):
    """What a simulator gives of a batch of expert episodes, time-major."""

    observations: Floats  # [T, N, 27]
    actions: Floats  # [T, N, A]
    phase: NDArray[np.uint8]  # [T, N]
    latents: Latents  # each [N]
    success: NDArray[np.bool_]  # [N]
    frames: NDArray[np.uint8] | None = None  # [T, N, 64, 64, 3]


class Recordable(Protocol):
    """A task that can be demonstrated: `demonstrate` plays the expert once for each given latent configuration."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def parameters(self) -> Mapping[str, Any]: ...
    @property
    def versions(self) -> Mapping[str, str]: ...
    @property
    def convention(self) -> Convention: ...
    def demonstrate(self, latents: Latents, seed: int) -> Raw: ...
    def choices(self, latents: Latents) -> tuple[NDArray[np.int32], tuple[str, ...]]:
        """The expert's symbolic action at every step, [T, N], and the names of these actions."""
        ...


def record(task: Recordable, episodes: int, seed: int = 0, batch: int = 64) -> tuple[Demos, Binner]:
    """Record `episodes` demonstrations and fit the binner to them; the same seed gives the same recording."""
    if batch < 1:
        raise UserError("batch", f"expected at least one episode, not {batch}")
    if seed < 0:
        raise UserError("seed", f"{seed} is negative; give 0 or more")
    latents = stratified(task.convention.strata, episodes, seed, task.convention.nuisances)
    parts: list[Raw] = []
    for first in track(range(0, episodes, batch), f"recording {task.name}"):
        chosen = {name: values[first : first + batch] for name, values in latents.items()}
        parts.append(task.demonstrate(chosen, _seed(seed, first // batch)))
    return assemble(task, seed, joined(parts))


def assemble(task: Recordable, seed: int, raw: Raw) -> tuple[Demos, Binner]:
    """Fit the binner, and give every step its symbol Ō_t and its symbolic action."""
    convention = task.convention
    binner = Binner.fit(convention, raw.observations, raw.latents)
    choices, choice_names = task.choices(raw.latents)
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
        versions=dict(task.versions),
        task_version=task.version,
    )
    return demos, binner


def joined(parts: list[Raw]) -> Raw:
    """Batches side by side."""
    first, *others = parts
    if any(part.latents.keys() != first.latents.keys() for part in others):
        raise UserError("latents", "the batches recorded different latents")
    frames = [part.frames for part in parts if part.frames is not None]
    return Raw(
        observations=np.concatenate([part.observations for part in parts], axis=1),
        actions=np.concatenate([part.actions for part in parts], axis=1),
        phase=np.concatenate([part.phase for part in parts], axis=1),
        latents={name: np.concatenate([part.latents[name] for part in parts]) for name in first.latents},
        success=np.concatenate([part.success for part in parts]),
        frames=np.concatenate(frames, axis=1) if frames else None,
    )


def _seed(seed: int, batch: int) -> int:
    """A seed of its own for each batch."""
    return int(np.random.SeedSequence([seed, batch]).generate_state(1)[0])
