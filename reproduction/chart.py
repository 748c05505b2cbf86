"""A picture of a comparison: sufficient seeds with their intervals, and every run's success and bits as a dot."""

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from certify.optional import import_optional
from reproduction.compare import CellLine, Comparison
from reproduction.derive import rates_of
from reproduction.release import rates, successes
from reproduction.verdicts import Count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OURS, PAPER = "#0072b2", "#d55e00"  # blue and vermilion are told apart by every kind of sight
_MOST = 60  # lines in one picture


def chart(comparison: Comparison) -> str | None:
    """The picture as SVG, or nothing where no cell with a count of the paper has run."""
    lines = [line for line in comparison.cells if line.whole and line.ours is not None and line.paper is not None]
    if not lines:
        return None
    shown = lines[:_MOST]
    windows = dict.fromkeys(window for line in shown for run in line.released for window in run.rate)
    panels = [*(["success"] if any(successes(line.released) for line in shown) else []), *windows]
    matplotlib = import_optional("matplotlib", "report")
    settings = {"svg.fonttype": "none", "svg.hashsalt": comparison.study.name, "font.size": 8}
    with matplotlib.rc_context(settings):
        figure = import_optional("matplotlib.figure", "report").Figure(
            figsize=(8 + 2 * len(panels), 0.9 + 0.24 * len(shown)), layout="constrained"
        )
        first, *others = figure.subplots(
            1, 1 + len(panels), sharey=True, squeeze=False, width_ratios=[2, *[1] * len(panels)]
        )[0]
        _counts(first, shown)
        for axes, name in zip(others, panels, strict=True):
            _dots(axes, name, shown)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()


def _counts(axes: "Axes", lines: Sequence[CellLine]) -> None:
    for y, line in enumerate(lines):
        if line.ours and line.paper:
            _mark(axes, line.ours, y - 0.12, OURS, "o", "ours" if y == 0 else None)
            _mark(axes, line.paper, y + 0.12, PAPER, "D", "paper, and runs of its release" if y == 0 else None)
    names = [f"{line.cell.name}, {line.cell.learner}, {line.cell.preset}" for line in lines]
    axes.set_yticks(range(len(lines)), names)
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel("share of sufficient seeds, 95 % Wilson intervals")
    axes.grid(axis="x", alpha=0.3)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False)


def _dots(axes: "Axes", name: str, lines: Sequence[CellLine]) -> None:
    """One dot a run: success of all, or the bits in a window of those that the paper averages over."""
    for y, line in enumerate(lines):
        if name == "success":
            ours, theirs = [row["success"] for row in line.rows if row["success"] is not None], successes(line.released)
        else:
            ours, theirs = rates_of(line.rows, name, line.over_all), rates(line.released, name, line.over_all)
        for values, shift, colour in ((ours, -0.12, OURS), (theirs, 0.12, PAPER)):
            axes.plot(values, [y + shift] * len(values), ".", color=colour, markersize=4, alpha=0.6)
    axes.set_xlabel("success" if name == "success" else f"bits, {name}")
    axes.grid(axis="x", alpha=0.3)


def _mark(axes: "Axes", count: Count, y: float, colour: str, marker: str, label: str | None) -> None:
    low, high = count.interval
    spread = [[max(0.0, count.share - low)], [max(0.0, high - count.share)]]
    style: dict[str, Any] = {"fmt": marker, "color": colour, "markersize": 4, "capsize": 2, "linewidth": 1}
    axes.errorbar(count.share, y, xerr=spread, label=label, **style)
