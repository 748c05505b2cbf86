"""The arena: the field's memories on the same tasks, seeds, updates and evaluation; one row a run, one matrix."""

import runpy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

from certify.errors import UserError
from diacritic.files.ledger import Row
from diacritic.memory.certified_codes import certified_labels
from diacritic.memory.kinds import MEMORIES, memory_of
from diacritic.memory.shape import Architecture
from diacritic.studies.cell import Cell
from diacritic.studies.results import Results
from diacritic.studies.tasks import Task, model_of, requirement_of, task
from diacritic.training.learner import LEARNERS, learner

NAME, SEARCH = "arena", "arena-search"
STEPS, SEEDS = 2000, 8


@dataclass(frozen=True)
class Entrant:
    """A row of the matrix: a learner with a preset, and the size of its own that the search chooses."""

    learner: str
    preset: str = "carousel"
    size: str | None = None
    sizes: tuple[int, ...] = (64, 128, 256)
    like: str | None = None
    """The entrant whose setting it takes over."""
    arm: str = "carousel"
    """The preset on recordings of the arm."""


_CODE = (16, 32, 64)
ENTRANTS: dict[str, Entrant] = {
    "release": Entrant("plain", "release-external", "code_size", _CODE, arm="release"),
    "carousel": Entrant("plain", size="code_size", sizes=_CODE),
    "carousel+forgetting": Entrant("plain+forgetting", size="code_size", sizes=_CODE, like="carousel"),
    "certified": Entrant("certified"),
    "GRU code": Entrant("gru-code", size="code_size", sizes=_CODE),
    "FSQ": Entrant("fsq", size="width"),
    "LFQ": Entrant("lfq", size="width"),
    "GRU": Entrant("gru-128", size="state_size"),
    "chrono GRU": Entrant("gru-chrono", size="state_size"),
    "minGRU": Entrant("min-gru", size="state_size"),
    "LRU": Entrant("lru", size="state_size"),
    "S5": Entrant("s5", size="state_size"),
    "selective": Entrant("selective", size="state_size"),
    "bistable": Entrant("bistable", size="state_size"),
    "registers": Entrant("registers", size="code_size", sizes=_CODE),
    "Transformer": Entrant("transformer", size="width"),
    "Transformer code": Entrant("full-history", size="width"),
    "frames 1": Entrant("frames-1", size="width"),
    "frames 4": Entrant("frames-4", size="width"),
    "frames 16": Entrant("frames-16", size="width"),
}
"""Memories by the name of their row."""
SHORT = task("memory-chain", bits=2, delay=19)
"""Episodes of 20 steps, played on at 100, 10⁴ and 10⁶ without retraining."""
LENGTHS = (100, 1000, 10_000, 1_000_000)
TASKS: tuple[Task, ...] = (
    *(task("memory-chain", bits=bits, delay=10) for bits in (1, 2, 3)),
    task("modulo-counter", modulus=3, horizon=8),
    task("running-parity", horizon=8),
    task("forever:n-back", horizon=8, lag=2),
    task("gap-toy"),
    task("signpost-corridor", M=16, W=1),
    SHORT,
    task("passive-t-maze", L=100),
    *(task("memory-chain", bits=bits, delay=100) for bits in (1, 2, 3)),
    task("cue-corridor", R=4, L=80),
    task("two-cues", gap=6),
    task("weighing", gap=6),
    task("two-cues", gap=20),
    task("readout-3", modes=32),
    task("full-reveal", modes=512),
    task("two-cues", gap=60),
    task("passive-t-maze", L=1000),
    *(task("memory-chain", bits=bits, delay=1000) for bits in (1, 2, 3)),
)
"""From cheap to dear: symbolic ones are learned from every episode with its exact weight, the arm's from recordings."""
RATES = (3e-4, 1e-3, 3e-3)
DEVELOPMENT: tuple[Task, ...] = (
    task("memory-chain", bits=2, delay=30),
    task("modulo-counter", modulus=4, horizon=6),
)
"""Where settings are searched; none of them is a task of the matrix."""


@dataclass(frozen=True)
class Setting:
    """What the search chooses; none: as the preset and the learner have it."""

    rate: float | None = None
    size: int | None = None


def cells(
    entrants: Iterable[str] = ENTRANTS,
    steps: int = STEPS,
    seeds: int = SEEDS,
    settings: Mapping[str, Setting] | None = None,
    tasks: Iterable[Task] | None = None,
) -> list[Cell]:
    """Every task with every entrant; an entrant may also be a learner, or a memory that was registered."""
    chosen, named = settings or {}, list(entrants)
    return [
        cell_of(name, task, chosen.get(entrant_of(name).like or name, Setting()), steps, seeds)
        for task in (TASKS if tasks is None else tasks)
        for name in named
    ]


def cell_of(name: str, task: Task, setting: Setting, steps: int, seeds: int) -> Cell:
    """One cell of the matrix."""
    entrant = entrant_of(name)
    sized = f"{entrant.learner}:{entrant.size}={setting.size}" if setting.size else entrant.learner
    how, gate = (entrant.arm, "task") if task.recorded else (entrant.preset, "external")
    cell = Cell(NAME, task, sized, how, gate, 1e-3, steps, seeds=seeds, rate=setting.rate)
    certified = not task.recorded and learner(cell.learner).certified
    return replace(cell, codes=max(cell.codes, _certified_codes(task))) if certified else cell


