"""Trained runs from disk, stacked: those of one task and one architecture play together."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import torch

from certify.errors import UserError
from diacritic.demos.binner import Binner
from diacritic.files.demos import Demos
from diacritic.files.run import BINNER, RunManifest, find_runs
from diacritic.memory.saved import load_run
from diacritic.memory.scale import Scale
from diacritic.memory.shape import Architecture
from diacritic.rollout.policies import Policies, stack_scales
from diacritic.tasks.protocol import Task
from diacritic.tasks.recorded import NO_SIMULATOR
from diacritic.tasks.registry import is_only_recorded, make, task_of


@dataclass(frozen=True)
class StoredRun:
    """One run on a recorded task."""

    path: Path
    manifest: RunManifest
    task: Task
    architecture: Architecture
    weights: dict[str, torch.Tensor]
    scale: Scale

    def policies(self) -> Policies:
        """This run alone as a player."""
        return Policies({name: value[None] for name, value in self.weights.items()}, self.architecture, self.scale)


@dataclass(frozen=True)
class Group:
    """Runs that one batch of episodes can hold."""

    runs: tuple[StoredRun, ...]
    binner: Binner

    @property
    def task(self) -> Task:
        return self.runs[0].task

    def policies(self) -> Policies:
        """All runs as one player."""
        names = self.runs[0].weights
        stacked = {name: torch.stack([run.weights[name] for run in self.runs]) for name in names}
        return Policies(stacked, self.runs[0].architecture, stack_scales([run.scale for run in self.runs]))


def read_run(path: Path, demos: Demos | None = None) -> StoredRun:
    """A run that `diacritic train` saved from a recording of the present version of its task.

    Where no task made that recording, `demos` stands for the task, and without it the run is refused.
    """
    run = load_run(path)
    if run.manifest.kind != "recorded":
        raise UserError(str(path), "is not a run of a recorded task; train one with `diacritic train DEMOS`")
    task = _task(path, run.manifest, demos)
    if run.manifest.task_version != task.version:
        said = f"was trained on version {run.manifest.task_version} of {task.name}, but this is version {task.version}"
        raise UserError(str(path), f"{said}; record and train again")
    policy = {name: value.float() for name, value in run.weights.items() if not name.startswith("scale.")}
    return StoredRun(path, run.manifest, task, run.architecture, policy, Scale.from_tensors(run.weights))


def _task(path: Path, manifest: RunManifest, demos: Demos | None) -> Task:
    if not is_only_recorded(manifest.task, manifest.task_version):
        return make(manifest.task, **manifest.parameters)
    if demos is None:
        raise UserError(str(path), NO_SIMULATOR)
    if demos.task != manifest.task:
        raise UserError(str(path), f"learned {manifest.task!r}, not {demos.task!r}; give that recording")
    return task_of(demos)


def groups(paths: Sequence[Path], demos: Demos | None = None) -> Iterator[Group]:
    """The runs in groups of equal task, observation convention and sizes of the weights; `demos` as in `read_run`."""
    runs = [read_run(path, demos) for path in find_runs(paths)]
    for _, members in groupby(sorted(runs, key=_kind), key=_kind):
        alike = tuple(members)
        yield Group(alike, Binner.load(alike[0].path / BINNER))


def _kind(run: StoredRun) -> str:
    sizes = sorted((name, tuple(value.shape)) for name, value in run.weights.items())
    digest = run.manifest.sha256.get(BINNER)
    return repr((run.task.name, run.task.parameters, run.architecture, digest, sizes))
