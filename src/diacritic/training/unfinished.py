"""Cohorts in flight on disk: whoever was killed goes on with them when it is given the same work again.

Random numbers are functions of seed and step, and restarts read what the same update has written, so that parameters,
moments and the step are the whole state. Several training jobs that train as one cohort have one file, which is of use
if they are packed in the same way again.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from certify.errors import UserError
from diacritic.files.tensors import read_tensors, write_tensors
from diacritic.files.versions import code_version
from diacritic.training.cohort import Cohort

FOLDER = "unfinished"
EVERY = 60.0
"""Seconds between two states of a cohort."""
FORMAT = "diacritic-unfinished/1"
REMEDY = "its training starts again"
Snapshots = dict[int, NDArray[np.integer[Any]]]
"""Codes on the held-out episodes, by step."""
Parts = Sequence[Mapping[str, Any]]
"""What decides the outcome of each training job, or of a cell; recordings and models are named by their digest."""


@dataclass(frozen=True)
class Progress:
    """What a cohort has besides its state: the codes that each of its training jobs has shown, and its time."""

    snapshots: list[Snapshots]
    seconds: float
    supervising: float = 0.0


def unfinished_path(out: Path, names: Sequence[str]) -> Path:
    """Where the state of the cohort of these lies among the results."""
    pack = f"pack-{hashlib.sha256(json.dumps(names).encode()).hexdigest()[:12]}"
    return out / FOLDER / f"{names[0] if len(names) == 1 else pack}.safetensors"


def keep_unfinished(path: Path, parts: Parts, cohort: Cohort, progress: Progress) -> None:
    """Write the state of a cohort, in place of an earlier one."""
    codes = {
        f"codes.{k}.{step}": torch.from_numpy(value)
        for k, snapshots in enumerate(progress.snapshots)
        for step, value in snapshots.items()
    }
    times = {"seconds": repr(progress.seconds), "supervising": repr(progress.supervising)}
    notes = {"format": FORMAT, "job": _signature(parts, cohort.device), "step": str(cohort.step), **times}
    write_tensors(path, cohort.optimiser.state() | codes, notes)


def take_up(path: Path, parts: Parts, cohort: Cohort) -> Progress | None:
    """Put a cohort into the state that was kept; one that is damaged or does not belong is ignored, and it says so."""
    if not path.exists():
        return None
    try:
        return _take_up(path, parts, cohort)
    except (UserError, KeyError, ValueError) as problem:
        print(problem if isinstance(problem, UserError) else f"{path}: is incomplete; {REMEDY}", flush=True)
        return None


def _take_up(path: Path, parts: Parts, cohort: Cohort) -> Progress:
    tensors, notes = read_tensors(path, REMEDY, signed=True)
    if (notes.get("format"), notes.get("job")) != (FORMAT, _signature(parts, cohort.device)):
        raise UserError(str(path), f"is of another version, device or work; {REMEDY}")
    snapshots: list[Snapshots] = [{} for _ in parts]
    for key in [key for key in tensors if key.startswith("codes.")]:
        _, k, step = key.split(".")
        snapshots[int(k)][int(step)] = tensors.pop(key).numpy()
    progress = Progress(
        [dict(sorted(one.items())) for one in snapshots], float(notes["seconds"]), float(notes["supervising"])
    )
    step, sizes = int(notes["step"]), {name: value.shape for name, value in cohort.optimiser.state().items()}
    if {name: value.shape for name, value in tensors.items()} != sizes:
        raise UserError(str(path), f"does not hold the state of this cohort; {REMEDY}")
    cohort.optimiser.load(tensors)
    cohort.resume_at(step)
    return progress


def _signature(parts: Parts, device: torch.device) -> str:
    """SHA-256 of everything that decides the outcome."""
    where = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    versions = code_version(), torch.__version__, where
    return hashlib.sha256(json.dumps([versions, list(parts)]).encode()).hexdigest()
