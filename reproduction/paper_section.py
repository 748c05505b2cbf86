"""Our cells against the paper's: counts with intervals, a verdict on each, and the scoreboard of all."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from diacritic.report.charts import BAD, GOOD, GREY, INK, Chart, chart, plain
from diacritic.studies.ledger import Row
from diacritic.studies.results import Results, sufficient
from reproduction.catalogue import STUDIES
from reproduction.compare import CellLine, FigureLine, better_of, compare
from reproduction.verdicts import VERDICTS, Count, Value, Verdict, contrast

Shown = dict[str, Any]
MOST_POINTS = 6000
NONE = "—"


def view(ledgers: Mapping[str, Sequence[Row]], figures: Mapping[str, Sequence[Row]] | None = None) -> Shown | None:
    """One line a cell, and one a figure of a study that is no cell; the page filters them.

    `ledgers` are rows of runs by study, `figures` measured figures by study.
    """
    measured = figures or {}
    results = Results({**ledgers, **{f"figures/{name}": rows for name, rows in measured.items()}})
    shown = [line for name in sorted(ledgers.keys() | measured.keys()) for line in lines(name, results)]
    if not shown:
        return None
    rows = [row for study in ledgers.values() for row in study]
    return {
        "cells": shown,
        "scoreboard": scoreboard(shown),
        "studies": sorted({line["study"] for line in shown}),
        "learners": sorted({line["learner"] for line in shown}),
        "verdicts": [name for name in VERDICTS if any(line["verdict"] == name for line in shown)],
        "rates": rates(rows) if rows else None,
    }


def lines(name: str, results: Results) -> Iterator[Shown]:
    """A study of the catalogue with all it declares, run or not; then rows of cells that nobody declared."""
    known: set[tuple[str, str, str]] = set()
    if name in STUDIES:
        found = compare(name, results)
        for line in found.cells:
            known.add((line.cell.name, line.cell.learner, line.cell.preset))
            yield _declared(line)
        yield from (_figure(name, line) for line in found.figures)
    grouped: dict[tuple[str, str, str], list[Row]] = {}
    for row in results.files.get(name, ()):
        grouped.setdefault((row["cell"], row["learner"], row["preset"]), []).append(row)
    for (cell, learner, preset), rows in sorted(grouped.items()):
        if (cell, learner, preset) not in known:
            paper = next((Count(*row["paper"]) for row in rows if row.get("paper")), None)
            ours = sufficient(rows)
            verdict: Verdict = "ours alone" if paper is None else contrast(ours, paper, better_of(learner))
            yield _line(rows[0]["study"], cell, learner, preset, ours, paper, verdict) | _carried(rows)


def _declared(line: CellLine) -> Shown:
    cell = line.cell
    shown = _line(cell.study, cell.name, cell.learner, cell.preset, line.ours, line.paper, line.verdict)
    return shown | _carried(line.rows)


def _figure(study: str, line: FigureLine) -> Shown:
    nothing = {"success": None, "rates": [], "diverged": 0}
    return _line(study, line.figure.name, NONE, NONE, line.ours, line.figure.paper, line.verdict) | nothing


def _line(
    study: str, cell: str, learner: str, preset: str, ours: Value | None, paper: Value | None, verdict: Verdict
) -> Shown:
    """Both values in words, and as counts with their intervals where they are counts."""
    said: Shown = {"study": study, "cell": cell, "learner": learner, "preset": preset, "verdict": verdict}
    for key, value in (("ours", ours), ("paper", paper)):
        said[key] = [*value, *(round(end, 4) for end in value.interval)] if isinstance(value, Count) else None
        said[f"{key}_text"] = NONE if value is None else str(value)
    return said


def _carried(rows: Sequence[Row]) -> Shown:
    """Mean success over all seeds, and mean rate of the sufficient ones by window, with the requirement."""
    played = [row["success"] for row in rows if row["success"] is not None]
    found = []
    for window in rows[0]["rate"] if rows else ():
        known = [row["rate"][window] for row in rows if row["sufficient"] and row["rate"].get(window) is not None]
        if known:
            need = rows[0]["requirement"].get(window)
            found.append({"window": window, "rate": sum(known) / len(known), "need": need})
    success = sum(played) / len(played) if played else None
    return {"success": success, "rates": found, "diverged": sum(bool(row["diverged"]) for row in rows)}


def scoreboard(shown: Sequence[Shown]) -> list[Shown]:
    """Lines of every study by verdict, and of all."""
    board = []
    for name in [*sorted({line["study"] for line in shown}), None]:
        mine = [line for line in shown if name in (None, line["study"])]
        counts = {verdict: sum(line["verdict"] == verdict for line in mine) for verdict in VERDICTS}
        board.append({"study": name or "all", "cells": len(mine), "counts": counts})
    return board


def rates(rows: Sequence[Row]) -> Chart:
    """Every seed's learned rate against what its window requires; failed seeds in red."""
    points = [
        (need, rate, bool(row["sufficient"]), plain(f"{row['cell']}, {row['learner']}, seed {row['seed']}: {window}"))
        for row in rows
        for window, rate in row["rate"].items()
        if rate is not None and (need := row["requirement"].get(window)) is not None
    ][:MOST_POINTS]
    most = max((max(need, rate) for need, rate, _, _ in points), default=1.0)
    diagonal = {"type": "scatter", "mode": "lines", "name": "required", "x": [0, most], "y": [0, most]}
    traces: list[dict[str, Any]] = [diagonal | {"line": {"color": INK, "width": 1.5}, "hoverinfo": "skip"}]
    for word, colour, symbol, good in (("sufficient", GOOD, "circle", True), ("failed", BAD, "x", False)):
        mine = [point for point in points if point[2] is good]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": f"{word} ({len(mine)})",
                "x": [round(need, 3) for need, _, _, _ in mine],
                "y": [round(rate, 3) for _, rate, _, _ in mine],
                "text": [text for _, _, _, text in mine],
                "hovertemplate": "%{text}<br>required %{x}, learned %{y} bit<extra></extra>",
                "marker": {"color": colour, "symbol": symbol, "size": 7, "opacity": 0.55, "line": {"color": GREY}},
            }
        )
    label = f"Learned rate against requirement of {len(rows)} runs, by window"
    return chart(traces, label, "required bits", "learned bits")
