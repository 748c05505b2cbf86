"""Dot charts as plain dictionaries that the report's script draws: rows with a label, and marks on a common axis."""

from collections.abc import Sequence
from typing import Any

Chart = dict[str, Any]
DIGITS = 4


def mark(x: float, series: int, text: str, interval: Sequence[float] | None = None, run: str = "") -> Chart:
    """One dot of a series, with the ends of its interval, and the run that it is of."""
    drawn: Chart = {"x": round(x, DIGITS), "series": series, "text": text}
    if interval is not None:
        drawn["ends"] = [round(end, DIGITS) for end in interval]
    return drawn | ({"run": run} if run else {})


def dots(
    label: str, axis: str, series: Sequence[tuple[str, str]], rows: Sequence[tuple[str, Sequence[Chart]]]
) -> Chart:
    """Rows of marks between 0 and 1; `series` are names with a style, `label` describes the chart in words."""
    named = [{"name": name, "style": style} for name, style in series]
    return {
        "label": label,
        "axis": axis,
        "series": named,
        "rows": [{"name": name, "marks": list(m)} for name, m in rows],
    }
