"""Cells of ledgers: sufficient seeds with intervals, success, and learned rates against the requirement."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from diacritic.files.ledger import Row
from diacritic.measure.statistics import wilson
from diacritic.report.labels import grouped

Shown = dict[str, Any]
Ledgers = Mapping[str, Sequence[Row]]
View = Callable[[Ledgers, Ledgers], Shown | None]
"""From rows of runs by study, and measured figures by study, to what the section shows."""
MOST_POINTS = 6000
NONE = "—"


def view(ledgers: Ledgers, figures: Ledgers | None = None) -> Shown | None:
    """One line a cell; the report filters them. Measured figures are shown beside a reference alone."""
    shown = [line for rows in ledgers.values() for line in lines(rows)]
    return section(shown, [row for rows in ledgers.values() for row in rows]) if shown else None


def section(shown: Sequence[Shown], rows: Sequence[Row]) -> Shown:
    """Lines with what they are filtered by, and the rates of all runs; without a reference to stand beside."""
    return {
        "cells": list(shown),
        "studies": sorted({line["study"] for line in shown}),
        "learners": sorted({line["learner"] for line in shown}),
        "rates": rates(rows) if rows else None,
        "reference": None,
    }


def lines(rows: Sequence[Row]) -> Iterator[Shown]:
    """A line for every cell of the rows."""
    cells = grouped(rows, lambda row: (row["cell"], row["learner"], row["preset"]))
    for (cell, learner, preset), mine in sorted(cells.items()):
        count = sum(bool(row["sufficient"]) for row in mine), len(mine)
        yield {
            "study": mine[0]["study"],
            "cell": cell,
            "learner": learner,
            "preset": preset,
            "ours": counted(*count),
            "ours_text": "{}/{}".format(*count),
            **carried(mine),
        }


def counted(passed: int, of: int) -> list[float]:
    """A count and the ends of its 95 % Wilson interval."""
    return [passed, of, *(round(end, 4) for end in wilson(passed, of))]


def carried(rows: Sequence[Row]) -> Shown:
    """Mean success over all seeds, and mean rate of the sufficient ones by window, with the requirement."""
    played = [row["success"] for row in rows if row["success"] is not None]
    windows = []
    for window in rows[0]["rate"] if rows else ():
        bits = [row["rate"][window] for row in rows if row["sufficient"] and row["rate"].get(window) is not None]
        if bits:
            need = rows[0]["requirement"].get(window)
            windows.append({"window": window, "rate": sum(bits) / len(bits), "need": need})
    success = sum(played) / len(played) if played else None
    return {"success": success, "rates": windows, "diverged": sum(bool(row["diverged"]) for row in rows)}


def rates(rows: Sequence[Row]) -> Shown:
    """Every seed's learned rate against what its window requires: [required, learned, sufficient], equal ones once."""
    points: dict[tuple[float, float, bool], list[str]] = {}
    for row in rows:
        for window, rate in row["rate"].items():
            need = row["requirement"].get(window)
            if rate is not None and need is not None:
                key = (round(need, 2), round(rate, 2), bool(row["sufficient"]))
                points.setdefault(key, []).append(f"{row['cell']}, {row['learner']}, seed {row['seed']}: {window}")
    shown = [[*key, len(said), said[0]] for key, said in points.items()][:MOST_POINTS]
    return {"label": f"Learned rate against requirement of {len(rows)} runs, by window", "points": shown}
