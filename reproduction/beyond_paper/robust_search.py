"""The search behind robust revision: weighing at gap 6 fitted under noise in many ways, then played; development seeds.

`python -m reproduction beyond-paper robust-search [--only TEXT] [--device cuda]` adds to robust-search.jsonl, a row for
each run. The closed loops have another seed than those by which studies judge.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean

from diacritic.files.atomic import write_text
from diacritic.files.ledger import Row, read_ledger
from diacritic.rollout.closed_loop import play
from diacritic.rollout.policies import Policies
from diacritic.studies.arena_judge import cohort_of, prepared_of
from diacritic.studies.cell import Cell
from diacritic.studies.tasks import task
from diacritic.training.compress_recorded import LONGER, PREVIOUS, forgotten
from diacritic.training.fit_transition import Noise
from diacritic.training.unseen_time import sensor_noise
from reproduction.beyond_paper.delays_page import table
from reproduction.beyond_paper.revision_cells import ROBUST_CELLS

NAME, EPISODES, SEED = "robust-search", 256, 901
WEIGHING = next(cell for cell in ROBUST_CELLS if cell.task == task("weighing", gap=6))


@dataclass(frozen=True)
class Setting:
    """One way to fit."""

    imitation: float = 1.0
    """Weight of imitation beside the codes."""
    sensors: float = 1.0
    """Noise of the observations, in that of the sensors."""
    previous: float = PREVIOUS
    """Noise of the previous action, standardised."""
    updates: int = LONGER.steps


SETTINGS = (
    Setting(),
    *(Setting(sensors=sensors) for sensors in (0.5, 0.25)),
    *(Setting(sensors=0.5, previous=previous) for previous in (0.1, 1.0)),
    *(Setting(imitation) for imitation in (5.0, 20.0, 100.0, 400.0)),
    *(Setting(imitation, sensors=0.5) for imitation in (5.0, 20.0)),
    *(Setting(imitation, updates=3000) for imitation in (20.0, 100.0, 400.0)),
)


def search_rows(setting: Setting, cell: Cell, demos: Path, device: str = "cpu", episodes: int = EPISODES) -> list[Row]:
    """Fit every seed of a cell in one way, and play it."""
    cohort = cohort_of(cell, demos, device)
    noise = Noise(setting.sensors * sensor_noise(cohort.data), setting.previous)
    effort = replace(LONGER, steps=setting.updates, imitation=setting.imitation)
    fitted, (played, prepared) = forgotten(cohort, effort, noise).cohort, prepared_of(cell, demos)
    loop = play(played, Policies(fitted.parameters, fitted.plan.carrier, prepared.scale), episodes, SEED)
    return [
        {"task": cell.task.title, "seed": seed, **vars(setting), "success": float(loop.success[k].mean())}
        | {name: float(loop.outcome[name][k].mean()) for name in loop.classes}
        for k, seed in enumerate(cell.run_seeds)
    ]


def run(out: Path, device: str, only: str, demos: Path) -> None:
    """Every setting whose description holds a text, on eight development seeds."""
    path = out / f"{NAME}.jsonl"
    for setting in SETTINGS:
        if only in str(setting):
            rows = search_rows(setting, replace(WEIGHING, first_seed=0, seeds=8), demos, device)
            before = [row for row in (read_ledger(path) if path.exists() else []) if not _of(setting, row)]
            write_text(path, "".join(json.dumps(row) + "\n" for row in (*before, *rows)))
            print(f"{setting}: {mean(row['success'] for row in rows):.3f}", flush=True)


def searched(rows: Sequence[Row]) -> str:
    """A line for each setting: mean and least success of its seeds in closed loop."""
    head = ("imitation", "sensors", "previous action", "updates", "success", "least of a seed")
    return table(head, list(_lines(rows)))


def _lines(rows: Sequence[Row]) -> Iterator[list[str]]:
    for setting in SETTINGS:
        if mine := [row["success"] for row in rows if _of(setting, row)]:
            numbers = [f"{value:,g}" for value in vars(setting).values()]
            yield [*numbers, f"{mean(mine):.3f}", f"{min(mine):.3f}"]


def _of(setting: Setting, row: Row) -> bool:
    return all(row[key] == value for key, value in vars(setting).items())
