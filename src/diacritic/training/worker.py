"""Training jobs from a folder: train them on a machine that has nothing but torch, numpy and safetensors.

The folder holds `exchange.json` (training jobs and the cells that they answer) and `demos/`. The results are small: for
each training job one file of stacked weights and one of codes on the held-out episodes, written as soon as it is done.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from certify.errors import UserError
from diacritic.files import job
from diacritic.files.archive import ResultArchives
from diacritic.files.atomic import write_text
from diacritic.files.demos import load
from diacritic.files.job import ResultFiles
from diacritic.files.versions import code_version
from diacritic.memory.kinds import memory_of
from diacritic.tasks.protocol import Task
from diacritic.tasks.recorded import ended
from diacritic.tasks.registry import task_of
from diacritic.training.cohort import Cohort, Plan, start
from diacritic.training.cohort_batching import RUNS, CohortPart, kind, one_cohort, pack, split
from diacritic.training.compress_recorded import forgotten
from diacritic.training.data import Data
from diacritic.training.demonstrations import Prepared, held_out_codes, prepare, supervise
from diacritic.training.forecaster import mislead
from diacritic.training.kl_bound import kl_profile
from diacritic.training.runs import warm_start
from diacritic.training.scheduler import CHUNK, Part, round_robin
from diacritic.training.train_job import TrainJob

TIMES, NETWORKS = "times.json", "networks"
SNAPSHOTS = (0.05, 0.1, 0.2, 0.4)
"""Shares of training at which codes are kept besides those of the end."""
POLICY = ("act", "choose", "control")
"""Heads that a policy acts with; the others are thrown away after training."""


@dataclass
class Ready:
    """A training job with all that its training needs, and the codes that it shows on the way."""

    train_job: TrainJob
    share: CohortPart
    prepared: Prepared
    supervising: float
    """Seconds that its forecasters and teachers took."""
    snapshots: dict[int, NDArray[np.integer[Any]]] = field(default_factory=dict)
    forgetting: dict[str, Any] | None = None
    """What came of forgetting, where its learner does."""


@dataclass(kw_only=True)
class Training(Part):
    """One cohort in training: a training job, or several of equal plans and sizes."""

    parts: list[Ready]
    half: bool = False
    """Round the weights to half precision in the end: the last codes are those of the rounded weights."""
    problem: str | None = None
    """Why it cannot go on, say a kernel that does not fit the device; others are not affected."""

    @property
    def done(self) -> bool:
        return self.problem is not None or super().done

    def advance(self) -> None:
        """The next updates."""
        try:
            self._advance()
        except UserError:
            raise
        except Exception as problem:
            self.problem = f"{type(problem).__name__}: {problem}".splitlines()[0][:300]

    def _advance(self) -> None:
        """A chunk of updates, ending at a step whose codes are kept; those of the last step are `finish`'s."""
        steps, step = self.cohort.plan.steps, self.cohort.step
        stops = sorted({max(1, round(share * steps)) for share in SNAPSHOTS} | {steps})
        end = min([step + CHUNK, *(stop for stop in stops if stop > step)])
        self.cohort.advance(end - step)
        if end in stops and end < steps:
            self._look()

    def finish(self) -> None:
        """Forget where the learner does, round, and look at the codes; time that no other training shares."""
        begun = time.perf_counter()
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


