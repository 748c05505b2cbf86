"""Why long delays are hard to learn, explained by measurement.

`python -m reproduction beyond-paper long-delays NAME [--device cuda] [--steps N] [--only TEXT]` makes one
measurement and adds its rows to long-delays-NAME.jsonl, cohort by cohort; `delays_draw` draws them.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from certify.progress import working
from diacritic.files.ledger import Row, merge_ledger
from reproduction.beyond_paper import delays_error, delays_runs, delays_usage

Measurement = Callable[[str, int | None, str], Iterator[list[Row]]]
"""Rows of one cohort after another, on a device, with so many updates, of the cells whose names hold a text."""
MEASUREMENTS: dict[str, Measurement] = {
    "error-norm": delays_error.measure,
    "code-usage": delays_usage.measure,
    "basin": delays_runs.basin,
    "left-out": delays_runs.left_out,
    "release-left-out": delays_runs.release_left_out,
    "release-towards-carousel": delays_runs.release_towards_carousel,
    "misleading": delays_runs.misleading,
    "first-sufficient": delays_runs.first_sufficient,
}


def line(rows: list[Row]) -> str:
    """One cohort in words."""
    passed, one = sum(row["sufficient"] for row in rows), rows[0]
    return f"{one['cell']}, {one['preset']}: {passed}/{len(rows)} sufficient after {one['steps']} updates"


def run(name: str, out: Path, device: str = "cpu", steps: int | None = None, only: str = "") -> None:
    """One measurement; what an earlier call left of other cells stays."""
    rows = MEASUREMENTS[name](device, steps, only)
    while True:
        with working(f"training, {name}"):
            measured = next(rows, None)
        if measured is None:
            break
        merge_ledger(out / f"long-delays-{name}.jsonl", measured)
        print(line(measured), flush=True)
