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
from diacritic.files.atomic import make_folder, read_json, safe_name, write_json
from diacritic.files.fields import Fields

if TYPE_CHECKING:
    from torch import Tensor

FORMAT = "diacritic-exchange/1"
EXCHANGE = "exchange.json"
REMEDY = "export the study again"
_RUN = ("beta", "rate", "auxiliary", "code_scale", "residual_scale")
_MANY = 100_000  # training jobs, cells, runs of a training job
_NOTES = ("architecture", "shape", "diverged", "seconds", "supervising", "device", "torch", "code_version")


@dataclass(frozen=True)
class Job:
    """Training jobs as checked objects, and the cells that they answer, as whoever reads them understands them."""

    train_jobs: tuple[dict[str, Any], ...]
    cells: tuple[dict[str, Any], ...]


def write_job(folder: Path, train_jobs: Sequence[Mapping[str, Any]], cells: Sequence[Mapping[str, Any]]) -> None:
    write_json(make_folder(folder) / EXCHANGE, {"format": FORMAT, "orders": list(train_jobs), "cells": list(cells)})


def read_job(folder: Path) -> Job:
    """The manifest of a folder, every training job checked."""
    path = str(folder / EXCHANGE)
    document = Fields(read_json(folder / EXCHANGE, FORMAT, REMEDY), path, REMEDY)
    train_jobs, cells = document.items("orders"), document.items("cells")
    if max(len(train_jobs), len(cells)) > _MANY or not all(isinstance(cell, dict) for cell in cells):
        raise document.refusal("cells", f"a list of at most {_MANY} objects")
    checked = [check_train_job(train_job, f"{path}: orders[{k}]") for k, train_job in enumerate(train_jobs)]
    return Job(tuple(checked), tuple(cells))


def check_train_job(train_job: Any, place: str) -> dict[str, Any]:
    """A training job as it is written, every field checked; names in it may become paths."""
    given = Fields.of(train_job, place, REMEDY)
    counts = ("demonstrations", "steps", "codes", "forecaster_steps")
    named, texts, optional = ("recording", "learner", "preset"), ("demos_sha256",), ("misled", "start", "low")
    given.only(*named, *texts, *counts, "runs", *optional)
    for name in named:
        safe_name(given.text(name), f"{place}: {name}")
    for name in (*texts, *counts):
        _ = given.text(name) if name in texts else given.integer(name, default=(0,) if name not in train_job else ())
    given.number("misled", 0.0)
    given.flag("low", True)
    runs, start = given.items("runs"), given.items("start", [])
    if not 0 < len(runs) <= _MANY:
        raise given.refusal("runs", f"a list of 1 to {_MANY} runs")
    for k, run in enumerate(runs):
        fields = Fields.of(run, f"{place}: runs[{k}]", REMEDY)
        fields.only("seed", *_RUN)
        fields.integer("seed")
        for name in _RUN:
            fields.number(name, 1e-3 if name == "beta" else None)
    if len(start) not in (0, len(runs)):
        raise UserError(place, f"{len(start)} starts for {len(runs)} runs; {REMEDY}")
    for item in start:
        if not (isinstance(item, list | tuple) and len(item) == 2 and type(item[1]) is int and item[1] >= 0):
            raise given.refusal("start", "a list of [training job, run]")
        safe_name(item[0], f"{place}: start")
    return dict(train_job)


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
    lacking = [key for key in _NOTES if key not in notes]
    if lacking:
        raise UserError(str(path), f"has no note of {lacking[0]}; {remedy}")
    fields = Fields(notes, str(path), remedy)
    diverged = fields.items("diverged")
    if len(diverged) != runs or not all(isinstance(value, bool) for value in diverged):
        raise fields.refusal("diverged", f"true or false of each of {runs} runs")
    _ = [fields.number(key) for key in ("seconds", "supervising")], fields.object("architecture")
    _ = [fields.text(key) for key in ("device", "torch", "code_version")], fields.object("shape")
    arrays = read_npz(codes_path, remedy)
    steps, codes = arrays.get("steps"), arrays.get("codes")
    if steps is None or codes is None or codes.ndim != 4 or codes.dtype.kind not in "iu" or codes.shape[1] != runs:
        raise UserError(str(codes_path), f"does not hold codes of {runs} runs; {remedy}")
    if steps.shape != codes.shape[:1] or steps.dtype.kind not in "iu":
        raise UserError(str(codes_path), f"does not say the step of each of its codes; {remedy}")
    return ResultFiles(weights, tuple(steps.tolist()), codes, notes)
