"""Training jobs from a folder: train them on a machine that has nothing but torch, numpy and safetensors.

The folder holds `exchange.json` (training jobs and the cells that they answer) and `demos/`. The results are small: for
each training job one file of stacked weights and one of codes on the held-out episodes, written as soon as it is done.
Cohorts in flight lie in `unfinished/` among the results, so that a worker that was killed goes on with them.
"""

import json
import shutil
import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch

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
from diacritic.training import unfinished
from diacritic.training.cohort import Cohort, Plan, start
from diacritic.training.cohort_batching import RUNS, CohortPart, kind, pack
from diacritic.training.data import Data
from diacritic.training.demonstrations import Prepared, prepare
from diacritic.training.forecaster import mislead
from diacritic.training.job_training import Ready, Training
from diacritic.training.kl_bound import kl_profile
from diacritic.training.networks import Turns, completed
from diacritic.training.runs import warm_start
from diacritic.training.scheduler import round_robin
from diacritic.training.supervision import supervised, supervision
from diacritic.training.teacher import TEACHER, teacher_path
from diacritic.training.train_job import TrainJob

TIMES, NETWORKS = "times.json", "networks"
POLICY = ("act", "choose", "control")
"""Heads that a policy acts with; the others are thrown away after training."""


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
        generation.sort(key=lambda train_job: train_job.learner != TEACHER)  # others learn from their networks
        started = trainings(folder, generation, device, most, half, by_name, out)
        for training in round_robin(started, together):
            if training.problem is not None:
                failed += [(train_job.name, training.problem) for train_job in training.train_jobs]
                continue
            training.finish()
            for part, cohort in training.split():
                seconds = training.seconds * len(part.train_job.runs) / len(training.cohort.plan.runs)
                kept, done = _keep(part, cohort, seconds, training.supervising, half, out), done + 1
                if archives is not None:
                    archives.add([*kept, *([out / job.EXCHANGE] if done == 1 else [])])
                told = f"{seconds:.1f} s, its forecasters {training.supervising:.1f} s"
                passed = f"{time.perf_counter() - begun:.0f} s"
                print(f"{done}/{waiting} {part.train_job.name}: {told}; {passed}", flush=True)
            training.unfinished.unlink(missing_ok=True)
    if failed:
        (name, reason), number = failed[0], len(failed)
        raise UserError(name, f"{reason}; {number} of {waiting} cohorts failed so, the others are done")
    if chosen == train_jobs:
        shutil.rmtree(out / unfinished.FOLDER, ignore_errors=True)  # states of cohorts that were packed otherwise


def _generations(chosen: Sequence[TrainJob], by_name: Mapping[str, TrainJob]) -> list[list[TrainJob]]:
    """The training jobs with those that they start from: first all that start from none, then those that start from
    these, and so on."""
    depth: dict[str, int] = {}

    def visit(train_job: TrainJob) -> int:
        for name in train_job.formers - by_name.keys():
            reason = f"starts from {name}, which is not a training job of this folder; export the study again"
            raise UserError(train_job.name, reason)
        if train_job.name not in depth:
            depth[train_job.name] = max((visit(by_name[name]) + 1 for name in train_job.formers), default=0)
        return depth[train_job.name]

    for train_job in chosen:
        visit(train_job)
    last = max(depth.values(), default=0)
    return [[by_name[name] for name in depth if depth[name] == level] for level in range(last + 1)]


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
    """Training jobs at their start, packed; those that they start from are known by name and lie in `out`."""
    busy: set[Path] = set()
    single = (_training(folder, train_job, device, half, by_name, out, busy) for train_job in train_jobs)
    described = ((_kind(one) if most else None, len(one.train_jobs[0].runs), one) for one in single)
    for several in pack(described, most):
        train_jobs = tuple(train_job for one in several for train_job in one.train_jobs)
        parts = [part for one in several for part in one.parts]
        yield several[0] if len(several) == 1 else replace(several[0], train_jobs=train_jobs, parts=parts)


def _kind(training: Training) -> Hashable | None:
    """Trainings of one kind can be one cohort; one that is supervised trains alone."""
    return kind(training.parts[0].share, str(training.device)) if training.parts else None


def _training(
    folder: Path,
    train_job: TrainJob,
    device: str,
    half: bool,
    by_name: Mapping[str, TrainJob],
    out: Path,
    busy: set[Path],
) -> Training:
    """A training job at its start; where networks supervise it, they are trained in its first turns."""
    stem = folder / "demos" / train_job.recording
    task, prepared = _prepared(stem, train_job.demonstrations, train_job.demos_sha256)
    plan = train_job.plan(len(task.decisions), device)

    def ready() -> Turns[Ready]:
        seeds, updates = train_job.seeds, (train_job.forecaster_steps, folder / NETWORKS, train_job.steps)
        data = yield from supervision(prepared.data, plan.learner, seeds, device, *updates, plan.preset, busy)
        data = _misled(data, train_job)
        owner = [seeds.index(run.seed) for run in train_job.runs]  # targets of each seed as targets of each run
        targets = {name: getattr(data, name) for name in ("forecast", "pending", "teacher")}
        data = replace(data, **{name: value[owner] for name, value in targets.items() if value is not None})
        begin = _warm(train_job, plan, data, by_name, out) if train_job.start else start(plan, data)
        return Ready(train_job, CohortPart(plan, data, begin), prepared)

    training = Training(train_jobs=(train_job,), device=torch.device(device), out=out, parts=[], half=half)
    if supervised(plan.learner):
        return replace(training, supervision=ready())
    training = replace(training, parts=[completed(ready())])
    if train_job.learner != TEACHER or train_job.start:
        return training
    teachers = teacher_path(folder / NETWORKS, plan, prepared.data)
    busy.add(teachers)
    return replace(training, teachers=teachers, busy=busy)


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


def _keep(part: Ready, cohort: Cohort, seconds: float, supervising: float, half: bool, out: Path) -> tuple[Path, Path]:
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
        "supervising": supervising,
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
    times[name] = {"training": seconds, "forecasters": supervising, "runs": len(train_job.runs)}
    write_text(out / TIMES, json.dumps(times, indent=1) + "\n")
    return paths


@torch.no_grad()
def _bound(cohort: Cohort, held_out: Data) -> list[list[float]] | None:
    """The KL bound of Gaussian bottlenecks on the held-out episodes, by run and step; none of codes."""
    if memory_of(cohort.plan.carrier).measured != "bound":
        return None
    return kl_profile(Cohort(cohort.plan, held_out, str(cohort.device), dict(cohort.parameters)).trace())
