"""Words in which the catalogue declares its cells and figures; every number of the paper comes from the reference."""

from collections.abc import Callable, Mapping, Sequence
from statistics import mean
from typing import Any

from diacritic.files.ledger import Row
from diacritic.studies.cell import Cell
from diacritic.studies.results import Results
from diacritic.studies.tasks import Task, task
from reproduction.derive import Derived, gathered
from reproduction.paper import Paper
from reproduction.reference import Block, count, figure, row
from reproduction.verdicts import NO_ESTIMATE, Count, Range, Value

PRESETS = ("carousel", "release")
MANY = 16  # seeds of the two main tables
RECORDED = "event-agnostic-recorded"
ERROR_TOLERANCE = 0.005  # of a squared error of standardised actions
GAPS = {"gap1": "first_gap_bits", "gap2": "second_gap_bits"}
"""Our windows of the robot tasks, and what the reference calls their rates."""
SETTINGS = {
    "gap 6": task("two-cues", gap=6),
    "gap 10": task("two-cues", gap=10),
    "gap 20": task("two-cues", gap=20),
    "M=16": task("full-reveal", modes=16),
    "M=32": task("full-reveal", modes=32),
}


def reported(block: str, line: Block, rates: Mapping[str, str] | None = None, key: str = "sufficient") -> Paper:
    """What a row says of a cell; `rates`: our window and the row's key."""
    success = line.get("closed_loop")
    bits = [(window, line.get(name)) for window, name in (rates or {}).items()]
    return Paper(
        block,
        count(line, key),
        success if isinstance(success, float) else None,
        tuple((window, float(value)) for window, value in bits if isinstance(value, int | float)),
    )


def from_paper(block: str, rates: Mapping[str, str] | None = None, rows: str = "rows", **match: Any) -> Paper:
    """What the matching row of a section says of a cell."""
    return reported(block, row(block, rows, **match), rates)


def counted(block: str, passed: int | None, of: int = 8) -> Paper | None:
    """A bare count."""
    return None if passed is None else Paper(block, (passed, of))


def franka(study: str, task: Task, learner: str, paper: Paper | None = None, **changes: Any) -> Cell:
    """A cell of a robot task in the frozen settings: N = 448, β = 0.001, ten thousand steps, K = 16, its own gate."""
    frozen = {"preset": "carousel", "gate": "task", "beta": 1e-3, "steps": 10_000, "demonstrations": 448}
    return Cell(study, task, learner, reference=paper, **{**frozen, **changes})


def count_of(block: str, key: str, passed: str = "sufficient") -> Count:
    """A table { sufficient, of } of a section."""
    table = figure(block, key)
    return Count(table[passed], table["of"])


def range_of(block: str, key: str) -> Range:
    """A number, or a pair that is a range."""
    ends = figure(block, key)
    return Range(*map(float, ends)) if isinstance(ends, list) else Range(float(ends), float(ends))


def imitation_error(phase: str = "all") -> Callable[[Row], float | None]:
    """The squared error of a row's standardised actions on held-out episodes, in a phase or over all steps."""
    return lambda row: row.get("imitation_error", {}).get(phase)


def mean_of(cells: Sequence[Cell], told: Callable[[Row], float | None]) -> Derived:
    """The mean of what rows say, over those that say it; nothing while a run is missing."""

    def derive(results: Results) -> Value | None:
        rows = gathered(results, cells)
        numbers = [number for run in rows if (number := told(run)) is not None]
        if not numbers:
            return NO_ESTIMATE if rows else None
        return Range(mean(numbers), mean(numbers))

    return derive
