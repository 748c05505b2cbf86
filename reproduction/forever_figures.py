"""Pictures of what the experts of published models require for ever."""

from collections.abc import Sequence
from typing import Any

from diacritic.report.dot_chart import COLOURS, drawn
from reproduction.forever import EXPERTS, Row
from reproduction.forever_page import MODELS, WORLDS, is_cassandra


def pictures(rows: Sequence[Row]) -> dict[str, str]:
    """SVG by file name, below the folder of the pages."""
    asked = [row for row in rows if row.get("states") and row.get("upper") is not None]
    worlds = [row for row in asked if is_cassandra(row)]
    models = [row for row in asked if not is_cassandra(row)]
    return {
        WORLDS: drawn("for-ever-worlds", lambda figure: _worlds(figure, worlds), 5.2),
        MODELS: drawn("for-ever-models", lambda figure: _models(figure, models), 3.0),
    }


def _worlds(figure: Any, rows: Sequence[Row]) -> None:
    for axes, expert in zip(figure.subplots(2, 2, sharex=True, sharey=True).flat, EXPERTS, strict=True):
        own = [row for row in rows if row["expert"] == expert]
        _bits(axes, own)
        axes.set_title(f"{expert}: {len(own)} worlds")
    figure.supxlabel("states")
    figure.supylabel("bits of the long run")


def _models(figure: Any, rows: Sequence[Row]) -> None:
    bits, seconds = figure.subplots(1, 2, sharex=True)
    _bits(bits, rows)
    seconds.plot([row["states"] for row in rows], [row["seconds"] for row in rows], ".", color=COLOURS[0], alpha=0.6)
    seconds.set(yscale="log", ylabel="seconds", xlabel="states")
    bits.set(ylabel="bits of the long run", xlabel="states")
    seconds.grid(alpha=0.3)


def _bits(axes: Any, rows: Sequence[Row]) -> None:
    """Exact answers as dots, brackets as bars."""
    exact = [row for row in rows if row["certified"]]
    open_ones = [row for row in rows if not row["certified"]]
    axes.plot([row["states"] for row in exact], [row["upper"] for row in exact], ".", color=COLOURS[0], alpha=0.6)
    ends = ([row["lower"] or 0 for row in open_ones], [row["upper"] for row in open_ones])
    axes.vlines([row["states"] for row in open_ones], *ends, color=COLOURS[1], linewidth=2)
    axes.set(xscale="log")
    axes.grid(alpha=0.3)
