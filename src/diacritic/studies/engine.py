"""Running a study: jobs that each train one cohort and judge it, and the rows that they leave in the ledgers.

Every engine calls `run_one`; it alone decides what a row says, so that the same study gives the same ledger anywhere.
A job is done when its rows are in the ledger: whatever stops a runner, the next one goes on with what is missing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from certify.progress import track, working
from diacritic.files.ledger import Row, key_of, read_keys
from diacritic.studies import symbolic
from diacritic.studies.cell import Cell
from diacritic.studies.collect import Say, StudySettings, enter, judge_result, waiting
from diacritic.studies.job_manifest import export, pack
from diacritic.studies.recordings import recording
from diacritic.training.train_job import TrainJob
from diacritic.training.worker import read_result, train_folder


@dataclass(frozen=True)
class Job:
    """One cohort, and the runs of cells that it is asked for."""

    asked: tuple[tuple[Cell, tuple[int, ...]], ...]
    train_job: TrainJob | None = None
    """How to train it from a recording; a symbolic cell says everything itself."""

    @property
    def cells(self) -> list[Cell]:
        return [cell for cell, _ in self.asked]

    @property
    def name(self) -> str:
        cell = self.asked[0][0]
        return self.train_job.name if self.train_job else f"{cell.study}: {cell.name}, {cell.learner}, {cell.preset}"


def jobs_of(cells: Iterable[Cell], settings: StudySettings) -> list[Job]:
    """The jobs that the ledgers lack; their recordings are made and their training jobs are written at once."""
    missing = missing_cells(cells, settings.results)
    jobs = [Job(((cell, tuple(range(cell.seeds))),)) for cell in missing if not cell.task.recorded]
    recorded = [cell for cell in missing if cell.task.recorded]
    if recorded:
        train_jobs, placed = pack(recorded, settings.demos, settings.forecaster_steps)
        for cell in track(recorded, "fresh recordings"):
            recording(cell, settings.demos, fresh=True)
        export(train_jobs, placed, settings.work, settings.demos)
        for train_job in train_jobs:
            asked = waiting(placed, train_job.name, settings.results)
            if asked:
                jobs.append(Job(tuple((cell, tuple(runs)) for cell, runs in asked), train_job))
    return jobs


def missing_cells(cells: Iterable[Cell], results: Path) -> list[Cell]:
    """Cells of which some run is in no ledger, from the first seed that is missing to the last; a run that another
    study made counts as well."""
    done = {key for path in results.glob("*.jsonl") for key in read_keys(path)}
    missing = [(cell, [s for s in cell.run_seeds if key_of(cell.identity(s)) not in done]) for cell in cells]
    return [replace(cell, first_seed=own[0], seeds=own[-1] - own[0] + 1) for cell, own in missing if own]


def train_one(job: Job, settings: StudySettings) -> None:
    """Train the cohort of a recorded job, unless its result is there."""
    if job.train_job is not None:
        train_folder(settings.work, settings.trained, settings.device, only=job.train_job.name)


def judge_one(job: Job, settings: StudySettings) -> list[Row]:
    """The rows of a job whose cohort is trained; a symbolic one is trained on the spot."""
    if job.train_job is None:
        judged = symbolic.run_cells(job.cells, settings.device, work=settings.work)
        return [row for _, rows in judged for row in rows]
    result = read_result(job.train_job, settings.trained)
    assert result is not None  # it has been trained
    return judge_result(result, job.asked, settings)


def run_one(job: Job, settings: StudySettings) -> list[Row]:
    """Train and judge one job."""
    train_one(job, settings)
    return judge_one(job, settings)


def run_here(jobs: Sequence[Job], settings: StudySettings, together: int = 1, say: Say = print) -> None:
    """All jobs on this machine; with `together`, so many cohorts train in turns."""
    if together > 1 and any(job.train_job for job in jobs):
        train_folder(settings.work, settings.trained, settings.device, together)
    exact = [job.asked[0][0] for job in jobs if job.train_job is None]
    with working("training symbolic cells") as tell:
        for cell, rows in symbolic.run_cells(exact, settings.device, together, settings.work, tell):
            enter(rows, exact, settings.results, say)
            symbolic.discard(cell, settings.work)
    for job in track([job for job in jobs if job.train_job], "jobs"):
        enter(run_one(job, settings), job.cells, settings.results, say)
