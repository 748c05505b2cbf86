"""Two-stage runs: cells as training jobs for a machine without a simulator, and their results as ledger rows."""

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from certify.errors import UserError
from diacritic.files.atomic import make_folder, path_atomic
from diacritic.files.job import EXCHANGE, REMEDY, read_job, write_job
from diacritic.studies.cell import Cell
from diacritic.studies.recordings import DEMOS, demonstrations, recording, recording_name
from diacritic.training.cohort import Run
from diacritic.training.cohort_batching import RUNS
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.supervision import FORECASTER_STEPS
from diacritic.training.train_job import TrainJob


@dataclass(frozen=True)
class Placed:
    """A cell and where its runs are: which runs of which training jobs, by the cell's seeds in turn."""

    cell: Cell
    positions: tuple[tuple[str, int], ...]


def pack(
    cells: Iterable[Cell], folder: Path = DEMOS, forecaster_steps: int = FORECASTER_STEPS, most: int = RUNS
) -> tuple[list[TrainJob], list[Placed]]:
    """Cells that differ only in numbers (β, learning rate, auxiliary weight, seeds) as runs of the same cohorts, of at
    most so many runs."""
    if most < 1:
        raise UserError("--cohort", f"{most} runs are not a cohort; give at least 1")
    groups: dict[tuple[object, ...], dict[Run, None]] = {}
    wanted = list(cells)
    trained = [*dict.fromkeys(former for cell in wanted for former in _formers(cell)), *wanted]
    for cell in trained:
        if not cell.task.recorded:
            raise UserError(cell.name, "is a symbolic cell; `diacritic study run` trains it here")
        _ = learner(cell.learner), preset(cell.preset)  # an unknown name stops before anything is recorded
        groups.setdefault(_kind(cell), {}).update(dict.fromkeys(_runs(cell)))
    train_jobs: list[TrainJob] = []
    positions: dict[tuple[object, Run], tuple[str, int]] = {}
    for cell in trained:
        kind = _kind(cell)
        different = tuple(groups.pop(kind, {}))
        for runs in (different[first : first + most] for first in range(0, len(different), most)):
            name, digest = recording_name(cell), recording(cell, folder).digest
            train_job = TrainJob(
                name,
                digest,
                demonstrations(cell),
                cell.learner,
                cell.preset,
                cell.steps,
                cell.codes,
                runs,
                forecaster_steps if cell.forecaster is None else cell.forecaster,
                cell.misled,
                _starts(cell.after, runs, positions),
            )
            train_jobs.append(train_job)
            positions |= {(kind, run): (train_job.name, k) for k, run in enumerate(runs)}
    placed = [Placed(cell, tuple(positions[_kind(cell), run] for run in _runs(cell))) for cell in wanted]
    return train_jobs, placed


def export(train_jobs: Sequence[TrainJob], placed: Sequence[Placed], out: Path, folder: Path = DEMOS) -> None:
    """Training jobs, cells and recordings as one folder; `exchange.json` is written last."""
    make_folder(out / "demos")
    for name in sorted({train_job.recording for train_job in train_jobs}):
        for suffix in (".npz", ".json"):
            with path_atomic(out / "demos" / f"{name}{suffix}") as partial:
                shutil.copyfile(folder / f"{name}{suffix}", partial)
    cells = [{"cell": item.cell.to_dict(), "places": item.positions} for item in placed]
    write_job(out, [asdict(train_job) for train_job in train_jobs], cells)


def read_placed(folder: Path) -> tuple[dict[str, TrainJob], list[Placed]]:
    """Training jobs by name, and cells, of an exported folder or of one with results."""
    job = read_job(folder)
    train_jobs = {train_job.name: train_job for train_job in map(TrainJob.from_dict, job.train_jobs)}
    path = folder / EXCHANGE
    return train_jobs, [_placed(item, train_jobs, f"{path}: cells[{k}]") for k, item in enumerate(job.cells)]


def _placed(item: Mapping[str, Any], train_jobs: Mapping[str, TrainJob], where: str) -> Placed:
    """A cell as `export` wrote it; its places are runs of the training jobs."""
    try:
        placed = Placed(Cell.from_dict(item["cell"]), tuple((name, k) for name, k in item["places"]))
        _ = placed.cell.name, placed.cell.digest, placed.cell.identity(0)
    except UserError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as problem:
        raise UserError(where, f"is not a cell ({str(problem)[:100]}); {REMEDY}") from None
    runs = [
        (train_jobs[name].runs, k) if name in train_jobs and type(k) is int else ((), 0) for name, k in placed.positions
    ]
    if len(runs) != len(placed.cell.run_seeds) or not all(0 <= k < len(those) for those, k in runs):
        raise UserError(where, f"names runs that no training job has, or not one for each seed; {REMEDY}")
    return placed


def _kind(cell: Cell) -> tuple[object, ...]:
    """What runs of one cohort share."""
    supervised = cell.forecaster, cell.misled
    before = None if cell.after is None else (_kind(cell.after), cell.after.beta, cell.after.rate, cell.after.auxiliary)
    shared = recording_name(cell), demonstrations(cell), cell.learner, cell.preset, cell.steps, cell.codes
    return *shared, *supervised, before


def _starts(
    former: Cell | None, runs: Sequence[Run], positions: Mapping[tuple[object, Run], tuple[str, int]]
) -> tuple[tuple[str, int], ...]:
    """Where the runs of the same seeds are that these runs start from."""
    return () if former is None else tuple(positions[_kind(former), _run(former, run.seed)] for run in runs)


def _formers(cell: Cell) -> list[Cell]:
    """The cells that it starts from, the first one first."""
    return [] if cell.former is None else [*_formers(cell.former), cell.former]


def _runs(cell: Cell) -> Iterator[Run]:
    return (_run(cell, seed) for seed in cell.run_seeds)


def _run(cell: Cell, seed: int) -> Run:
    return Run(seed, cell.beta, cell.rate, cell.auxiliary)
