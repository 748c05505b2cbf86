"""A cohort on disk: checkpoints that survive `kill -9`, and stacked weights; always by atomic rename."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from certify.errors import UserError
from diacritic.training.cohort import Cohort, Plan
from diacritic.training.data import Data


def fingerprint(plan: Plan, data: Data) -> str:
    """SHA-256 of everything that decides the outcome: the plan and the data."""
    digest = hashlib.sha256(repr(plan).encode())
    for field in fields(data):
        value = getattr(data, field.name)
        digest.update(field.name.encode())
        digest.update(value.cpu().contiguous().numpy().tobytes() if isinstance(value, Tensor) else repr(value).encode())
    return digest.hexdigest()


def write_tensors(path: Path, tensors: Mapping[str, Tensor], notes: Mapping[str, str]) -> None:
    """A safetensors file that is either there and whole, or not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    # Bytes first, so that the file can be flushed to the disk before it gets its name.
    content = save({name: value.detach().cpu().contiguous() for name, value in tensors.items()}, dict(notes))
    with partial.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors of a file and its notes; a broken file is refused in one line."""
    try:
        with safe_open(path, "pt") as file:  # pyright: ignore[reportGeneralTypeIssues]
            return {name: file.get_tensor(name) for name in file.keys()}, dict(file.metadata() or {})  # noqa: SIM118
    except FileNotFoundError:
        raise UserError(str(path), "no such file") from None
    except (SafetensorError, OSError) as problem:
        raise UserError(str(path), f"not a whole safetensors file ({problem}); delete it or restore it") from None


def save_checkpoint(cohort: Cohort, path: Path) -> None:
    """Everything that a resumed cohort needs; random numbers depend on the step alone."""
    notes = {"plan": fingerprint(cohort.plan, cohort.given), "step": str(cohort.step)}
    write_tensors(path, cohort.optimiser.state(), notes)


def resume(cohort: Cohort, path: Path) -> None:
    """Go on where a checkpoint stopped; one of another configuration is refused."""
    state, notes = read_tensors(path)
    if notes.get("plan") != fingerprint(cohort.plan, cohort.given):
        raise UserError(str(path), "the checkpoint is of another configuration or dataset; train in another folder")
    cohort.optimiser.load(state)
    cohort.resume_at(int(notes["step"]))


def save_weights(cohort: Cohort, path: Path) -> None:
    """All runs, stacked, with what is needed to read them."""
    runs = json.dumps([vars(run) for run in cohort.plan.runs])
    notes = {
        "learner": cohort.plan.learner.name,
        "preset": cohort.plan.preset.name,
        "architecture": json.dumps(vars(cohort.plan.carrier)),
        "shape": json.dumps(vars(cohort.given.shape)),
        "runs": runs,
        "step": str(cohort.step),
    }
    write_tensors(path, {**cohort.parameters, "diverged": cohort.optimiser.diverged}, notes)


def load_weights(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Stacked parameters and notes, as `save_weights` wrote them."""
    tensors, notes = read_tensors(path)
    tensors.pop("diverged", None)
    kind = torch.get_default_dtype()
    return {name: value.to(kind) if value.is_floating_point() else value for name, value in tensors.items()}, notes
