"""The tables and the picture of docs/beyond_paper.md: `python -m reproduction beyond-paper pages`."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean

from diacritic.files.atomic import write_text
from diacritic.files.ledger import Row, read_ledger
from diacritic.studies.cell import Cell
from diacritic.studies.results import Results
from reproduction.beyond_paper.cells import CELLS, FORGETTING
from reproduction.beyond_paper.cells import kind as known_before
from reproduction.beyond_paper.confused import STUDY as CONFUSED
from reproduction.beyond_paper.confused import confused
from reproduction.beyond_paper.delays_draw import drawn, first_height, first_passed
from reproduction.beyond_paper.delays_page import between, counted, table
from reproduction.beyond_paper.reach import MOST_SURPLUS, first_rows, reach, summary, surplus
from reproduction.beyond_paper.revision_cells import CELLS as REVISED_CELLS
from reproduction.beyond_paper.revision_cells import CHOSEN_ON, PLAIN_CELLS

KINDS = ("development", "held-out", "afterwards", "far", "revised")


def by_task(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows of each task, in the order of the ledger; horizons that are numbers come in their order."""
    groups: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: [int(part) if part.isdigit() else part for part in _parts(row["task"])]):
        groups.setdefault(row["task"], []).append(row)
    return groups


def _parts(text: str) -> list[str]:
    return re.split(r"(\d+)", text)


def forgetting(rows: Sequence[Row]) -> str:
    """One line a cell: sufficient seeds, and the largest surplus of a sufficient seed at any step, before and after."""
    lines = [
        "| cell | kind | sufficient before | after | largest surplus before (bit) | after |",
        "|---|---|---:|---:|---:|---:|",
    ]
    kinds = [(kind, [row for row in rows if row["kind"] == kind]) for kind in KINDS]
    for kind, name, cell in ((kind, name, cell) for kind, found in kinds for name, cell in by_task(found).items()):
        good = [row for row in cell if row["sufficient"]]
        was = sum(row["before"]["sufficient"] for row in cell)
        old, new = (_most([row["largest_surplus"] for row in side]) for side in ([r["before"] for r in good], good))
        lines.append(f"| {name} | {kind} | {was}/{len(cell)} | {len(good)}/{len(cell)} | {old} | {new} |")
    return "\n".join(lines)


def forgotten(results: Results, cells: Sequence[Cell] = CELLS) -> str:
    """One line a recorded cell: plain runs beside those of the same seeds that have forgotten."""
    lines = []
    for cell in (cell for cell in cells if cell.learner == FORGETTING):
        sides = [results.shown(replace(cell, learner="plain")), results.shown(cell)]
        told = [[counted(rows) if rows else "not run" for rows in sides]]
        told.append([_worst(rows) for rows in sides])
        told.append([f"{mean(row['success'] for row in rows):.2f}" if rows else "—" for rows in sides])
        lines.append([cell.name, known_before(cell.task), *(text for pair in told for text in pair)])
    head = ("cell", "kind", "sufficient before", "after", "largest surplus before (bit)", "after")
    return table((*head, "success before", "after"), lines)


def revised(results: Results) -> str:
    """One line a cell: plain runs, and those of other seeds whose codes were revised."""
    lines = []
    for cell, before in zip(REVISED_CELLS, PLAIN_CELLS, strict=True):
        plain, rows = results.shown(before), results.shown(cell)
        known = "chosen on" if cell.task in CHOSEN_ON else "evaluated once"
        counts = [counted(found) if found else "not run" for found in (plain, rows)]
        played = [row["success"] for row in rows if row["success"] is not None]
        lines.append([cell.name, known, *counts, _worst(rows), f"{min(played):.2f}" if played else "—"])
    head = ("cell", "kind", "plain", "revised", "largest surplus (bit)", "least success of a seed")
    return table(head, lines)


def no_miss(results: Results, cells: Sequence[Cell] = REVISED_CELLS) -> str:
    """In how many cells every seed is sufficient, and nothing more than 0.05 bit is left over."""
    whole = [rows for rows in map(results.complete, cells) if rows]
    passed = [rows for rows in whole if all(row["sufficient"] for row in rows)]
    least = [
        rows for rows in passed if all(bits is not None and bits <= MOST_SURPLUS for bits in surplus(rows).values())
    ]
    return (
        f"{len(whole)} of {len(cells)} cells have run with all seeds. "
        f"Every seed is sufficient in {len(passed)} of these, "
        f"and in {len(least)} every window is within {MOST_SURPLUS} bit besides."
    )


def _worst(rows: Sequence[Row]) -> str:
    """The largest surplus of a sufficient run in any window; `–` where it is not defined in one."""
    bits = surplus(rows).values()
    return "–" if None in bits else _most([one for one in bits if one is not None])


def certified(rows: Sequence[Row]) -> str:
    """One line a cell: sufficient seeds, surplus, codes, updates and seconds."""
    lines = [
        "| cell | steps T | sufficient | largest surplus (bit) | codes | updates | seconds to label | to teach |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, cell in by_task(rows).items():
        one, passed = cell[0], sum(row["sufficient"] for row in cell)
        seconds = f"{one['label_seconds']:.2f} | {one['teach_seconds']:.1f}"
        surplus = _most([row["largest_surplus"] for row in cell])
        counts = f"{passed}/{len(cell)} | {surplus} | {one['codes_used']} | {one['steps']}"
        lines.append(f"| {name} | {one['horizon']} | {counts} | {seconds} |")
    return "\n".join(lines)


def _most(values: Sequence[float]) -> str:
    return f"{max(values):.3f}" if values else "—"


TABLES: dict[str, Callable[[Sequence[Row]], str]] = {"forgetting": forgetting, "certified-learner": certified}
REACH, FIRST, FORGOTTEN = "beyond-paper-cells", "beyond-paper-first", "beyond-paper-forgotten"
REVISED = "beyond-paper-revision"
PICTURE = Path("images") / "beyond_paper" / "first.svg"
TRAINED = tuple(cell for cell in CELLS if cell.learner != FORGETTING)
"""Forgetting comes after the last update, so that the picture has nothing to tell of it."""


def filled(text: str, results: Path) -> str:
    """The page with the tables of the ledgers between its marks."""
    for study, made in TABLES.items():
        text = between(text, study, made(read_ledger(results / f"{study}.jsonl")))
    known = Results.read(results)
    shown = (
        f"![Updates and seconds until first sufficient]({PICTURE.as_posix()})"
        if first_rows(known, TRAINED)
        else "*Not run yet.*"
    )
    parts = {REACH: f"{summary(known)}\n\n{reach(known)}", FIRST: shown, FORGOTTEN: forgotten(known)}
    parts[CONFUSED] = confused(known.files.get(CONFUSED, ()))
    parts[REVISED] = f"{no_miss(known)}\n\n{revised(known)}"
    for name, part in parts.items():
        text = between(text, name, part)
    return text


def write(results: Path, docs: Path) -> None:
    """Fill in the page and, once there is something to see, draw its picture."""
    page = docs / "beyond_paper.md"
    write_text(page, filled(page.read_text(encoding="utf-8"), results))
    rows = first_rows(Results.read(results), TRAINED)
    if rows:
        (page.parent / PICTURE).parent.mkdir(parents=True, exist_ok=True)
        write_text(page.parent / PICTURE, drawn(FIRST, lambda figure: first_passed(figure, rows), first_height(rows)))
