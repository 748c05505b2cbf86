"""The teacher-state control's teacher: a frozen full-history Transformer, and its states before quantisation."""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from certify.progress import working
from diacritic.files.tensors import read_tensors, write_tensors
from diacritic.training.checkpoint import fingerprint
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.data import Data
from diacritic.training.learner import learner
from diacritic.training.preset import preset

TEACHER_STEPS, BETA = 10_000, 2e-3


def teacher_states(
    data: Data, seeds: Sequence[int], device: str = "cpu", steps: int = TEACHER_STEPS, folder: Path | None = None
) -> Tensor:
    """s_t of one teacher for each seed, [S, T, N, d], on the CPU; a folder keeps trained teachers."""
    how = preset("release")
    low = how.precision if torch.device(device).type == "cuda" else None
    runs = tuple(Run(seed, BETA) for seed in seeds)
    plan = Plan(learner("full-history"), how, runs, steps, batch=how.batch, low=low)
    path = None if folder is None else folder / f"teacher-{fingerprint(plan, data)[:12]}.safetensors"
    kept = None if path is None or not path.exists() else read_tensors(path)[0]
    cohort = Cohort(plan, data, device, kept)
    if kept is None:
        with working(f"training {len(seeds)} full-history teachers"):
            cohort.advance(steps)
        if path is not None:
            write_tensors(path, cohort.parameters, {"seeds": repr(tuple(seeds))})
    with torch.no_grad():
        trace = cohort.trace()
        return trace.steps(trace.proposal).float().cpu()
