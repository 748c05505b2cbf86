"""Tables of numbers as dots: a line for each label, a panel for each quantity, a colour and a shape for each series."""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from certify.optional import import_optional

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")  # for every kind of sight
MARKS = "oDs^vP*"
Axes = Any  # matplotlib is there only where figures are drawn


@dataclass(frozen=True)
class Panel:
    """One quantity: its name below the axis, which begins at 0 (on a scale of logarithms where the dots do), and where
    it ends (none: where the dots do)."""

    title: str
    high: float | None = None
    log: bool = False


SHARE = Panel("share of sufficient seeds", high=1.0)
SUCCESS = Panel("success", high=1.0)
SURPLUS = Panel("largest surplus (bit)")

Lines = Mapping[str, Mapping[str, Mapping[str, float | None]]]
"""label → title of a panel → series → number; what is missing or none is not drawn."""


def dot_chart(name: str, lines: Lines, panels: Sequence[Panel], width: float = 9.0) -> str:
    """The picture as SVG, the same for the same numbers."""
    series = list(dict.fromkeys(one for shown in lines.values() for values in shown.values() for one in values))

    def draw(figure: Any) -> None:
        every = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axes, panel in zip(every, panels, strict=True):
            _dots(axes, panel, [shown.get(panel.title, {}) for shown in lines.values()], series)
        every[0].set_yticks(range(len(lines)), list(lines))
        every[0].set_ylim(len(lines) - 0.4, -0.6)
        if len(series) > 1:
            figure.legend(*every[0].get_legend_handles_labels(), loc="outside upper left", ncols=4, frameon=False)

    return drawn(name, draw, 1.3 + (0.14 + 0.05 * len(series)) * max(len(lines), 3), width)


def _dots(axes: Axes, panel: Panel, lines: Sequence[Mapping[str, float | None]], series: Sequence[str]) -> None:
    for k, one in enumerate(series):
        shift = 0.7 * ((k + 0.5) / len(series) - 0.5)
        points = [(values[one], y + shift) for y, values in enumerate(lines) if values.get(one) is not None]
        style = {"color": COLOURS[k % len(COLOURS)], "markersize": 4, "zorder": 3}
        axes.plot([x for x, _ in points], [y for _, y in points], MARKS[k % len(MARKS)], label=one, **style)
    axes.set(xlabel=panel.title, xscale="log" if panel.log else "linear")
    if panel.log:
        _decades(axes)
    else:
        end = panel.high or max((x for values in lines for x in values.values() if x is not None), default=1.0)
        axes.set_xlim(-0.04 * end, 1.04 * end)
    for y in range(1, len(lines), 2):
        axes.axhspan(y - 0.5, y + 0.5, color="#f3f3f3", lw=0, zorder=0)
    axes.grid(axis="x", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(axis="y", length=0)


def _decades(axes: Axes) -> None:
    """Plain numbers at 1, 10, 100, … and, where few of these are in sight, at 3, 30, 300, …"""
    low, high = axes.get_xlim()
    axes.set_xlim(low / 1.2, high * 1.2)
    ticker = import_optional("matplotlib.ticker", "report")
    axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1.0, 3.0) if high < 100 * low else (1.0,)))
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda x, _: f"{x:,g}"))
    axes.xaxis.set_minor_locator(ticker.NullLocator())


def drawn(name: str, draw: Callable[[Any], None], height: float, width: float = 9.0) -> str:
    """What is drawn on a figure of so many inches, as SVG; a reader's letters may be a little wider than ours."""
    settings = {"svg.fonttype": "none", "svg.hashsalt": name, "font.size": 8}
    with import_optional("matplotlib", "report").rc_context(settings):
        figure = import_optional("matplotlib.figure", "report").Figure(figsize=(width, height), layout="constrained")
        figure.get_layout_engine().set(rect=(0.02, 0, 0.98, 1))
        draw(figure)
        _settle(figure)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def _settle(figure: Any) -> None:
    """Lay a figure out, to the millionth: the solver's last digits vary, and equal charts are to be equal files."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes in figure.axes:
        axes.set_position([round(edge, 6) for edge in axes.get_position().bounds])
