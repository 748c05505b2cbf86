"""Our cells against the paper's in the report: counts with intervals, a verdict on each, and the scoreboard of all."""

from collections.abc import Iterator, Sequence

from diacritic.report.ledgers import NONE, Ledgers, Shown, carried, counted, section
from diacritic.report.ledgers import lines as cell_lines
from diacritic.studies.results import Results
from reproduction.catalogue import STUDIES
from reproduction.compare import CellLine, FigureLine, compare
from reproduction.verdicts import KINDS, Count, Kind, Value


def view(ledgers: Ledgers, figures: Ledgers | None = None) -> Shown | None:
    """One line a cell, and one a figure of a study that is not a cell; the page filters them.

    `ledgers` are rows of runs by study, `figures` measured figures by study.
    """
    measured = figures or {}
    results = Results({**ledgers, **{f"figures/{name}": rows for name, rows in measured.items()}})
    shown = [line for name in sorted(ledgers.keys() | measured.keys()) for line in lines(name, results)]
    if not shown:
        return None
    return section(shown, [row for study in ledgers.values() for row in study]) | {
        "reference": "paper",
        "scoreboard": scoreboard(shown),
        "verdicts": [name for name in KINDS if any(line["verdict"] == name for line in shown)],
    }


def lines(name: str, results: Results) -> Iterator[Shown]:
    """A study of the catalogue with all it declares, run or not; then rows of cells that it does not declare."""
    declared: set[tuple[str, str, str]] = set()
    if name in STUDIES:
        comparison = compare(name, results)
        for line in comparison.cells:
            declared.add((line.cell.name, line.cell.learner, line.cell.preset))
            yield _declared(line)
        yield from (_figure(name, line) for line in comparison.figures)
    for shown in cell_lines(results.files.get(name, ())):
        if (shown["cell"], shown["learner"], shown["preset"]) not in declared:
            yield shown | {"verdict": "not in the paper", **_told("reference", None)}


def _declared(line: CellLine) -> Shown:
    cell = line.cell
    shown = _line(cell.study, cell.name, cell.learner, cell.preset, line.ours, line.paper, line.verdict.kind)
    return shown | carried(line.rows)


def _figure(study: str, line: FigureLine) -> Shown:
    nothing = {"success": None, "rates": [], "diverged": 0}
    return _line(study, line.figure.name, NONE, NONE, line.ours, line.figure.paper, line.verdict.kind) | nothing


def _line(
    study: str, cell: str, learner: str, preset: str, ours: Value | None, paper: Value | None, verdict: Kind
) -> Shown:
    shown: Shown = {"study": study, "cell": cell, "learner": learner, "preset": preset, "verdict": verdict}
    return shown | _told("ours", ours) | _told("reference", paper)


def _told(key: str, value: Value | None) -> Shown:
    """A value in words, and as a count with its interval where it is a count."""
    return {
        key: counted(*value) if isinstance(value, Count) else None,
        f"{key}_text": NONE if value is None else str(value),
    }


def scoreboard(shown: Sequence[Shown]) -> list[Shown]:
    """Lines of every study by verdict, and of all."""
    board = []
    for name in [*sorted({line["study"] for line in shown}), None]:
        mine = [line for line in shown if name in (None, line["study"])]
        counts = {kind: sum(line["verdict"] == kind for line in mine) for kind in KINDS}
        board.append({"study": name or "all", "cells": len(mine), "counts": counts})
    return board
