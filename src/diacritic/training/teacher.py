"""The teacher-state control's teacher: a frozen full-history Transformer, and its states before quantisation."""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from diacritic.training.checkpoint import fingerprint
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.data import Data
from diacritic.training.learner import learner
from diacritic.training.networks import Turns, completed, trained
from diacritic.training.preset import preset

TEACHER, TEACHER_STEPS, BETA = "full-history", 10_000, 2e-3


def teacher_states(
    data: Data, seeds: Sequence[int], device: str = "cpu", steps: int = TEACHER_STEPS, folder: Path | None = None
) -> Tensor:
    """s_t of one teacher for each seed, [S, T, N, d], on the CPU; a folder keeps trained teachers."""
    return completed(teacher_turns(data, seeds, device, steps, folder, set()))


def teacher_turns(
    data: Data, seeds: Sequence[int], device: str, steps: int, folder: Path | None, busy: set[Path]
) -> Turns[Tensor]:
    """The same in turns."""
    how = preset("release")
    low = how.precision if torch.device(device).type == "cuda" else None
    runs = tuple(Run(seed, BETA) for seed in seeds)
    plan = Plan(learner(TEACHER), how, runs, steps, batch=how.batch, low=low)
    path = None if folder is None else teacher_path(folder, plan, data)
    title = f"{len(seeds)} full-history teachers"
    parameters = yield from trained(lambda: Cohort(plan, data, device), seeds, steps, path, busy, title)
    with torch.no_grad():
        trace = Cohort(plan, data, device, parameters).trace()
        return trace.steps(trace.proposal).float().cpu()


def teacher_path(folder: Path, plan: Plan, data: Data) -> Path:
    """Where trained teachers lie; a full-history study of the same plan leaves its networks there, too."""
    return folder / f"teacher-{fingerprint(plan, data)[:12]}.safetensors"
