"""A training job: one cohort to be trained from a recording, as data, so that another machine can do it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch

from certify.errors import UserError
from diacritic.files.job import REMEDY
from diacritic.files.schema import FileName, read_as
from diacritic.memory.shape import Architecture
from diacritic.training.cohort import Plan, Run
from diacritic.training.demonstrations import fitted
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.supervision import FORECASTER_STEPS


@dataclass(frozen=True)
class TrainJob:
    """Everything that decides what comes out; equal training jobs are trained once."""

    recording: FileName
    """Name of the recording in the folder."""
    demos_sha256: str
    demonstrations: int
    """N: the first so many episodes are learned from, the others are held out."""
    learner: FileName
    preset: FileName
    steps: int
    codes: int
    runs: tuple[Run, ...]
    forecaster_steps: int = FORECASTER_STEPS
    misled: float = 0.0
    """Share of the episodes whose forecasts are those of an episode of another class."""
    start: tuple[tuple[FileName, int], ...] = ()
    """Of each run the training job, by name, and its run whose weights it starts from; none: from random weights."""
    low: bool = True
    """On CUDA, bf16 for everything but the code scan."""

    def __post_init__(self) -> None:
        if not self.runs or len(self.start) not in (0, len(self.runs)):
            raise UserError("runs", f"{len(self.start)} starts for {len(self.runs)} runs; give one for each, or none")

    @property
    def name(self) -> str:
        """The name of its files."""
        return f"{self.recording}-{self.learner}-{self.preset}-{self._digest()[:12]}".replace("+", "-")

    @property
    def plan_digest(self) -> str:
        """Hash of what decides the outcome of each of its runs, whatever other runs they train with."""
        return self._digest("runs")

    def _digest(self, *left_out: str) -> str:
        # An addition that is not used leaves names as they were.
        unused = [key for key in ("misled", "start") if not getattr(self, key)]
        decides = {key: value for key, value in asdict(self).items() if key not in (*left_out, *unused)}
        return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()

    @property
    def seeds(self) -> tuple[int, ...]:
        """Different seeds of its runs, in order: runs of one seed share a forecaster."""
        return tuple(sorted({run.seed for run in self.runs}))

    @property
    def formers(self) -> set[str]:
        """The names of the training jobs that must be trained before it."""
        return {name for name, _ in self.start}

    def plan(self, decisions: int, device: str) -> Plan:
        """The cohort's plan for a task with so many decisions."""
        chosen, architecture = fitted(learner(self.learner), decisions), Architecture(codes=self.codes)
        how = preset(self.preset)
        precision = how.precision if self.low and torch.device(device).type == "cuda" else None
        return Plan(chosen, how, self.runs, self.steps, architecture, how.batch, low=precision)

    @staticmethod
    def from_dict(document: Mapping[str, Any], where: str = "order") -> "TrainJob":
        """As `asdict` wrote it, every field checked."""
        return read_as(TrainJob, document, where, REMEDY)
