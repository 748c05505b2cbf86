"""Trained runs from disk, stacked: those of one task and one architecture play together."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import torch

from certify.errors import UserError
from diacritic.demos.binner import Binner
from diacritic.memory.scale import Scale
from diacritic.memory.shape import Architecture
from diacritic.rollout.policies import Policies, stack_scales
from diacritic.tasks.franka.task import Task
from diacritic.tasks.franka.tasks import make_task
from diacritic.training.runs import MANIFEST, load_run

BINNER = "binner.json"


@dataclass(frozen=True)
class StoredRun:
    """One run on a recorded task."""

    path: Path
    manifest: dict[str, Any]
    task: Task
    architecture: Architecture
    weights: dict[str, torch.Tensor]
    scale: Scale


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


def read_run(path: Path) -> StoredRun:
    """A run that `diacritic train` saved from a recording of the present version of its task."""
    manifest, _, architecture, weights = load_run(path)
    if "parameters" not in manifest or "task_version" not in manifest:
        raise UserError(str(path), "is no run of a recorded task; train one with `diacritic train DEMOS`")
    task = make_task(manifest["task"], **manifest["parameters"])
    if manifest["task_version"] != task.version:
        said = f"was trained on version {manifest['task_version']} of {task.name}, but this is version {task.version}"
        raise UserError(str(path), f"{said}; record and train anew")
    kept = {name: value.float() for name, value in weights.items() if not name.startswith("scale.")}
    return StoredRun(path, manifest, task, architecture, kept, Scale.from_tensors(weights))


def find_runs(paths: Sequence[Path]) -> list[Path]:
    """Each path is a run, or a folder of runs."""
    found: list[Path] = []
    for path in paths:
        inside = (
            [path] if (path / MANIFEST).exists() else sorted(manifest.parent for manifest in path.glob(f"*/{MANIFEST}"))
        )
        if not inside:
            raise UserError(str(path), f"is no run and holds none: there is no {MANIFEST}")
        found += [run for run in inside if run not in found]
    return found


def groups(paths: Sequence[Path]) -> Iterator[Group]:
    """The runs in groups of equal task, observation convention and sizes of the weights."""
    runs = [read_run(path) for path in find_runs(paths)]
    keys = {id(run): _kind(run) for run in runs}
    for _, members in groupby(sorted(runs, key=lambda run: keys[id(run)]), key=lambda run: keys[id(run)]):
        alike = tuple(members)
        yield Group(alike, Binner.load(alike[0].path / BINNER))


def _kind(run: StoredRun) -> str:
    sizes = sorted((name, tuple(value.shape)) for name, value in run.weights.items())
    digest = run.manifest["sha256"].get(BINNER)
    return repr((run.task, run.architecture, digest, sizes))
