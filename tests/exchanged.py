"""A tiny recorded study for tests of the two-stage path and of the engines."""

from dataclasses import replace
from pathlib import Path

from diacritic.studies.cell import Cell
from diacritic.studies.job_manifest import Placed, export, pack
from diacritic.studies.tasks import task
from diacritic.training.train_job import TrainJob

SHORT = task("two-cues", gap=1, first_gap=1, episodes=40)
PLAIN = Cell("tiny", SHORT, "plain", "carousel", "task", 1e-3, 4, "elsewhere 1/2", 24, seeds=2)
FREE = replace(PLAIN, beta=0.0)


def exported(cells: list[Cell], folder: Path, demos: Path) -> tuple[list[TrainJob], list[Placed]]:
    """Cells packed and written, with forecasters that hardly train."""
    train_jobs, placed = pack(cells, demos, forecaster_steps=2)
    export(train_jobs, placed, folder, demos)
    return train_jobs, placed
