"""How far each learner goes: one line a cell beyond the paper, and the updates until its seeds first passed."""

from collections.abc import Sequence
from functools import lru_cache
from statistics import mean, median

from diacritic.files.ledger import Row
from diacritic.studies.cell import Cell
from diacritic.studies.results import Results
from reproduction.beyond_paper.cells import CELLS, FORGETTING, kind
from reproduction.beyond_paper.delays_cells import LEARNER as FOLLOWED
from reproduction.beyond_paper.delays_page import counted, table
from reproduction.paper import paper_count

GOAL, MOST_SURPLUS = 7, 0.05  # sufficient seeds of eight, and bits in every window
ROUNDED = 1e-6  # bits
Timed = tuple[str, str, float]
"""A device, the version of the sources, and seconds."""
HEAD = (
    "cell",
    "kind",
    "learner",
    "sufficient",
    "paper",
    "largest surplus (bit)",
    "success",
    "updates to the first",
    "seconds per run",
)


@lru_cache(maxsize=1)
def paper_counts() -> dict[str, tuple[int, int]]:
    """The paper's counts by what decides the outcome of a run; the study of the table that comes first tells it."""
    from reproduction.catalogue import CELLS as declared  # which lists the study of these cells too

    counts: dict[str, tuple[int, int]] = {}
    for cell in declared:
        if count := paper_count(cell):
            counts.setdefault(cell.digest, count)
    return counts


def surplus(rows: Sequence[Row]) -> dict[str, float | None]:
    """H(C_t|Γ_t, O_t) by window: the mean over its steps, the largest of any sufficient run.

    Where the classes are not unique there is no Γ_t; the rate beyond the certified requirement stands in then.
    """
    good = [row for row in rows if row["sufficient"]]
    windows = good[0]["conditional_surplus"] if good else ()
    return {window: _largest([_beyond(row, window) for row in good]) for window in windows}


def _largest(values: Sequence[float | None]) -> float | None:
    bits = [value for value in values if value is not None]
    return max(bits) if len(bits) == len(values) else None


def _beyond(row: Row, window: str) -> float | None:
    bits = row["conditional_surplus"][window]
    if bits is not None:
        return bits
    beyond = row.get("surplus", {}).get(window)  # less than nothing: not the rate of a code
    return None if beyond is None or beyond < -ROUNDED else abs(beyond)


def first_rows(results: Results, cells: Sequence[Cell] = CELLS) -> list[Row]:
    """Runs with the update at which they first passed; of symbolic cells those that were followed on the way."""
    first = []
    followed = results.files.get("long-delays-first-sufficient", ())
    for cell in cells:
        name = {"cell": cell.name, "preset": f"{cell.learner}, {cell.preset}"}
        for row in results.shown(cell):
            if "first_sufficient_step" in row:
                told = {"first_sufficient": row["first_sufficient_step"], "updates": cell.steps}
                first.append({**name, **told, "seconds": row["seconds"], "device": row["device"]})
        for row in followed if cell.learner == "plain" and not cell.task.recorded else ():
            if (row["cell"], row["preset"], row["learner"]) == (cell.name, cell.preset, FOLLOWED):
                kept = ("first_sufficient", "updates", "seconds", "device")
                first.append({**name, **{key: row[key] for key in kept}})
    return first


def reach(results: Results, cells: Sequence[Cell] = CELLS) -> str:
    """A line a cell; what has not run says so."""
    first: dict[tuple[str, str], list[int]] = {}
    for row in first_rows(results, cells):
        if row["first_sufficient"] is not None:
            first.setdefault((row["cell"], row["preset"]), []).append(row["first_sufficient"])
    shared = _shared(results)
    lines = []
    for cell in cells:
        learner, rows = f"{cell.learner}, {cell.preset}", results.shown(cell)
        updates, paper = first.get((cell.name, learner)), paper_counts().get(cell.digest)
        told = [cell.name, kind(cell.task), learner, seeds_of(cell, rows), "{}/{}".format(*paper) if paper else "—"]
        told += [_surplus(rows), _success(rows), f"{median(updates):.0f}" if updates else "—", _seconds(rows, shared)]
        lines.append(told)
    return table(HEAD, lines)


def seeds_of(cell: Cell, rows: Sequence[Row]) -> str:
    """Sufficient seeds of a cell, with the version of its task where that is an older one."""
    if not rows:
        return "not run"
    mark = f" *v{rows[0].get('task_version', 1)}*" if _older(cell, rows) else ""
    return counted(rows) + mark + ("" if len(rows) >= cell.seeds else f" of {cell.seeds} seeds so far")


def _older(cell: Cell, rows: Sequence[Row]) -> bool:
    return bool(rows) and rows[0].get("task_version", 1) < cell.task.version


def _surplus(rows: Sequence[Row]) -> str:
    return ", ".join(f"{name} {'–' if most is None else f'{most:.2f}'}" for name, most in surplus(rows).items()) or "—"


def _success(rows: Sequence[Row]) -> str:
    played = [row["success"] for row in rows if row["success"] is not None]
    return f"{mean(played):.2f}" if played else "—"


def _seconds(rows: Sequence[Row], shared: set[Timed]) -> str:
    if not rows:
        return "—"
    devices, mark = " and ".join(sorted({row["device"] for row in rows})), any(_timed(row) in shared for row in rows)
    return f"{mean(row['seconds'] for row in rows):.1f}{'†' if mark else ''} ({devices})"


def _timed(row: Row) -> Timed:
    return row["device"], row["code_version"], row["seconds"]


def _shared(results: Results) -> set[Timed]:
    """Times that several cells have to the last digit: those of a group, divided evenly."""
    cells: dict[Timed, set[tuple[str, str, str]]] = {}
    for row in (row for rows in results.files.values() for row in rows if "seconds" in row and "cell" in row):
        cells.setdefault(_timed(row), set()).add((row["cell"], row["learner"], row["preset"]))
    return {timed for timed, names in cells.items() if len(names) > 1}


def summary(results: Results, cells: Sequence[Cell] = CELLS) -> str:
    """How many cells with the frozen preset reach the goal, by plain imitation and once it has forgotten."""
    told = {"plain": "Plain imitation with the preset `carousel`", FORGETTING: "Plain imitation that then forgets"}
    return " ".join(
        _goal(results, [c for c in cells if (c.learner, c.preset) == (learner, "carousel")], who)
        for learner, who in told.items()
    )


def _goal(results: Results, cells: Sequence[Cell], who: str) -> str:
    complete = [(cell, rows) for cell in cells if (rows := results.complete(cell))]
    whole, older = [rows for _, rows in complete], sum(_older(cell, rows) for cell, rows in complete)
    passed = [rows for rows in whole if sum(row["sufficient"] for row in rows) >= GOAL]
    exact = [
        rows for rows in passed if all(bits is not None and bits <= MOST_SURPLUS for bits in surplus(rows).values())
    ]
    return (
        f"{who}: {len(whole)} of {len(cells)} cells have run with all seeds, {older} of them on version 1 of the arm. "
        f"At least {GOAL} of 8 seeds are sufficient in {len(passed)} of these, and in {len(exact)} every window is "
        f"within {MOST_SURPLUS} bit besides."
    )