def train_folder(
    folder: Path,
    out: Path,
    device: str = "cpu",
    together: int = 1,
    only: str = "",
    half: bool = False,
    archives: ResultArchives | None = None,
    most: int | None = None,
) -> None:
    """Run every training job whose name holds all words of `only` and that has no result in `out` yet.

    Training jobs that differ in nothing but their recordings and runs train as one cohort of at most `most` runs, which
    changes no result; by default they do so on CUDA, where it saves time.
    """
    given = job.read_job(folder)
    train_jobs = [TrainJob.from_dict(item) for item in given.train_jobs]
    chosen = [train_job for train_job in train_jobs if all(word in train_job.name for word in only.split())]
    by_name = {train_job.name: train_job for train_job in train_jobs}
    if not chosen:
        raise UserError("--only", f"no training job's name holds {only!r}; there are {', '.join(by_name)}")
    job.write_job(out, given.train_jobs, given.cells)
    missing = [train_job for train_job in chosen if not finished(train_job, out)]
    print(f"{len(chosen) - len(missing)} of {len(chosen)} cohorts are there already", flush=True)
    generations = [
        [train_job for train_job in generation if train_job in missing or not finished(train_job, out)]
        for generation in _generations(missing, by_name)
    ]
    if most is None:
        most = RUNS if torch.device(device).type == "cuda" else 0
    waiting, done, begun = sum(map(len, generations)), 0, time.perf_counter()
    failed: list[tuple[str, str]] = []
    for generation in generations:
        started = trainings(folder, generation, device, most, half, by_name, out)
        for training in round_robin(started, together):
            if training.problem is not None:
                failed += [(part.train_job.name, training.problem) for part in training.parts]
                continue
            training.finish()
            for part, cohort in training.split():
                seconds = training.seconds * len(part.train_job.runs) / len(training.cohort.plan.runs)
                kept, done = _keep(part, cohort, seconds, half, out), done + 1
                if archives is not None:
                    archives.add([*kept, *([out / job.EXCHANGE] if done == 1 else [])])
                told = f"{seconds:.1f} s, its forecasters {part.supervising:.1f} s; {time.perf_counter() - begun:.0f} s"
                print(f"{done}/{waiting} {part.train_job.name}: {told}", flush=True)
    if failed:
        (name, reason), number = failed[0], len(failed)
        raise UserError(name, f"{reason}; {number} of {waiting} cohorts failed so, the others are done")


def _generations(chosen: Sequence[TrainJob], by_name: Mapping[str, TrainJob]) -> list[list[TrainJob]]:
    """The training jobs with those that they start from, the latter in earlier lists."""
    formers = {name: train_job.name for train_job in chosen for name in train_job.formers}
    if not formers:
        return [list(chosen)]
    for name, asked in formers.items():
        if name not in by_name:
            reason = f"starts from {name}, which is not a training job of this folder; export the study again"
            raise UserError(asked, reason)
    earlier = _generations([train_job for name, train_job in by_name.items() if name in formers], by_name)
    scheduled = {train_job.name for generation in earlier for train_job in generation}
    return [*earlier, [train_job for train_job in chosen if train_job.name not in scheduled]]


def finished(train_job: TrainJob, out: Path) -> bool:
    """Whether this version of the code has finished the training job; an incomplete result does not count."""
    try:
        result = read_result(train_job, out)
    except UserError:
        return False
    return result is not None and result.notes["code_version"] == code_version()


@dataclass(frozen=True)
class Result(ResultFiles):
    """A training job and its result."""

    train_job: TrainJob


def read_result(train_job: TrainJob, out: Path) -> Result | None:
    """The result of a training job; none if it is not there yet."""
    files = job.read_result(out, train_job.name, len(train_job.runs))
    return None if files is None else Result(**vars(files), train_job=train_job)


def trainings(
    folder: Path,
    train_jobs: Sequence[TrainJob],
    device: str,
    most: int,
    half: bool,
    by_name: Mapping[str, TrainJob],
    out: Path,
) -> Iterator[Training]:
    """The cohorts of training jobs at their start; those that they start from are known by name and lie in `out`."""
    ready = _ready(folder, train_jobs, device, by_name, out)
    described = ((kind(one.share, device) if most else None, len(one.train_job.runs), one) for one in ready)
    for parts in pack(described, most):
        cohort = one_cohort([part.share for part in parts], device)
        yield Training(cohort=cohort, end=cohort.plan.steps, parts=parts, half=half)


def _ready(
    folder: Path, train_jobs: Sequence[TrainJob], device: str, by_name: Mapping[str, TrainJob], out: Path
) -> Iterator[Ready]:
    for train_job in train_jobs:
        stem = folder / "demos" / train_job.recording
        task, prepared = _prepared(stem, train_job.demonstrations, train_job.demos_sha256)
        plan = train_job.plan(len(task.decisions), device)
        seeds, where, begun = train_job.seeds, folder / NETWORKS, time.perf_counter()
        updates = train_job.forecaster_steps, where, train_job.steps
        data = supervise(prepared.data, plan.learner, seeds, device, *updates, how=plan.preset)
        data = _misled(data, train_job)
        supervising = time.perf_counter() - begun
        owner = [seeds.index(run.seed) for run in train_job.runs]  # targets of each seed as targets of each run
        targets = {name: getattr(data, name) for name in ("forecast", "pending", "teacher")}
        data = replace(data, **{name: value[owner] for name, value in targets.items() if value is not None})
        begin = _warm(train_job, plan, data, by_name, out) if train_job.start else start(plan, data)
        yield Ready(train_job, CohortPart(plan, data, begin), prepared, supervising)


