"""The arena: the field's memories on the same tasks, seeds, updates and evaluation; one row a run, one matrix."""

import runpy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from certify.errors import UserError
from diacritic.memory.protocol import MEMORIES
from diacritic.studies.cell import Cell, Study
from diacritic.studies.results import Results
from diacritic.studies.tasks import Task, task
from diacritic.training.learner import LEARNERS

NAME = "arena"
STEPS, SEEDS = 3000, 8
ENTRANTS: dict[str, tuple[str, str]] = {
    "release": ("plain", "release-external"),
    "carousel": ("plain", "carousel"),
    "GRU code": ("gru-code", "carousel"),
    "FSQ": ("fsq", "carousel"),
    "LFQ": ("lfq", "carousel"),
    "GRU": ("gru-128", "carousel"),
    "chrono GRU": ("gru-chrono", "carousel"),
    "minGRU": ("min-gru", "carousel"),
    "LRU": ("lru", "carousel"),
    "S5": ("s5", "carousel"),
    "selective": ("selective", "carousel"),
    "bistable": ("bistable", "carousel"),
    "registers": ("registers", "carousel"),
    "Transformer": ("transformer", "carousel"),
    "Transformer code": ("full-history", "carousel"),
    "frames 1": ("frames-1", "carousel"),
    "frames 4": ("frames-4", "carousel"),
    "frames 16": ("frames-16", "carousel"),
}
"""Memories by the name of their column: learner and preset."""
TASKS: tuple[Task, ...] = (
    *(task("memory-chain", bits=bits, delay=delay) for delay in (10, 100) for bits in (1, 2, 3)),
    *(task("passive-t-maze", L=length) for length in (10, 100)),
    task("cue-corridor", R=4, L=80),
    task("signpost-corridor", M=16, W=1),
    task("modulo-counter", modulus=3, horizon=8),
    task("running-parity", horizon=8),
    task("gap", gap1=3, gap2=20),
)
"""Symbolic tasks, learned from every episode with its exact weight."""


def cells(entrants: Iterable[str] = ENTRANTS, steps: int = STEPS, seeds: int = SEEDS) -> list[Cell]:
    """Every task with every entrant; an entrant may also be a learner, or a memory that was registered."""
    return [
        Cell(NAME, place, *_entrant(name), gate="external", beta=1e-3, steps=steps, seeds=seeds)
        for place in TASKS
        for name in entrants
    ]


def study(entrants: Iterable[str] = ENTRANTS, steps: int = STEPS, seeds: int = SEEDS) -> Study:
    return Study(NAME, "The field's memories in one trainer", cells=tuple(cells(entrants, steps, seeds)))


def enter(file: Path) -> list[str]:
    """Memories that a Python file registers, by name."""
    if not file.is_file():
        raise UserError(str(file), "is not a file; give a Python file that registers a memory (docs/arena.md)")
    before = set(MEMORIES)
    try:
        runpy.run_path(str(file), run_name=file.stem)
    except UserError:
        raise
    except Exception as problem:  # whatever the file of somebody else does
        raise UserError(str(file), f"ends with {type(problem).__name__}: {problem}".splitlines()[0]) from problem
    entered = [name for name in MEMORIES if name not in before]
    if not entered:
        raise UserError(str(file), "registers no memory; decorate its class with diacritic.memory.protocol.register")
    return entered


@dataclass(frozen=True)
class Score:
    """One cell of the matrix."""

    sufficient: int
    seeds: int
    success: float
    """Mean over the seeds, exact."""
    bits: float | None
    """Largest mean rate of a window, over the sufficient seeds; none where no code carries the memory."""

    @property
    def text(self) -> str:
        return f"{self.sufficient}/{self.seeds}"


def matrix(
    results: Results, entrants: Sequence[str], steps: int = STEPS, seeds: int = SEEDS
) -> list[list[Score | None]]:
    """Scores by task and entrant; none where runs are missing."""
    listed = iter(cells(entrants, steps, seeds))
    return [[_score(results, next(listed)) for _ in entrants] for _ in TASKS]


def _score(results: Results, cell: Cell) -> Score | None:
    rows = results.runs(cell)
    if len(rows) < cell.seeds:
        return None
    good = [row for row in rows if row["sufficient"]]
    rates = [max((bits for bits in row["rate"].values() if bits is not None), default=0.0) for row in good]
    coded = bool(rates) and max(rates) > 0
    return Score(
        len(good),
        len(rows),
        sum(row["success"] for row in rows) / len(rows),
        sum(rates) / len(rates) if coded else None,
    )


def _entrant(name: str) -> tuple[str, str]:
    if name in ENTRANTS:
        return ENTRANTS[name]
    if name not in LEARNERS and name not in MEMORIES:
        raise UserError("--memory", f"no memory is called {name!r}; known: {', '.join(ENTRANTS)}")
    return name, "carousel"
