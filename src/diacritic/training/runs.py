"""The runs of a trained cohort: saved as folders, and taken as the start of another cohort."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from certify.errors import UserError
from diacritic.files.run import CodedEpisodes, RunManifest, write_run
from diacritic.files.versions import versions
from diacritic.memory.module import one_run
from diacritic.memory.saved import load_run
from diacritic.memory.scale import Scale
from diacritic.training.checkpoint import fingerprint
from diacritic.training.cohort import Cohort, Plan, start
from diacritic.training.data import Data


def save_runs(
    cohort: Cohort,
    folder: Path,
    facts: Sequence[Mapping[str, Any]],
    scale: Scale | None = None,
    texts: Mapping[str, str] | None = None,
) -> list[Path]:
    """Every run of a trained cohort as a folder of its own, with `facts[k]`, fields of `RunManifest`, of run k.

    Policies of recorded tasks read and act through a `scale`, which is kept with the weights; `texts` are further
    files of each run, by name. The codes are those on the episodes that the cohort learned from.
    """
    with torch.no_grad():
        codes = cohort.trace().step_code.cpu().numpy().astype(np.uint16)
    plan = fingerprint(cohort.plan, cohort.given)
    paths = []
    for k, (run, fact) in enumerate(zip(cohort.plan.runs, facts, strict=True)):
        given: dict[str, Any] = {
            "learner": cohort.plan.learner.name,
            "preset": cohort.plan.preset.name,
            "steps": cohort.step if cohort.plan.until_sufficient else cohort.plan.steps,
            "architecture": asdict(cohort.plan.carrier),
            "shape": asdict(cohort.given.shape),
            "episodes": CodedEpisodes("training", ((0, codes.shape[2]),)),
            "diverged": bool(cohort.optimiser.diverged[k]),
            "versions": versions(torch=torch.__version__, numpy=np.__version__),
        }
        manifest = RunManifest(plan=plan, run=asdict(run), **(given | dict(fact)))
        weights = {**one_run(cohort.parameters, k), **({} if scale is None else scale.tensors())}
        paths.append(write_run(folder, manifest, weights, codes[k], texts or {}))
    return paths


def stacked_runs(paths: Sequence[Path], plan: Plan, data: Data) -> dict[str, torch.Tensor]:
    """The weights of finished runs as the start of a new cohort, one run for each of its seeds."""
    if len(paths) != len(plan.runs):
        raise UserError("--warm-start", f"{len(paths)} runs for {len(plan.runs)} seeds; give one for each")
    return warm_start([(str(path), load_run(path).weights) for path in paths], plan, data)


def warm_start(
    given: Sequence[tuple[str, Mapping[str, torch.Tensor]]], plan: Plan, data: Data
) -> dict[str, torch.Tensor]:
    """The start of a cohort of which each run has the named weights given; what they lack starts as usual."""
    parameters = {}
    for name, value in start(plan, data).items():
        for title, weights in given:
            if name in weights and weights[name].shape != value.shape[1:]:
                have, need = tuple(weights[name].shape), tuple(value.shape[1:])
                raise UserError(title, f"its {name} is {have}, but this task needs {need}; warm starts keep the sizes")
        own = zip(given, value.unbind(0), strict=True)
        parameters[name] = torch.stack([weights.get(name, fresh).to(fresh.dtype) for (_, weights), fresh in own])
    return parameters
