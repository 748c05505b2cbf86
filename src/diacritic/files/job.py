"""Training jobs in files (`diacritic-exchange/1`): a manifest of jobs and cells, and the result of each job.

A result is a file of stacked weights, with notes, and one of codes on the held-out episodes; it exists when its weights
do.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from certify.errors import UserError
from diacritic.files.arrays import read_npz, write_npz
from diacritic.files.atomic import make_folder, read_json, write_json
from diacritic.files.schema import read_as

if TYPE_CHECKING:
    from torch import Tensor

FORMAT = "diacritic-exchange/1"
EXCHANGE = "exchange.json"
REMEDY = "export the study again"
_MANY = 100_000  # training jobs, cells
_DOCUMENT = {key: [dict[str, Any]] for key in ("orders", "cells")}
_NOTES = dict.fromkeys(("architecture", "shape"), dict[str, Any]) | {
    "diverged": tuple[bool, ...],
    **dict.fromkeys(("seconds", "supervising"), float),
    **dict.fromkeys(("device", "torch", "code_version"), str),
}


@dataclass(frozen=True)
class Job:
    """Training jobs, and the cells that they answer, as objects that whoever reads them checks."""

    train_jobs: tuple[dict[str, Any], ...]
    cells: tuple[dict[str, Any], ...]


def write_job(folder: Path, train_jobs: Sequence[Mapping[str, Any]], cells: Sequence[Mapping[str, Any]]) -> None:
    write_json(make_folder(folder) / EXCHANGE, {"format": FORMAT, "orders": list(train_jobs), "cells": list(cells)})


def read_job(folder: Path) -> Job:
    """The manifest of a folder."""
    path = folder / EXCHANGE
    given = read_as(_DOCUMENT, read_json(path, FORMAT, REMEDY), str(path), REMEDY)
    for name in ("orders", "cells"):
        if len(given[name]) > _MANY:
            raise UserError(str(path), f"has {len(given[name])} {name}, more than {_MANY}; {REMEDY}")
    return Job(given["orders"], given["cells"])


def result_paths(folder: Path, name: str) -> tuple[Path, Path]:
    """The files of codes and of weights of a training job."""
    return folder / f"{name}.npz", folder / f"{name}.safetensors"


def write_result(
    folder: Path,
    name: str,
    weights: "Mapping[str, Tensor]",
    snapshots: Mapping[int, NDArray[np.integer[Any]]],
    notes: Mapping[str, Any],
) -> tuple[Path, Path]:
    """Codes by step first, weights last."""
    from diacritic.files.tensors import write_tensors

    codes, path = result_paths(folder, name)
    write_npz(codes, steps=np.array(list(snapshots)), codes=np.stack(list(snapshots.values())))
    write_tensors(path, weights, {key: json.dumps(value) for key, value in notes.items()})
    return codes, path


@dataclass(frozen=True)
class ResultFiles:
    """The result of a training job."""

    weights: "dict[str, Tensor]"
    """Stacked, with the scale of the recording."""
    steps: tuple[int, ...]
    codes: NDArray[np.unsignedinteger[Any]]
    """[steps, S, T, held-out episodes]."""
    notes: dict[str, Any]


def read_result(folder: Path, name: str, runs: int) -> ResultFiles | None:
    """The result of a training job of so many runs; none if it is not there yet."""
    from diacritic.files.tensors import read_tensors

    codes_path, path = result_paths(folder, name)
    if not path.exists():
        return None
    remedy = f"delete {path.name} and run the training job again"
    weights, texts = read_tensors(path, remedy)
    try:
        notes = {key: json.loads(text) for key, text in texts.items()}
    except (ValueError, RecursionError):
        raise UserError(str(path), f"has notes that are not JSON; {remedy}") from None
    if len(read_as(_NOTES, notes, str(path), remedy)["diverged"]) != runs:
        raise UserError(str(path), f"does not say of each of {runs} runs whether it diverged; {remedy}")
    arrays = read_npz(codes_path, remedy)
    steps, codes = arrays.get("steps"), arrays.get("codes")
    if steps is None or codes is None or codes.ndim != 4 or codes.dtype.kind not in "iu" or codes.shape[1] != runs:
        raise UserError(str(codes_path), f"does not hold codes of {runs} runs; {remedy}")
    if steps.shape != codes.shape[:1] or steps.dtype.kind not in "iu":
        raise UserError(str(codes_path), f"does not say the step of each of its codes; {remedy}")
    return ResultFiles(weights, tuple(steps.tolist()), codes, notes)