def _warm(
    train_job: TrainJob, plan: Plan, data: Data, by_name: Mapping[str, TrainJob], out: Path
) -> dict[str, torch.Tensor]:
    """Each run's start from the run that its training job names; heads that were discarded start again."""
    results = {name: read_result(by_name[name], out) for name in train_job.formers}
    starts = []
    for name, k in train_job.start:
        result = results[name]
        if result is None or k >= len(result.train_job.runs):
            reason = f"run {k} of {name}, which it starts from, is not in {out}; train that first"
            raise UserError(train_job.name, reason)
        own = {key: value[k] for key, value in result.weights.items() if not key.startswith("scale.")}
        starts.append((f"{name}, run {k}", own))
    return warm_start(starts, plan, data)


def _misled(data: Data, train_job: TrainJob) -> Data:
    """Forecasts of a share of the episodes swapped for those of episodes with another pending class."""
    if not train_job.misled or data.joint is None:
        return data
    targets = {name: getattr(data, name) for name in ("forecast", "pending")}
    classes = data.joint[data.last_reveal]
    changed = {
        name: mislead(value, classes, train_job.misled, train_job.seeds)
        for name, value in targets.items()
        if value is not None
    }
    if not changed:
        raise UserError(train_job.name, f"{train_job.learner} regresses no forecast, so that nothing can be misled")
    return replace(data, **changed)


@lru_cache(maxsize=4)
def _prepared(stem: Path, demonstrations: int, digest: str) -> tuple[Task, Prepared]:
    demos = load(stem)
    if demos.digest != digest:
        raise UserError(str(stem), "is another recording than the training job names; export the study again")
    task = task_of(demos)
    return task, prepare(*ended(demos).split(demonstrations), task)


def _keep(part: Ready, cohort: Cohort, seconds: float, half: bool, out: Path) -> tuple[Path, Path]:
    """Codes first, weights last: a result is there when its weights are."""
    train_job, name = part.train_job, part.train_job.name
    shape, carrier = cohort.given.shape, cohort.plan.carrier
    kind = np.uint8 if train_job.codes <= 256 else np.uint16
    snapshots = {step: codes.astype(kind) for step, codes in part.snapshots.items()}
    notes = {
        "order": asdict(train_job),
        "architecture": asdict(carrier),
        "shape": asdict(shape),
        "diverged": cohort.optimiser.diverged.tolist(),
        "seconds": seconds,
        "supervising": part.supervising,
        "forgetting": part.forgetting,
        "kl_profile": _bound(cohort, part.prepared.held_out),
        "device": torch.cuda.get_device_name() if cohort.device.type == "cuda" else "cpu",
        "torch": torch.__version__.split("+")[0],
        "code_version": code_version(),
    }
    heads = {key for term in cohort.plan.terms for key in term.weights(shape, carrier)}
    discarded = {key for key in heads if key.split(".")[0] not in POLICY}
    kept = {key: value for key, value in cohort.parameters.items() if key not in discarded}
    weights = {key: value.half() if half else value for key, value in kept.items()}
    paths = job.write_result(out, name, weights | part.prepared.scale.tensors(), snapshots, notes)
    times = json.loads((out / TIMES).read_text()) if (out / TIMES).exists() else {}
    times[name] = {"training": seconds, "forecasters": part.supervising, "runs": len(train_job.runs)}
    write_text(out / TIMES, json.dumps(times, indent=1) + "\n")
    return paths


@torch.no_grad()
def _bound(cohort: Cohort, held_out: Data) -> list[list[float]] | None:
    """The KL bound of Gaussian bottlenecks on the held-out episodes, by run and step; none of codes."""
    if memory_of(cohort.plan.carrier).measured != "bound":
        return None
    return kl_profile(Cohort(cohort.plan, held_out, str(cohort.device), dict(cohort.parameters)).trace())
