"""One part of the round robin: whatever supervises a training job is trained first, and then its cohort."""

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from certify.errors import UserError
from diacritic.training import unfinished
from diacritic.training.cohort import Cohort
from diacritic.training.cohort_batching import CohortPart, one_cohort, split
from diacritic.training.compress_recorded import forgotten
from diacritic.training.demonstrations import Prepared, held_out_codes
from diacritic.training.networks import Turns, keep_networks
from diacritic.training.scheduler import CHUNK
from diacritic.training.train_job import TrainJob
from diacritic.training.unfinished import Progress, keep_unfinished, take_up, unfinished_path

SNAPSHOTS = (0.05, 0.1, 0.2, 0.4)
"""Shares of training at which codes are kept besides those of the end."""


@dataclass
class Ready:
    """A training job with all that its training needs, and the codes that it shows on the way."""

    train_job: TrainJob
    share: CohortPart
    prepared: Prepared
    snapshots: dict[int, NDArray[np.integer[Any]]] = field(default_factory=dict)
    forgetting: dict[str, Any] | None = None
    """What came of forgetting, where its learner does."""


@dataclass(kw_only=True, eq=False)
class Training:
    """A training job, or several of equal plans and sizes that train as one cohort."""

    train_jobs: tuple[TrainJob, ...]
    device: torch.device
    out: Path
    """The folder of results, which also keeps the state of its cohort until that is done."""
    parts: list[Ready]
    """The training jobs with what they need; one that is supervised has it once its supervision is done."""
    supervision: Turns[Ready] | None = None
    """Turns of its forecasters or teachers, as long as they last."""
    half: bool = False
    """Round the weights to half precision in the end: the last codes are those of the rounded weights."""
    teachers: Path | None = None
    """Where its networks go for those that they teach."""
    busy: set[Path] = field(default_factory=set)
    """What others wait for; `teachers` is there until its networks are."""
    cohort: Cohort = field(init=False, repr=False)
    begun: bool = False
    """Whether it has its cohort."""
    seconds: float = 0.0
    """Its cohort's share of the time that has passed; before that, its supervision's."""
    supervising: float = 0.0
    """Its supervision's share of the time."""
    kept: float = 0.0
    """When the state of its cohort was last kept."""
    problem: str | None = None
    """Why it cannot go on, say a kernel that does not fit the device; others are not affected."""

    @property
    def done(self) -> bool:
        return self.problem is not None or (self.begun and self.cohort.step >= self.cohort.plan.steps)

    def advance(self) -> None:
        """The next updates: of its forecasters or teachers, or of its cohort."""
        try:
            if self.supervision is not None:
                self.supervise()
            else:
                self._advance()
        except UserError:
            raise
        except Exception as problem:
            self.busy.difference_update({self.teachers})
            self.problem = f"{type(problem).__name__}: {problem}".splitlines()[0][:300]

    def supervise(self) -> None:
        """One turn of its supervision."""
        assert self.supervision is not None
        try:
            next(self.supervision)
        except StopIteration as end:
            self.parts, self.supervision = [end.value], None

    def begin(self) -> None:
        """Build its cohort, in the state that a killed worker kept if there is one.

        The time until now was its supervision's.
        """
        self.supervising, self.seconds = self.seconds, 0.0
        self.cohort = one_cohort([part.share for part in self.parts], str(self.device))
        progress = take_up(self.unfinished, self._described, self.cohort)
        if progress is not None:
            self.supervising, self.seconds = self.supervising + progress.supervising, progress.seconds
            for part, snapshots in zip(self.parts, progress.snapshots, strict=True):
                part.snapshots = snapshots
        self.kept, self.begun = time.monotonic(), True

    @property
    def unfinished(self) -> Path:
        """The file of its cohort's state."""
        return unfinished_path(self.out, [train_job.name for train_job in self.train_jobs])

    @property
    def _described(self) -> list[dict[str, Any]]:
        return [asdict(train_job) for train_job in self.train_jobs]

    def _advance(self) -> None:
        """A chunk of updates, ending at a step whose codes are kept; those of the last step are `finish`'s."""
        if not self.begun:
            self.begin()
        steps, step = self.cohort.plan.steps, self.cohort.step
        if step >= steps:  # a job without updates: what follows training is all
            return
        stops = sorted({max(1, round(share * steps)) for share in SNAPSHOTS} | {steps})
        end = min([step + CHUNK, *(stop for stop in stops if stop > step)])
        self.cohort.advance(end - step)
        if end in stops and end < steps:
            self._look()
        if end < steps and time.monotonic() - self.kept >= unfinished.EVERY:
            progress = Progress([part.snapshots for part in self.parts], self.seconds, self.supervising)
            keep_unfinished(self.unfinished, self._described, self.cohort, progress)
            self.kept = time.monotonic()

    def finish(self) -> None:
        """Forget where the learner does, round, and look at the codes; time that no other training shares."""
        begun = time.perf_counter()
        if self.teachers is not None:
            keep_networks(self.teachers, self.cohort.parameters, self.train_jobs[0].seeds)
            self.busy.discard(self.teachers)
        if self.cohort.plan.learner.forget:
            self._forget()
        if self.half:
            with torch.no_grad():
                for value in self.cohort.parameters.values():
                    value.copy_(value.half())
        self._look()
        self.seconds += time.perf_counter() - begun

    def _forget(self) -> None:
        """Every training job's runs forget on its own recording, and the cohort takes their weights over."""
        weights = []
        for part, cohort in self.split():
            after = forgotten(cohort)
            part.forgetting = after.notes
            weights.append(after.cohort.parameters)
        with torch.no_grad():
            for name, value in self.cohort.parameters.items():
                value.copy_(torch.cat([own[name] for own in weights]))

    def _look(self) -> None:
        """Keep the codes on the held-out episodes at this step."""
        for part, cohort in self.split():
            part.snapshots[self.cohort.step] = held_out_codes(cohort, part.prepared.held_out)

    def split(self) -> Iterator[tuple[Ready, Cohort]]:
        """Every training job with its own runs."""
        return zip(self.parts, split(self.cohort, [part.share for part in self.parts]), strict=True)
