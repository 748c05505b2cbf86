"""The Franka tasks as something to record: their convention, their experts' episodes, their symbolic actions."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

import diacritic
from diacritic.demos.binner import Latents
from diacritic.demos.record import Raw
from diacritic.files.convention import Convention, Factor
from diacritic.tasks.franka.batch import FrankaBatch
from diacritic.tasks.franka.episodes import expert_episodes
from diacritic.tasks.franka.observation import SLICES
from diacritic.tasks.franka.pixels import Cameras
from diacritic.tasks.franka.task import NOISE, Task
from diacritic.tasks.franka.timeline import PHASES

SAG_SEPARATION = 0.006  # metres of height between the mass classes of `weighing`
_INDEPENDENT = ("two-cues", "full-reveal")  # side and slot are independent; elsewhere one is nested in the other
_DECIDING = ("theta", "mass", "slot", "hover")  # latents on which a symbol may depend


@dataclass(frozen=True)
class FrankaRecorder:
    """A Franka task with its scripted expert, ready for `record`."""

    task: Task
    threads: int = 0
    pixels: bool = False
    processes: int = 1  # that render, where there are pixels

    @property
    def name(self) -> str:
        return self.task.name

    @property
    def version(self) -> int:
        return self.task.version

    @property
    def parameters(self) -> Mapping[str, Any]:
        return self.task.parameters

    @property
    def versions(self) -> Mapping[str, str]:
        packages = {name: version(name) for name in ("mujoco", "numpy")}
        return {"diacritic": diacritic.__version__, "python": platform.python_version(), **packages}

    @property
    def convention(self) -> Convention:
        """The observation convention, with what the task shows by design at every step."""
        task = self.task
        factors = _factors(task)
        deciding = [name for name in task.latents if name in _decides(task)]
        hidden = {name: size for name, size in (("side", task.sides), ("slot", task.slots)) if size > 1} | task.latents
        position = SLICES["tool position"].start
        return Convention(
            phases=PHASES,
            phase_columns=_columns("phase"),
            probe_columns=_columns("display"),
            position_columns=(position, position + 1, position + 2),
            noise=0.0 if task.no_noise else NOISE,
            factors=factors,
            designed={factor.name: _designed(task, factor.name) for factor in factors if factor.assumed is None},
            strata={name: task.latents[name] for name in deciding},
            nuisances={name: size for name, size in task.latents.items() if name not in deciding},
            hidden=hidden,
            shown={"distractor": ("gap2",)},
        )

    def demonstrate(self, latents: Latents, seed: int) -> Raw:
        """The expert plays one episode for each configuration."""
        core = FrankaBatch(self.task, len(next(iter(latents.values()))), seed, self.threads)
        cameras = Cameras(core, self.processes) if self.pixels else None
        try:
            played = expert_episodes(core, latents, cameras)
        finally:
            if cameras is not None:
                cameras.close()
        hidden = {**played.latents, **played.choices}
        return Raw(
            played.observations,
            played.actions,
            played.phase,
            {name: values.astype(np.int32) for name, values in hidden.items()},
            played.outcome["success"],
            played.frames,
        )

    def choices(self, latents: Latents) -> tuple[NDArray[np.int32], tuple[str, ...]]:
        """The expert's symbolic actions: equal where side and slot are equal."""
        classes = {name: latents[name] for name in ("side", "slot")}
        different, which = np.unique(np.stack(list(classes.values())), axis=1, return_inverse=True)
        names: dict[str, int] = {}
        table = np.empty((self.task.horizon, different.shape[1]), np.int32)
        for t in range(self.task.horizon):
            for k, values in enumerate(different.T.tolist()):
                symbol = self.task.symbolic_action(t, dict(zip(classes, values, strict=True)))
                table[t, k] = names.setdefault(symbol, len(names))
        return table[:, which.reshape(-1)], tuple(names)


def _factors(task: Task) -> tuple[Factor, ...]:
    """Side and slot where they have classes, the height of the hover, and the sag of a load."""
    sizes = {name: size for name, size in (("side", task.sides), ("slot", task.slots)) if size > 1}
    sizes |= {name: size for name, size in task.latents.items() if name == "hover"}
    factors: list[Factor] = []
    for name, size in sizes.items():
        nested = {"side", "slot"} if task.name not in _INDEPENDENT and name != "hover" else {name}
        factors.append(Factor(name, name, size, tuple(other for other in sizes if other not in nested)))
    if task.name == "hidden-mass":
        factors.append(Factor("sag", "sag", task.levels("sag"), axes=(2,), assumed=_designed(task, "sag")))
    if task.name == "weighing":
        factors.append(Factor("sag", "sag", task.levels("sag"), axes=(2,), separation=SAG_SEPARATION))
    return tuple(factors)


def _designed(task: Task, factor: str) -> tuple[int, ...]:
    """Steps at which the task means the factor to be seen."""
    if factor == "hover":
        return tuple(t for t in range(task.horizon) if task.at_hover(t))
    shows = {factor, "slot"} if factor == "side" and task.slots > task.sides > 1 else {factor}  # octiles tell quartiles
    return tuple(t for t, step in enumerate(task.steps) if shows & set(step.shows))


def _decides(task: Task) -> tuple[str, ...]:
    """The mass is a nuisance where no display, sag or class tells of it."""
    return tuple(name for name in _DECIDING if name != "mass" or task.name in ("hidden-mass", "weighing"))


def _columns(field: str) -> tuple[int, int]:
    return SLICES[field].start, SLICES[field].stop
