"""A cohort in training on disk: a checkpoint that survives `kill -9` and is refused when it does not belong."""

import hashlib
from dataclasses import fields
from pathlib import Path

from torch import Tensor

from certify.errors import UserError
from diacritic.files.checkpoint import REMEDY, read_checkpoint, write_checkpoint
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


def save_checkpoint(cohort: Cohort, path: Path) -> None:
    """Everything that a resumed cohort needs; random numbers depend on the step alone."""
    write_checkpoint(path, fingerprint(cohort.plan, cohort.given), cohort.step, cohort.optimiser.state())


def resume(cohort: Cohort, path: Path) -> None:
    """Continue where a checkpoint stopped; one of another configuration, or a damaged one, is refused."""
    plan = fingerprint(cohort.plan, cohort.given)
    step, state = read_checkpoint(path, plan, cohort.plan.steps, cohort.optimiser.state())
    if bool((state["count"] != step).any()):
        raise UserError(str(path), f"says that it stops at step {step}, but its state is of another; {REMEDY}")
    cohort.optimiser.load(state)
    cohort.resume_at(step)
