"""Single runs of the authors' public release, `release_runs.csv`: facts beside the counts that the paper prints."""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from diacritic.studies.cell import Cell

FILE = Path(__file__).with_name("release_runs.csv")
WINDOWS = ("gap1", "gap2", "grasp", "mid-delay")


@dataclass(frozen=True)
class ReleasedRun:
    """What the release tells of one run; none where it tells nothing."""

    sufficient: bool | None
    success: float | None
    rate: dict[str, float]
    """Bits by window."""


Key = tuple[str, str, float, int, int, int]


@cache
def _runs() -> dict[Key, list[ReleasedRun]]:
    runs: dict[Key, list[ReleasedRun]] = {}
    with FILE.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            key = row["task"], row["learner"], float(row["beta"]), int(row["K"]), int(row["N"]), int(row["steps"])
            sufficient = bool(int(row["sufficient"])) if row["sufficient"] else None
            rate = {window: float(row[window]) for window in WINDOWS if row[window]}
            success = float(row["success"]) if row["success"] else None
            runs.setdefault(key, []).append(ReleasedRun(sufficient, success, rate))
    return runs


def released(cell: Cell) -> list[ReleasedRun]:
    """The runs of a cell's task, learner, β, K, N and updates, whatever its preset."""
    key = cell.task.title, cell.learner, cell.beta, cell.codes, cell.demonstrations or 0, cell.steps
    return _runs().get(key, [])


def successes(runs: list[ReleasedRun]) -> list[float]:
    """Success of every run that has one."""
    return [run.success for run in runs if run.success is not None]


def rates(runs: list[ReleasedRun], window: str, over_all: bool) -> list[float]:
    """Bits in a window over the sufficient runs, or over all."""
    return [run.rate[window] for run in runs if window in run.rate and (over_all or run.sufficient)]
