"""A picture of a comparison: sufficient seeds, ours and the paper's, with their intervals."""

import io
from typing import TYPE_CHECKING, Any

from certify.optional import import_optional
from reproduction.compare import Comparison
from reproduction.verdicts import Count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OURS, PAPER = "#0072b2", "#d55e00"  # blue and vermilion are told apart by every kind of sight
_MOST = 60  # lines in one picture


def chart(comparison: Comparison) -> str | None:
    """The picture as SVG, or nothing where no cell with a count of the paper has run."""
    pairs = [
        (f"{line.cell.name}, {line.cell.learner}, {line.cell.preset}", line.ours, line.paper)
        for line in comparison.cells
        if line.verdict != "not run" and line.ours is not None and line.paper is not None
    ][:_MOST]
    if not pairs:
        return None
    matplotlib = import_optional("matplotlib", "report")
    settings = {"svg.fonttype": "none", "svg.hashsalt": comparison.study.name, "font.size": 8}
    with matplotlib.rc_context(settings):
        figure = import_optional("matplotlib.figure", "report").Figure(
            figsize=(8, 0.9 + 0.24 * len(pairs)), layout="constrained"
        )
        axes = figure.add_subplot()
        for y, (_, ours, paper) in enumerate(pairs):
            _mark(axes, ours, y - 0.12, OURS, "o", "ours" if y == 0 else None)
            _mark(axes, paper, y + 0.12, PAPER, "D", "paper" if y == 0 else None)
        axes.set_yticks(range(len(pairs)), [name for name, _, _ in pairs])
        axes.set_ylim(len(pairs) - 0.4, -0.6)
        axes.set_xlim(-0.02, 1.02)
        axes.set_xlabel("share of sufficient seeds, 95 % Wilson intervals")
        axes.grid(axis="x", alpha=0.3)
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()


def _mark(axes: "Axes", count: Count, y: float, colour: str, marker: str, label: str | None) -> None:
    share, (low, high) = count.passed / count.of, count.interval
    spread = [[max(0.0, share - low)], [max(0.0, high - share)]]
    style: dict[str, Any] = {"fmt": marker, "color": colour, "markersize": 4, "capsize": 2, "linewidth": 1}
    axes.errorbar(share, y, xerr=spread, label=label, **style)
