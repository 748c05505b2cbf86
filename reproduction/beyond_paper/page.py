"""The tables and pictures of docs/beyond_paper.md: `python -m reproduction beyond-paper pages`."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean

from diacritic.files.atomic import write_text
from diacritic.files.ledger import Row, read_ledger
from diacritic.report.dot_chart import SHARE, SUCCESS, SURPLUS, Lines, dot_chart, drawn
from diacritic.report.markdown import figure, folded
from diacritic.studies.cell import Cell
from diacritic.studies.results import Results
from reproduction.beyond_paper.cells import CELLS, FORGETTING
from reproduction.beyond_paper.cells import kind as known_before
from reproduction.beyond_paper.confused import STUDY as CONFUSED
from reproduction.beyond_paper.confused import confused
from reproduction.beyond_paper.delays_draw import first_height, first_passed
from reproduction.beyond_paper.delays_page import between, table
from reproduction.beyond_paper.figures import (
    SECONDS,
    STEPS,
    certified_lines,
    forgetting_lines,
    forgotten_lines,
    reach_lines,
    revised_lines,
)
from reproduction.beyond_paper.reach import MOST_SURPLUS, first_rows, reach, seeds_of, summary, surplus
from reproduction.beyond_paper.revision_cells import CELLS as REVISED_CELLS
from reproduction.beyond_paper.revision_cells import CHOSEN_ON, ONE_LEARNER, PLAIN_CELLS, ROBUST_CELLS
from reproduction.beyond_paper.robust_search import NAME as SEARCHED
from reproduction.beyond_paper.robust_search import WEIGHING, searched
from reproduction.captions import short_names

KINDS = ("development", "held-out", "afterwards", "far", "revised")


def by_task(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows of each task, in the order of the ledger; horizons that are numbers come in their order."""
    groups: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: [int(part) if part.isdigit() else part for part in _parts(row["task"])]):
        groups.setdefault(row["task"], []).append(row)
    return groups


def _parts(text: str) -> list[str]:
    return re.split(r"(\d+)", text)


def forgetting_cells(rows: Sequence[Row]) -> list[tuple[str, str, list[Row]]]:
    """(kind, task, its runs), kind by kind."""
    kinds = [(kind, [row for row in rows if row["kind"] == kind]) for kind in KINDS]
    return [(kind, name, cell) for kind, some in kinds for name, cell in by_task(some).items()]


