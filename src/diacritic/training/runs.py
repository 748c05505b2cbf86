"""Runs on disk: one folder each, named by what decides its outcome; the manifest is written last."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import diacritic
from certify.errors import UserError
from diacritic.memory.module import one_run
from diacritic.memory.scale import Scale
from diacritic.memory.shape import Architecture, Shape
from diacritic.training.checkpoint import fingerprint, read_tensors, write_tensors
from diacritic.training.cohort import Cohort, Plan, start
from diacritic.training.data import Data

MANIFEST = "run.json"


def code_version() -> str:
    """A digest of the sources that decide the outcome of training."""
    root = Path(diacritic.__file__).parent
    digest = hashlib.sha256()
    for path in sorted([*root.glob("memory/*.py"), *root.glob("training/**/*.py")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def save_runs(
    cohort: Cohort,
    folder: Path,
    facts: list[dict[str, Any]],
    scale: Scale | None = None,
    texts: Mapping[str, str] | None = None,
) -> list[Path]:
    """Every run of a trained cohort as a folder of its own, with `facts[k]` in the manifest of run k.

    Policies of recorded tasks read and act through a `scale`, which is kept with the weights; `texts` are further
    files of each run, by name.
    """
    texts = texts or {}
    with torch.no_grad():
        codes = cohort.trace().step_code.cpu().numpy().astype(np.uint16)
    paths = []
    for k, (run, fact) in enumerate(zip(cohort.plan.runs, facts, strict=True)):
        configuration = {
            "plan": fingerprint(cohort.plan, cohort.given),
            "run": asdict(run),
            "code_version": code_version(),
        }
        known = {
            "learner": cohort.plan.learner.name,
            "preset": cohort.plan.preset.name,
            "steps": cohort.plan.steps,
            "architecture": asdict(cohort.plan.carrier),
            "shape": asdict(cohort.given.shape),
            "diverged": bool(cohort.optimiser.diverged[k]),
            **fact,
        }
        weights = {**one_run(cohort.parameters, k), **({} if scale is None else scale.tensors())}
        paths.append(write_run(folder, configuration, known, weights, codes[k], texts))
    return paths


def run_name(configuration: Mapping[str, Any]) -> str:
    """The name of a run's folder: a hash of what decides its outcome."""
    return hashlib.sha256(json.dumps(configuration, sort_keys=True).encode()).hexdigest()[:16]


def write_run(
    folder: Path,
    configuration: Mapping[str, Any],
    facts: Mapping[str, Any],
    weights: Mapping[str, torch.Tensor],
    codes: NDArray[np.unsignedinteger[Any]],
    texts: Mapping[str, str],
) -> Path:
    """One run in a folder named by its configuration (plan, run, code version); the manifest is written last."""
    path = folder / run_name(configuration)
    path.mkdir(parents=True, exist_ok=True)
    write_tensors(path / "weights.safetensors", weights, {"run": json.dumps(configuration["run"])})
    partial = path / f"codes.{os.getpid()}.npz"
    np.savez_compressed(partial, codes=codes)
    partial.replace(path / "codes.npz")
    for file, text in texts.items():
        _write_text(path / file, text)
    digests = {name: _digest(path / name) for name in ("weights.safetensors", "codes.npz", *texts)}
    manifest = {**configuration, **facts, "sha256": digests}
    _write_text(path / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
    return path


def stacked_runs(paths: Sequence[Path], plan: Plan, data: Data) -> dict[str, torch.Tensor]:
    """The weights of finished runs as the start of a new cohort, one run for each of its seeds."""
    if len(paths) != len(plan.runs):
        raise UserError("--warm-start", f"{len(paths)} runs for {len(plan.runs)} seeds; give one for each")
    return warm_start([(str(path), load_run(path)[3]) for path in paths], plan, data)


def warm_start(
    found: Sequence[tuple[str, Mapping[str, torch.Tensor]]], plan: Plan, data: Data
) -> dict[str, torch.Tensor]:
    """The start of a cohort of which each run has the named weights given; what they lack begins as usual."""
    parameters = {}
    for name, value in start(plan, data).items():
        for title, weights in found:
            if name in weights and weights[name].shape != value.shape[1:]:
                have, need = tuple(weights[name].shape), tuple(value.shape[1:])
                raise UserError(title, f"its {name} is {have}, but this task needs {need}; warm starts keep the sizes")
        own = zip(found, value.unbind(0), strict=True)
        parameters[name] = torch.stack([weights.get(name, fresh).to(fresh.dtype) for (_, weights), fresh in own])
    return parameters


def load_run(path: Path) -> tuple[dict[str, Any], Shape, Architecture, dict[str, torch.Tensor]]:
    """The manifest, sizes and weights of a run; it exists when its manifest is there and the digests match."""
    try:
        manifest = json.loads((path / MANIFEST).read_text())
    except FileNotFoundError:
        raise UserError(str(path), f"is not a run: it has no {MANIFEST}") from None
    except ValueError:
        raise UserError(str(path / MANIFEST), "is not JSON; train the run again") from None
    for name, digest in manifest["sha256"].items():
        if not (path / name).exists() or _digest(path / name) != digest:
            raise UserError(str(path / name), "does not match the run's manifest; train the run again")
    weights, _ = read_tensors(path / "weights.safetensors")
    return manifest, Shape(**manifest["shape"]), Architecture(**manifest["architecture"]), weights


def _write_text(path: Path, text: str) -> None:
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