@cache
def _certified_codes(task: Task) -> int:
    """How many codes the certified machine of a symbolic task has."""
    return certified_labels(model_of(task), requirement_of(task)).machine.codes


def entrant_of(name: str) -> Entrant:
    """The row of that name, a learner, or a memory that was registered."""
    if name in ENTRANTS:
        return ENTRANTS[name]
    if name not in LEARNERS and name not in MEMORIES:
        raise UserError("--memory", f"no memory is called {name!r}; known: {', '.join(ENTRANTS)}")
    return Entrant(name)


def frozen(results: Results) -> dict[str, Setting]:
    """The setting that each entrant's search chose: most sufficient seeds over the development cells, then the higher
    success, then the lower loss; one that was not tried on all of them comes last."""
    tried: dict[str, dict[Setting, list[Row]]] = {}
    for row in results.files.get(SEARCH, ()):
        tried.setdefault(row["entrant"], {}).setdefault(Setting(row["rate"], row["size"]), []).append(row)
    return {name: max(trials, key=lambda one: _merit(trials[one])) for name, trials in tried.items()}


def _merit(rows: Sequence[Row]) -> tuple[int, int, float, float]:
    sums = [sum(row[key] for row in rows) for key in ("sufficient", "success", "loss")]
    return len(rows), sums[0], sums[1], -sums[2]


def searched(results: Results) -> tuple[int, int]:
    """How many trials of the search were made, and how many it has."""
    rows = results.files.get(SEARCH, ())
    every = [one for one in ENTRANTS.values() if one.size is not None and one.like is None]
    return len(rows), len(DEVELOPMENT) * len(RATES) * sum(len(one.sizes) for one in every)


def superseded(results: Results) -> int:
    """How many runs of the ledger have other settings than the frozen ones of their memory: no score counts them."""
    counted = {(cell.name, cell.learner, cell.digest) for cell in cells(settings=frozen(results))}
    learners = {entrant.learner for entrant in ENTRANTS.values()}
    rows = [row for row in results.files.get(NAME, ()) if row["learner"].split(":")[0] in learners]
    whole = [row for row in rows if row["steps"] == STEPS]
    return sum((row["cell"], row["learner"], row.get("configuration")) not in counted for row in whole)


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
    """Mean over the seeds: in closed loop, or of decisions on held-out episodes of a recording."""
    bits: float | None
    """Largest mean rate of a window, over the sufficient seeds; none where no code carries the memory."""
    carried: float | None
    """The same over all seeds."""
    longest: int | None
    """The longest episodes that at least half of the seeds still solve."""
    updates: int | None
    """Median over the seeds that got there: updates until every action is right for the first time."""
    seconds: float | None
    parameters: int
    latency: float | None
    """Microseconds a step."""
    device: str
    """What it was trained on."""
    closed_loop: float | None = None
    """Mean success over the seeds where every one of them acted itself; none where a recording is all there was."""

    @property
    def text(self) -> str:
        return f"{self.sufficient}/{self.seeds}"


def score(results: Results, cell: Cell) -> Score | None:
    """The rows of a cell as one score; none where runs are missing."""
    rows = results.runs(cell)
    if len(rows) < cell.seeds or any("parameters" not in row for row in rows):
        return None
    good = [row for row in rows if row["sufficient"]]
    rates, all_rates = ([_rate(row) for row in some] for some in (good, rows))
    reached = sorted((row["longest"] or 0 for row in rows), reverse=True)[(len(rows) - 1) // 2]
    played = all(row["success"] is not None for row in rows)
    success = sum(row["success" if played else "decisions_right"] for row in rows) / len(rows)
    return Score(
        len(good),
        len(rows),
        success,
        sum(rates) / len(rates) if rates and cell_codes(cell) else None,
        sum(all_rates) / len(rows) if cell_codes(cell) else None,
        reached or None,
        _middle(rows, "first_sufficient_step"),
        _middle(rows, "first_sufficient_seconds"),
        rows[0]["parameters"],
        rows[0]["latency_us"],
        rows[0]["device"],
        success if played else None,
    )


def cell_codes(cell: Cell) -> bool:
    """Whether one code is all that a cell's runs remember."""
    carrier = learner(cell.learner).architecture(Architecture())
    return memory_of(carrier).finite(carrier)


def _rate(row: Row) -> float:
    return max((bits for bits in row["rate"].values() if bits is not None), default=0.0)


def _middle(rows: Sequence[Row], key: str) -> Any:
    values = [row[key] for row in rows if row[key] is not None]
    return median(values) if values else None


def matrix(
    results: Results, entrants: Sequence[str], steps: int = STEPS, seeds: int = SEEDS
) -> dict[Task, list[Score | None]]:
    """Scores by task and entrant; none where runs are missing."""
    settings = frozen(results)
    return {task: [score(results, cell) for cell in cells(entrants, steps, seeds, settings, [task])] for task in TASKS}
