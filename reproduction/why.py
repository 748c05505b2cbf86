"""One line beside a verdict: why it differs, from what was measured, and what a line that was not run would cost."""

import json
import tomllib
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import mean

from diacritic.files.ledger import Row
from diacritic.measure.gates import THRESHOLD, VARIATION
from diacritic.studies.cell import Cell
from diacritic.studies.results import Results
from reproduction.compare import CellLine, FigureLine
from reproduction.derive import passed
from reproduction.paper import paper_of

UNEXPLAINED = "unexplained"
SHARED = (
    "gradients or weights that were not finite, in the last runs of a cohort: captured graphs shared a workspace on "
    "the GPU (results/benchmarks/workspaces-cuda.json), which is repaired; to be run again"
)


@cache
def _reasons() -> dict[str, dict[str, str]]:
    """Reasons that no row of a ledger holds, by study and by the beginning of a figure's name."""
    return tomllib.loads(Path(__file__).with_name("reasons.toml").read_text(encoding="utf-8"))


def why_figure(study: str, line: FigureLine) -> str:
    """Why a figure differs."""
    reasons = _reasons().get(study, {})
    return next((said for start, said in reasons.items() if line.figure.name.startswith(start)), UNEXPLAINED)


def why_cell(line: CellLine) -> str:
    """Why a cell differs, part by part."""
    told = [_why(part, line) for part in line.verdict.parts]
    return "; ".join(dict.fromkeys(reason for reason in told if reason)) or UNEXPLAINED


def _why(part: str, line: CellLine) -> str:
    if part.startswith("runs that diverged"):
        return SHARED if any(map(_shared, line.rows)) else "gradients or weights that were not finite"
    if part.startswith("rate in "):
        window = part.removeprefix("rate in ").rpartition(" (")[0]
        return _beyond(line, window)
    return _failing(line.rows) if part == "count" else _played(line.rows)


def _shared(row: Row) -> bool:
    """Whether a run diverged on a GPU before every captured graph had a workspace of its own (training 3)."""
    return row.get("diverged", False) and row["device"] != "cpu" and "training 2" in row.get("code_version", "")


def _beyond(line: CellLine, window: str) -> str:
    """Bits beyond the requirement, ours and the paper's."""
    ours, need, paper = line.rate(window), line.requirement(window), paper_of(line.cell)
    if ours is None or need is None or paper is None:
        return ""
    theirs = dict(paper.rate)[window]
    held = f"our code holds {ours - need:+.2f}, the paper's {theirs - need:+.2f}"
    return f"beyond the {need:.2f} bit that {window} needs, {held}"


def _failing(rows: Sequence[Row]) -> str:
    """The windows in which failing seeds fail, or, where nothing is scored but behaviour, the steps."""
    failed = [row for row in rows if not passed(row)]
    counts: dict[str, int] = defaultdict(int)
    for row in failed:
        for window, scores in row["scores"].items():
            counts[window] += any(score is not None and score <= THRESHOLD for score in scores.values())
    told = [f"{window} in {count}" for window, count in counts.items() if count]
    if told:
        return f"of {len(failed)} failing seeds a class is lost in {', '.join(told)}"
    profiles = [row.get("variation_profile") or () for row in failed]
    missed = Counter(step for profile in profiles for step, apart in enumerate(profile, 1) if apart > VARIATION)
    told = [f"{step} in {count}" for step, count in sorted(missed.items())]
    return f"of {len(failed)} failing seeds actions are not the expert's at step {', '.join(told)}" if told else ""


def _played(rows: Sequence[Row]) -> str:
    """What goes wrong in closed loop: decisions or precision."""
    parts = []
    for key, title in (("side", "right side"), ("slot", "right slot"), ("action_error_cm", "action error in cm")):
        numbers = [row[key] for row in rows if row.get(key) is not None]
        parts += [f"{title} {mean(numbers):.2f}"] if numbers else []
    return ", ".join(parts) or f"{sum(map(passed, rows))} of {len(rows)} seeds are sufficient"


@dataclass(frozen=True)
class Asked(Results):
    """Ledgers that remember which cells were asked for."""

    asked: list[Cell] = field(default_factory=list)

    def complete(self, cell: Cell) -> list[Row]:
        self.asked.append(cell)
        return super().complete(cell)


class Costs:
    """What missing runs would cost, by the seconds of runs in the ledgers that are most like them."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self.seconds: dict[tuple[object, ...], list[float]] = defaultdict(list)
        for row in (row for rows in results.files.values() for row in rows):
            if row.get("seconds") and row.get("steps") and "configuration" in row and row["device"] != "cpu":
                taken = (row["seconds"] + (row.get("forecaster_seconds") or 0)) / row["steps"]
                for key in _likeness(row["task"].split()[0], row["learner"], row["preset"], "profile" in row):
                    self.seconds[key].append(taken)

    def of_cell(self, cell: Cell) -> float:
        """Seconds on the device of the ledgers; with a camera, by a trial of few updates."""
        missing = cell.seeds - len(self.results.runs(cell))
        if _camera(cell):
            return camera_seconds() * cell.steps * missing
        keys = _likeness(cell.task.name, cell.learner, cell.preset, cell.task.recorded)
        each = next((mean(self.seconds[key]) for key in keys if self.seconds[key]), 0.0)
        return each * cell.steps * missing

    def of_figure(self, figure: FigureLine, study: str) -> str:
        """The cost of the runs that a figure waits for, or the command that measures it."""
        if figure.figure.derived is None:
            return f"`python -m reproduction figures-measure {study}`"
        asked = Asked(self.results.files)
        figure.figure.derived(asked)
        lacking = {cell.digest: cell for cell in asked.asked if not self.results.complete(cell)}
        return self.told(list(lacking.values())) if lacking else "its rows lack the number; judge the runs again"

    def told(self, cells: Collection[Cell]) -> str:
        """In words."""
        runs, seconds = sum(cell.seeds - len(self.results.runs(cell)) for cell in cells), sum(map(self.of_cell, cells))
        if any(map(_camera, cells)):
            return f"{runs} runs with a camera, about {seconds / 3600:.1f} GPU h by a trial of 200 updates"
        return f"{runs} runs, about {seconds / 60:.1f} GPU min"


def _camera(cell: Cell) -> bool:
    return bool(dict(cell.task.parameters).get("pixels"))


@cache
def camera_seconds() -> float:
    """Of one update of one run that learns from frames, as `benchmarks/training.py --pixels --cuda` measured it."""
    path = Path(__file__).parents[1] / "results" / "benchmarks" / "pixels-cuda.json"
    return json.loads(path.read_text())["plain_1"]["ms_per_update"] / 1e3


def _likeness(task: str, learner: str, preset: str, recorded: bool) -> list[tuple[object, ...]]:
    """From most alike to least."""
    return [(task, learner, preset), (task, preset), (recorded, preset), (recorded, learner), (recorded,)]