def forgetting(rows: Sequence[Row]) -> str:
    """One line a cell: sufficient seeds, and the largest surplus of a sufficient seed at any step, before and after."""
    lines = [
        "| cell | kind | sufficient before | after | largest surplus before (bit) | after |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for kind, name, cell in forgetting_cells(rows):
        good = [row for row in cell if row["sufficient"]]
        was = sum(row["before"]["sufficient"] for row in cell)
        old, new = (_most([row["largest_surplus"] for row in side]) for side in ([r["before"] for r in good], good))
        lines.append(f"| {name} | {kind} | {was}/{len(cell)} | {len(good)}/{len(cell)} | {old} | {new} |")
    return "\n".join(lines)


def forgotten(results: Results, cells: Sequence[Cell] = CELLS) -> str:
    """One line a recorded cell: plain runs beside those of the same seeds that have forgotten."""
    lines = []
    for cell in (cell for cell in cells if cell.learner == FORGETTING):
        pair = [replace(cell, learner="plain"), cell]
        sides = [results.shown(one) for one in pair]
        told = [[seeds_of(one, rows) for one, rows in zip(pair, sides, strict=True)]]
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
        counts = [seeds_of(one, runs) for one, runs in ((before, plain), (cell, rows))]
        played = [row["success"] for row in rows if row["success"] is not None]
        lines.append([cell.name, _origin(cell), *counts, _worst(rows), f"{min(played):.2f}" if played else "—"])
    head = ("cell", "kind", "plain", "revised", "largest surplus (bit)", "least success of a seed")
    return table(head, lines)


def robust(results: Results) -> str:
    """One line a cell: revised runs, and those of other seeds whose codes are also for a policy that drifts."""
    lines = []
    for cell in ROBUST_CELLS:
        before = next(one for one in REVISED_CELLS if (one.task, one.codes) == (cell.task, cell.codes))
        rows = results.shown(cell)
        sides = [text for one in (before, cell) for text in _counted_and_played(one, results.shown(one))]
        kind = "chosen on" if cell.task == WEIGHING.task else "seen before"  # with another setting and other seeds
        lines.append([cell.name, kind, *sides, _worst(rows)])
    head = ("cell", "kind", "revised", "success of its seeds", "robust", "success of its seeds")
    return table((*head, "largest surplus (bit)"), lines)


def _origin(cell: Cell) -> str:
    return "chosen on" if cell.task in CHOSEN_ON else "evaluated once"


def _counted_and_played(cell: Cell, rows: Sequence[Row]) -> tuple[str, str]:
    """Sufficient seeds, and the least, mean and largest success of a seed."""
    played = [row["success"] for row in rows if row["success"] is not None]
    told = f"{min(played):.3f} to {max(played):.3f}, mean {mean(played):.3f}" if played else "—"
    return seeds_of(cell, rows), told


def no_miss(results: Results, cells: Sequence[Cell] = REVISED_CELLS) -> str:
    """In how many cells every seed is sufficient, and nothing more than 0.05 bit is left over."""
    whole = [rows for rows in map(results.complete, cells) if rows]
    passed = [rows for rows in whole if all(row["sufficient"] for row in rows)]
    least = [
        rows for rows in passed if all(bits is not None and bits <= MOST_SURPLUS for bits in surplus(rows).values())
    ]
    return (
        f"{len(whole)} of {len(cells)} cells have run. "
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
REVISED, ROBUST = "beyond-paper-revision", "beyond-paper-robust"
IMAGES = Path("images") / "beyond_paper"
PICTURE = IMAGES / "first.svg"
TRAINED = tuple(cell for cell in CELLS if cell.learner != FORGETTING)
"""Forgetting comes after the last update, so that the picture has nothing to tell of it."""
JUDGED = (SHARE, SURPLUS, SUCCESS)
PANELS = {
    REACH: JUDGED,
    FORGOTTEN: JUDGED,
    REVISED: JUDGED,
    "forgetting": (SHARE, SURPLUS),
    "certified-learner": (STEPS, SECONDS),
}


def lines_of(results: Path) -> dict[str, Lines]:
    """The numbers of each picture."""
    ledgers = Results.read(results)
    rows = {study: read_ledger(results / f"{study}.jsonl") for study in TABLES}
    cells = [(f"{name} ({kind})", some) for kind, name, some in forgetting_cells(rows["forgetting"])]
    return {
        REACH: reach_lines(ledgers),
        FORGOTTEN: forgotten_lines(ledgers),
        REVISED: revised_lines(ledgers),
        "forgetting": forgetting_lines(cells),
        "certified-learner": certified_lines(list(by_task(rows["certified-learner"]).items())),
    }


def shown(name: str, lines: Lines, table: str) -> str:
    """A table behind its picture, or alone while nothing of it has run."""
    rows = f"{table.count(chr(10)) - 1} cells"
    if not lines:
        return "\n".join(folded(f"The table: {rows}", [table])).rstrip("\n")
    _, caption = short_names(lines)
    panels = ", ".join(panel.title for panel in PANELS[name])
    words = f"Each line is a cell: {panels}. {caption}".rstrip()
    return figure(f"A line of dots for each cell: {panels}", (IMAGES / f"{name}.svg").as_posix(), words, table, rows)


def filled(text: str, results: Path) -> str:
    """The page with the pictures and the tables of the ledgers between its marks."""
    ledgers, lines = Results.read(results), lines_of(results)
    tables = {study: made(read_ledger(results / f"{study}.jsonl")) for study, made in TABLES.items()}
    tables |= {REACH: reach(ledgers), FORGOTTEN: forgotten(ledgers), REVISED: revised(ledgers)}
    parts = {name: shown(name, lines[name], table) for name, table in tables.items()}
    parts[REACH] = f"{summary(ledgers)}\n\n{parts[REACH]}"
    parts[REVISED] = f"{no_miss(ledgers)}\n\n{parts[REVISED]}"
    parts[ROBUST] = f"{no_miss(ledgers, ONE_LEARNER)}\n\n{robust(ledgers)}"
    picture = f"![Updates and seconds until first sufficient]({PICTURE.as_posix()})"
    parts[FIRST] = picture if first_rows(ledgers, TRAINED) else "*Not run yet.*"
    missed = ledgers.files.get(CONFUSED)
    parts[CONFUSED] = confused(missed) if missed else "*Not run yet.*"
    tried = ledgers.files.get(SEARCHED)
    parts[SEARCHED] = searched(tried) if tried else "*Not run yet.*"
    for name, part in parts.items():
        text = between(text, name, part)
    return text


def write(results: Path, docs: Path) -> None:
    """Fill in the page and, once there is something to see, draw its pictures."""
    page = docs / "beyond_paper.md"
    write_text(page, filled(page.read_text(encoding="utf-8"), results))
    (docs / IMAGES).mkdir(parents=True, exist_ok=True)
    for name, lines in lines_of(results).items():
        if lines:
            short, _ = short_names(lines)
            named = {short[label]: values for label, values in lines.items()}
            write_text(docs / IMAGES / f"{name}.svg", dot_chart(name, named, PANELS[name]))
    rows = first_rows(Results.read(results), TRAINED)
    if rows:
        write_text(docs / PICTURE, drawn(FIRST, lambda figure: first_passed(figure, rows), first_height(rows)))
