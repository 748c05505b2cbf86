"""Pictures of the survey of recordings: required bits step by step, and how flaws show."""

from collections.abc import Mapping, Sequence
from typing import Any

from diacritic.report.dot_chart import Lines, Panel, dot_chart, drawn
from reproduction.recordings_tables import FLAWS, STRIPS, flaw_accuracies, named

Row = Mapping[str, Any]
BLUES = ("#f0f0f0", "#c6dbef", "#6baed6", "#2171b5", "#08306b")  # 0 to 4 bits
ACCURACY = Panel("accuracy", high=1.0)


def pictures(rows: Sequence[Row]) -> dict[str, str]:
    """SVG by file name, below the folder of the pages."""
    clean = [row for row in rows if row["flaw"] is None]
    by_name = {row["dataset"]: row for row in rows}
    sides = {row["flaw"]: flaw_accuracies(row, by_name) for row in rows if row["flaw"] is not None}
    lines: Lines = {
        flaw: {ACCURACY.title: dict(zip(("clean", "flawed")[-len(accuracies) :], map(float, accuracies), strict=True))}
        for flaw, accuracies in sides.items()
    }
    strips = drawn("recordings", lambda figure: _strips(figure, clean), 0.9 + 0.24 * len(clean))
    return {STRIPS: strips, **({FLAWS: dot_chart("recordings-flaws", lines, (ACCURACY,), 7.0)} if lines else {})}


def _strips(figure: Any, rows: Sequence[Row]) -> None:
    axes = figure.subplots()
    for y, row in enumerate(rows):
        phases = row["certificate"]["requirement"]
        bits = [value for values in phases.values() for value in values]
        axes.barh([y] * len(bits), 1, left=range(len(bits)), height=0.8, color=[_colour(value) for value in bits])
        starts = [sum(map(len, list(phases.values())[:k])) for k in range(len(phases))]
        axes.vlines(starts, y - 0.4, y + 0.4, color="white", linewidth=1)
    axes.set_yticks(range(len(rows)), [named(row).replace("`", "") for row in rows])
    axes.set(xlabel="step", ylim=(len(rows) - 0.4, -0.6), xlim=(0, None))
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    for bits, colour in enumerate(BLUES):
        axes.bar(0, 0, color=colour, label="1 bit" if bits == 1 else f"{bits} bits")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=5, frameon=False)


def _colour(bits: float) -> str:
    return BLUES[min(round(bits), len(BLUES) - 1)]
