"""Running a study: jobs that each train one cohort and judge it, and the rows that they leave in the ledgers.

Every engine calls `run_one`; it alone decides what a row says, so that the same study gives the same ledger anywhere.
A job is done when its rows are in the ledger: whatever stops a runner, the next one goes on with what is missing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from certify.progress import track
from diacritic.rollout.closed_loop import EPISODES
from diacritic.studies import symbolic
from diacritic.studies.cell import Cell
from diacritic.studies.collect import RUNS, Say, enter, judge_result, summaries, waiting
from diacritic.studies.job_manifest import export, pack
from diacritic.studies.ledger import Row, key_of, named, read_keys
from diacritic.studies.recordings import DEMOS, recording
from diacritic.training.demonstrations import FORECASTER_STEPS
from diacritic.training.train_job import TrainJob
from diacritic.training.worker import read_result, train_folder


@dataclass(frozen=True)
class Setting:
    """Where and with what jobs run; several machines must see the same folders."""

    results: Path
    """Ledgers."""
    work: Path
    """Training jobs, and what was trained."""
    demos: Path = DEMOS
    runs: Path = RUNS
    device: str = "cpu"
    episodes: int = EPISODES
    """Closed-loop episodes of each policy; 0 plays none."""
    threads: int = 0
    forecaster_steps: int = FORECASTER_STEPS

    @property
    def trained(self) -> Path:
        return self.work / "results"


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


def jobs_of(cells: Iterable[Cell], setting: Setting) -> list[Job]:
    """The jobs that the ledgers lack; their recordings are made and their training jobs are written at once."""
    missing = missing_cells(cells, setting.results)
    jobs = [Job(((cell, tuple(range(cell.seeds))),)) for cell in missing if not cell.task.recorded]
    recorded = [cell for cell in missing if cell.task.recorded]
    if recorded:
        train_jobs, placed = pack(recorded, setting.demos, setting.forecaster_steps)
        for cell in track(recorded, "fresh recordings"):
            recording(cell, setting.demos, fresh=True)
        export(train_jobs, placed, setting.work, setting.demos)
        for train_job in train_jobs:
            asked = waiting(placed, train_job.name, setting.results)
            if asked:
                jobs.append(Job(tuple((cell, tuple(runs)) for cell, runs in asked), train_job))
    return jobs


def missing_cells(cells: Iterable[Cell], results: Path) -> list[Cell]:
    """Cells of which some run is in no ledger; a run that another study made counts as well."""
    done = {key for path in results.glob("*.jsonl") for key in read_keys(path)}
    return [cell for cell in cells if any(key_of(named(cell, seed)) not in done for seed in cell.run_seeds)]


def train_one(job: Job, setting: Setting) -> None:
    """Train the cohort of a recorded job, unless its result is there."""
    if job.train_job is not None:
        train_folder(setting.work, setting.trained, setting.device, only=job.train_job.name)


def judge_one(job: Job, setting: Setting) -> list[Row]:
    """The rows of a job whose cohort is trained; a symbolic one is trained on the spot."""
    if job.train_job is None:
        return symbolic.run_cell(job.asked[0][0], setting.device)
    result = read_result(job.train_job, setting.trained)
    assert result is not None  # it has been trained
    asked = [(cell, list(runs)) for cell, runs in job.asked]
    return judge_result(result, asked, setting.runs, setting.demos, setting.episodes, setting.threads)


def run_one(job: Job, setting: Setting) -> list[Row]:
    """Train and judge one job."""
    train_one(job, setting)
    return judge_one(job, setting)


def run_here(jobs: Sequence[Job], setting: Setting, together: int = 1, say: Say = print) -> None:
    """All jobs on this machine; with `together`, so many cohorts train in turns."""
    if together > 1 and any(job.train_job for job in jobs):
        train_folder(setting.work, setting.trained, setting.device, together)
    exact = [job.asked[0][0] for job in jobs if job.train_job is None] if together > 1 else []
    for rows in symbolic.run_cells(exact, setting.device, together):
        _entered(rows, exact, setting, say)
    for job in track([job for job in jobs if job.train_job or together < 2], "jobs"):
        _entered(run_one(job, setting), job.cells, setting, say)


def _entered(rows: Sequence[Row], cells: Sequence[Cell], setting: Setting, say: Say) -> None:
    enter(rows, setting.results)
    for line in summaries(rows, cells):
        say(line)
