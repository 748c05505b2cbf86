"""Why plain imitation misses: in every failing run the state that confuses most, and whether its code ever told more.

`python -m reproduction beyond-paper confused [--only TEXT]` adds to confused.jsonl: finite cells in which seeds of
plain imitation fail, trained as they are in the study `revision` but not revised.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from diacritic.files.ledger import Row, merge_ledger
from diacritic.studies.cell import Cell
from diacritic.studies.symbolic import rows_of, start
from diacritic.training.codebook_restart import usage
from diacritic.training.forgetting import cohort_traces
from diacritic.training.revision import conflicts, expert_actions
from reproduction.beyond_paper.delays_page import table
from reproduction.beyond_paper.revision_cells import CELLS, MORE_SEEDS, PLAIN_CELLS

STUDY, LEARNER = "confused", "plain, confused"  # so that no other study takes these rows for its own
MISSED = tuple(
    replace(plain, study=STUDY)
    for cell, plain in zip(CELLS, PLAIN_CELLS, strict=True)
    if cell.seeds == MORE_SEEDS and not cell.task.recorded
)


def confused_rows(cell: Cell, device: str = "cpu") -> list[Row]:
    """Train a cell, and of every run: how many states it confuses, the heaviest, and how many codes it uses."""
    begun, cohort = time.perf_counter(), start(cell, device)
    cohort.advance(cell.steps)
    rows = list(rows_of(cell, cohort, time.perf_counter() - begun))
    used = (usage(cohort.trace()) > 0).sum(1).tolist()
    for row, own, codes in zip(rows, cohort_traces(cohort), used, strict=True):
        confusions = conflicts(expert_actions(cohort.data, own))
        told = (
            {}
            if not confusions
            else {key: getattr(confusions[0], key) for key in ("step", "share", "parted", "merged")}
        )
        row |= {"learner": LEARNER, "codes_used": codes, "conflicts": len(confusions), "heaviest": told}
    return rows


def run(out: Path, device: str, only: str) -> None:
    """Every cell whose name holds a text."""
    for cell in MISSED:
        if only in cell.name:
            rows = confused_rows(cell, device)
            merge_ledger(out / f"{STUDY}.jsonl", rows)
            print(f"{cell.name}: {sum(row['sufficient'] for row in rows)}/{len(rows)} sufficient", flush=True)


def confused(rows: Sequence[Row]) -> str:
    """One line a cell: failing seeds, and in how many of these what matters was never encoded or was lost later."""
    lines = []
    for name in dict.fromkeys(row["cell"] for row in rows):
        mine = [row for row in rows if row["cell"] == name]
        failed = [row for row in mine if row["heaviest"] and not row["sufficient"]]
        never = sum(row["heaviest"]["merged"] is None for row in failed)
        codes = f"{min(row['codes_used'] for row in mine)}–{max(row['codes_used'] for row in mine)} of {mine[0]['K']}"
        good = sum(row["sufficient"] for row in mine)
        lines.append([name, f"{good}/{len(mine)}", f"{never}", f"{len(failed) - never}", codes])
    return table(("cell", "sufficient", "never encoded", "lost later", "codes in use"), lines)
