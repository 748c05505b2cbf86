"""What stands behind the bits of trained runs: position on finer grids, held-out bounds, and what the surplus is about.

A cell's runs are the folders that training left in out/runs; of two cues at gap 20 with the event-agnostic learner
those that the package ships serve where there are none. Codes are taken along all recorded episodes, as the paper does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import mean

import numpy as np

from diacritic.files.demos import Demos
from diacritic.files.run import find_runs, read_manifest
from diacritic.measure.crossval import Explained, explained_surplus, rate_bound
from diacritic.measure.plugin import Floats, Ints
from diacritic.measure.recorded import Classes
from diacritic.measure.resolution import GRIDS, PERMUTATIONS, Resolution, resolution_sweep
from diacritic.measure.trace import teacher_forced
from diacritic.rollout.run_loading import groups
from diacritic.shipped import FOLDER as SHIPPED
from diacritic.studies.cell import Cell
from diacritic.studies.collect import RUNS
from diacritic.studies.recordings import DEMOS, recording
from diacritic.tasks.protocol import Task
from diacritic.tasks.registry import task_of

FOLDS = 5  # of the decomposition of the surplus
HALVES = 2  # folds of the bound on H(C|O)


@dataclass(frozen=True)
class RunCodes:
    """The codes of sufficient runs of one cell along its recording."""

    demos: Demos
    task: Task
    classes: Classes
    codes: Ints  # [S, T, N]

    @property
    def positions(self) -> Floats:
        """Of the tool, in metres, [T, N, 3]."""
        return self.demos.observations[..., list(self.demos.convention.position_columns)].astype(np.float64)

    def sweep(self, window: str, permutations: int = PERMUTATIONS) -> list[list[Resolution]]:
        """Of every run: the symbol alone, then with the tool's cell on finer and finer grids, over a window."""
        given = self.demos.symbols, self.positions, self.task.windows[window], GRIDS, permutations
        return [resolution_sweep(code, *given) for code in self.codes]

    def bound(self, window: str) -> list[float]:
        """Of every run: mean over a window of the held-out bound on H(C|O), from the raw observation and Ō."""
        steps, seen, symbols = self.task.windows[window], self.demos.observations, self.demos.symbols
        return [mean(rate_bound(code[t], symbols[t], seen[t], HALVES) for t in steps) for code in self.codes]

    def explained(self, step: int, history: bool) -> list[Explained]:
        """Of every run: what the object's first place explains of the surplus at a step; or that and the noisy path of
        the tool until then."""
        inputs = self.task.initial_state(self.demos.observations)
        if history:
            path = np.moveaxis(self.positions[: step + 1], 0, 1).reshape(self.demos.episodes, -1)
            inputs = np.hstack([inputs, path])
        given = self.classes.memory[step], self.classes.symbols[step], inputs, FOLDS, 0, "trees"
        return [explained_surplus(code[step], *given) for code in self.codes]


def sufficient_runs(cell: Cell, demos: Demos, runs: Path = RUNS, shipped: Path = SHIPPED) -> list[Path]:
    """Folders of the sufficient runs of a cell, one for each seed, in the order of seeds."""
    wanted = (cell.learner, cell.preset, cell.steps, demos.digest, cell.demonstrations)
    for folder in (runs, shipped):
        chosen: dict[int, Path] = {}
        for path in find_runs([folder]) if folder.is_dir() else ():
            told = read_manifest(path)
            same = (told.learner, told.preset, told.steps, told.demos_sha256, told.N) == wanted
            if same and told.run["beta"] == cell.beta and told.sufficient and not told.diverged:
                chosen.setdefault(told.seed, path)
        if chosen:
            return [chosen[seed] for seed in sorted(chosen)]
    return []


@cache
def run_codes(cell: Cell, runs: Path = RUNS, demos: Path = DEMOS, shipped: Path = SHIPPED) -> RunCodes | None:
    """The sufficient runs of a cell along its recording, made again where it is not there; none without runs."""
    learned = recording(cell, demos)
    paths: Sequence[Path] = sufficient_runs(cell, learned, runs, shipped)
    if not paths:
        return None
    task = task_of(learned)
    codes = [teacher_forced(group.policies(), learned, task, learned.symbol_names).codes for group in groups(paths)]
    return RunCodes(learned, task, Classes.of(learned.symbols, learned.choices), np.concatenate(codes))
