"""Single runs of the authors' public release, `release_runs.csv`: facts beside the counts that the paper prints."""

import csv
from dataclasses import dataclass, replace
from functools import cache
from math import log2
from pathlib import Path

from diacritic.files.ledger import Row
from diacritic.measure.gates import VARIATION, imitates
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
    """The runs of a cell's task, learner, β, K, N and updates, whatever its preset and what it reads."""
    given = tuple(pair for pair in cell.task.parameters if pair[0] != "raw")
    key = (
        replace(cell.task, parameters=given).title,
        cell.learner,
        cell.beta,
        cell.codes,
        cell.demonstrations or 0,
        cell.steps,
    )
    return _runs().get(key, [])


def successes(runs: list[ReleasedRun]) -> list[float]:
    """Success of every run that has one."""
    return [run.success for run in runs if run.success is not None]


def rates(runs: list[ReleasedRun], window: str, over_all: bool) -> list[float]:
    """Bits in a window over the sufficient runs, or over all."""
    return [run.rate[window] for run in runs if window in run.rate and (over_all or run.sufficient)]


GAP_TOYS = ("gap", "gap-toy")
"""Tasks whose last step is the second decision; the release counts a run there by its law at that step."""
_ROUNDING = 2e-3  # bits, of two profiles


def imitating(row: Row) -> bool | None:
    """Whether a run on a gap toy succeeds as the release counts; none where its row does not decide it.

    Rows that have no `variation_profile` decide it where a code holds too little: to be wrong with a chance below D
    about two equal actions takes 1 − h₂(D) bits.
    """
    if row["diverged"]:
        return False
    if row.get("variation_profile"):
        return imitates(row["variation_profile"][-1])
    held, needed = (row.get(key, [None])[-1] for key in ("profile", "decision_profile"))
    if held is None or needed != 1.0 or "p=" in row["task"]:
        return None
    spared = -sum(share * log2(share) for share in (VARIATION, 1 - VARIATION))
    return False if needed - held > spared + _ROUNDING else None
