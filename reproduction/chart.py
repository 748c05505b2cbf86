"""Comparisons as pictures: cells with their intervals and every run as a dot, and the verdicts of all studies."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from diacritic.report.dot_chart import drawn
from reproduction.captions import Labels
from reproduction.compare import CellLine, Comparison
from reproduction.derive import rates_of
from reproduction.release import rates, successes
from reproduction.verdicts import KINDS, Count

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OURS, PAPER = "#0072b2", "#d55e00"  # blue and vermilion look different to every kind of sight
_VERDICTS = dict(zip(KINDS, ("#0072b2", "#9ecae1", "#009e73", "#d55e00", "#dddddd", "#888888"), strict=True))


def chart(comparison: Comparison) -> str | None:
    """Every cell that ran whole, as SVG: sufficient seeds, success and rates; nothing where none did."""
    shown = [line for line in comparison.cells if line.whole and line.ours is not None]
    if not shown:
        return None
    windows = list(dict.fromkeys(window for line in shown for window in line.rows[0]["rate"]))
    panels = [*(["success"] if any(line.success is not None for line in shown) else []), *windows]

    def draw(figure: "Figure") -> None:
        first, *others = figure.subplots(
            1, 1 + len(panels), sharey=True, squeeze=False, width_ratios=[2, *[1] * len(panels)]
        )[0]
        _counts(first, shown, Labels.of(line.cell for line in comparison.cells))
        for axes, name in zip(others, panels, strict=True):
            _dots(axes, name, shown)

    return drawn(comparison.study.name, draw, 1.0 + 0.2 * len(shown), 7 + 1.2 * len(panels))


def verdict_bars(comparisons: Sequence[Comparison]) -> str:
    """How many lines of each study have which verdict, as SVG."""

    def draw(figure: "Figure") -> None:
        axes = figure.subplots()
        rows = range(len(comparisons))
        done = [0] * len(comparisons)
        for kind, colour in _VERDICTS.items():
            counts = [comparison.counts[kind] for comparison in comparisons]
            axes.barh(rows, counts, left=done, color=colour, label=kind, height=0.75, edgecolor="white", linewidth=0.5)
            done = [before + count for before, count in zip(done, counts, strict=True)]
        axes.set_yticks(rows, [comparison.study.title for comparison in comparisons])
        axes.set_ylim(len(comparisons) - 0.4, -0.6)
        axes.set_xlabel("lines: cells of trained runs, and figures")
        axes.legend(loc="lower left", bbox_to_anchor=(-0.3, 1), ncols=3, frameon=False)

    return drawn("scoreboard", draw, 1.2 + 0.22 * len(comparisons), 7.5)


def _counts(axes: "Axes", lines: Sequence[CellLine], labels: Labels) -> None:
    for y, line in enumerate(lines):
        if line.ours:
            _mark(axes, line.ours, y - 0.12, OURS, "o")
        if line.paper:
            _mark(axes, line.paper, y + 0.12, PAPER, "D")
    axes.set_yticks(range(len(lines)), [", ".join(labels.parts(line.cell)) for line in lines])
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel("share of sufficient seeds")
    axes.grid(axis="x", alpha=0.3)
    for colour, marker, label in ((OURS, "o", "ours"), (PAPER, "D", "paper, and runs of its release")):
        axes.plot([], [], marker, color=colour, markersize=4, label=label)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False)


def _dots(axes: "Axes", name: str, lines: Sequence[CellLine]) -> None:
    """One dot a run: success of all, or the bits in a window of those that the paper averages over, and its need."""
    for y, line in enumerate(lines):
        if name == "success":
            ours, theirs = [row["success"] for row in line.rows if row["success"] is not None], successes(line.released)
            need, paper = None, line.reported.success if line.reported else None
        else:
            ours, theirs = rates_of(line.rows, name, line.over_all), rates(line.released, name, line.over_all)
            need, paper = line.requirement(name), dict(line.reported.rate).get(name) if line.reported else None
        for values, shift, colour in ((ours, -0.12, OURS), (theirs, 0.12, PAPER)):
            axes.plot(values, [y + shift] * len(values), ".", color=colour, markersize=4, alpha=0.6)
        if paper is not None:
            axes.plot(paper, y + 0.12, "D", color=PAPER, markersize=3)
        if need is not None:
            axes.plot([need, need], [y - 0.45, y + 0.45], "-", color="black", linewidth=1)
    axes.set_xlabel("success" if name == "success" else f"bits, {name}")
    most = 1.0 if name == "success" else axes.get_xlim()[1]
    axes.set_xlim(-0.05 * most, 1.05 * most)  # dots at an end are whole
    axes.grid(axis="x", alpha=0.3)


def _mark(axes: "Axes", count: Count, y: float, colour: str, marker: str) -> None:
    low, high = count.interval
    spread = [[max(0.0, count.share - low)], [max(0.0, high - count.share)]]
    style: dict[str, Any] = {"fmt": marker, "color": colour, "markersize": 4, "capsize": 2, "linewidth": 1}
    axes.errorbar(count.share, y, xerr=spread, **style)
