"""Train a cohort to the end: progress, metrics as JSON lines, checkpoints, and going on after an interruption."""

import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from certify.progress import working
from diacritic.files.atomic import cannot_write, make_folder, write_text
from diacritic.files.lock import locked
from diacritic.training.checkpoint import resume, save_checkpoint
from diacritic.training.codebook_restart import usage
from diacritic.training.cohort import Cohort, Plan
from diacritic.training.data import Data
from diacritic.training.threads import threads_for

Judge = Callable[[Cohort], list[bool]]
"""Which runs are sufficient now; shown while training runs."""
SETTLED = 3
"""Looks in a row at which every run is sufficient before training stops early; one look every fiftieth of it."""


def train(
    plan: Plan,
    data: Data,
    device: str = "cpu",
    folder: Path | None = None,
    judge: Judge | None = None,
    every: float = 60.0,
    tensorboard: Path | None = None,
    parameters: dict[str, Tensor] | None = None,
) -> Cohort:
    """A trained cohort; one that trains until all runs are sufficient needs a judge.

    With a folder, metrics and a checkpoint every so many seconds go there, and a killed training goes on from its last
    checkpoint to the same final codes (on the CPU, bit by bit).
    """
    with nullcontext() if folder is None else locked(folder):
        cohort = Cohort(plan, data, device, parameters)
        checkpoint = None if folder is None else folder / "checkpoint.safetensors"
        if checkpoint is not None and checkpoint.exists():
            resume(cohort, checkpoint)
        chunk = max(1, plan.steps // 50)
        saved = time.monotonic()
        passed: int | None = None
        early = plan.until_sufficient and judge is not None
        text = f"training {plan.learner.name}, {len(plan.runs)} runs"
        with working(text) as say, _metrics(folder, cohort.step, tensorboard) as log, threads_for(cohort.numbers):
            streak = _streak(folder, len(plan.runs)) if early else 0
            while cohort.step < plan.steps and streak < SETTLED:
                cohort.advance(min(chunk - cohort.step % chunk, plan.steps - cohort.step))
                tenth = cohort.step % (5 * chunk) == 0 or cohort.step == plan.steps
                passed = sum(judge(cohort)) if judge is not None and (tenth or early) else passed
                streak = streak + 1 if early and passed == len(plan.runs) else 0
                log(measure(cohort) | ({} if passed is None else {"sufficient": passed}))
                seen = "" if passed is None else f", {passed}/{len(plan.runs)} sufficient"
                say(f"{cohort.step:,} of {plan.steps:,} updates{seen}")
                if checkpoint is not None and (
                    time.monotonic() - saved >= every or cohort.step == plan.steps or streak == SETTLED
                ):
                    save_checkpoint(cohort, checkpoint)
                    saved = time.monotonic()
        return cohort


def _streak(folder: Path | None, runs: int) -> int:
    """How many of the last looks in metrics.jsonl found every run sufficient."""
    path = None if folder is None else folder / "metrics.jsonl"
    looks = [] if path is None or not path.exists() else path.read_text(encoding="utf-8").splitlines()
    passed = [json.loads(line).get("sufficient") == runs for line in reversed(looks)]
    return (*passed, False).index(False)


@torch.no_grad()
def measure(cohort: Cohort) -> dict[str, Any]:
    """Losses by term, code usage and perplexity of every run, over the whole set."""
    used = usage(cohort.trace())
    entropy = -(used * used.clamp(min=1e-30).log()).sum(1)
    names = [type(term).__name__ for term in cohort.plan.terms]
    return {
        "step": cohort.step,
        "loss": {name: _rounded(row.tolist()) for name, row in zip(names, cohort.losses, strict=True)},
        "codes_used": (used > 0).sum(1).tolist(),
        "perplexity": _rounded(entropy.exp().tolist()),
        "diverged": cohort.optimiser.diverged.tolist(),
    }


def _rounded(values: list[float]) -> list[float | None]:
    return [float(f"{value:.6g}") if math.isfinite(value) else None for value in values]


@contextmanager
def _metrics(folder: Path | None, done: int, tensorboard: Path | None) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Append lines to metrics.jsonl, first dropping those written after the checkpoint that training resumes from."""
    writer = None
    if tensorboard is not None:
        from torch.utils.tensorboard import SummaryWriter

        writer = SummaryWriter(str(tensorboard))

    def log(line: dict[str, Any]) -> None:
        if folder is not None:
            _append(folder / "metrics.jsonl", json.dumps(line) + "\n")
        if writer is not None:
            for name, values in line["loss"].items():
                finite = [value for value in values if value is not None]
                if finite:
                    writer.add_scalar(f"loss/{name}", sum(finite) / len(finite), line["step"])

    if folder is not None:
        path = make_folder(folder) / "metrics.jsonl"
        kept = [text for text in (path.read_text().splitlines() if path.exists() else []) if _before(text, done)]
        write_text(path, "".join(text + "\n" for text in kept))
    try:
        yield log
    finally:
        if writer is not None:
            writer.close()


def _append(path: Path, text: str) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as problem:
        raise cannot_write(path, problem) from None


def _before(text: str, done: int) -> bool:
    try:
        return json.loads(text)["step"] <= done
    except (ValueError, KeyError):  # a line cut off by the interruption
        return False
