"""Made-up runs on two cues, whose classes survive with given log-odds."""

from collections.abc import Callable, Sequence
from math import exp

import numpy as np
from study_rows import run_of

from diacritic.files.ledger import Row
from diacritic.studies.cell import Cell


def runs_of(cells: Sequence[Cell], odds: Callable[[Cell, float], float], draws: int = 2) -> list[Row]:
    """All runs of these cells; `odds` of a cell and the steps from the display to the use of the class."""
    draw = np.random.default_rng(draws)
    rows = []
    for cell in cells:
        given = dict(cell.task.parameters)
        near = given.get("first_gap", 2) + 1
        far = {"grasp": near, "place": near + 10 + given.get("gap", 6)}
        for seed in cell.run_seeds:
            kept = {window: draw.random() < 1 / (1 + exp(-odds(cell, steps))) for window, steps in far.items()}
            scores = {window: {"S_Gamma": 1.0, "S_G": 1.0 if held else 0.1} for window, held in kept.items()}
            rows.append(run_of(cell, seed, scores=scores))
    return rows
