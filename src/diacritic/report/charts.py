"""Charts as plain dictionaries that Plotly reads; colours by role, which the page's style sheet fills in."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

Chart = dict[str, Any]
Trace = dict[str, Any]
LONG = 120  # steps beyond which only the ends of level stretches are drawn
DIGITS = 4
INK, GOOD, BAD, AMBER, ROSE, GREY = (f"--{name}" for name in ("ink", "good", "bad", "amber", "rose", "grey"))


def chart(traces: Sequence[Trace], label: str, x: str = "", y: str = "", **layout: Any) -> Chart:
    """Traces with axes and a sentence that says what is drawn, for those who do not see it."""
    axes = {"xaxis": {"title": {"text": x}}, "yaxis": {"title": {"text": y}}}
    for name in axes:
        axes[name] |= layout.pop(name, {})
    return {"data": list(traces), "layout": axes | layout, "label": label}


def line(name: str, values: Sequence[float | None], colour: str, **style: Any) -> Trace:
    """Bits over the steps 1, 2, …, as a staircase."""
    x, y = shortened(values)
    drawn = {"color": colour, "shape": "hvh"} | style.pop("line", {})
    return {"type": "scatter", "mode": "lines", "name": name, "x": x, "y": y, "line": drawn} | style


def shortened(values: Sequence[float | None]) -> tuple[list[int], list[float | None]]:
    """Steps and values; of a long profile only the ends of level stretches, between which nothing changes."""
    rounded = [None if value is None else round(value, DIGITS) for value in values]
    if len(rounded) <= LONG:
        return list(range(1, len(rounded) + 1)), rounded
    kept: list[int] = []
    for _, stretch in groupby(range(len(rounded)), key=lambda t: rounded[t]):
        inside = list(stretch)
        kept += [inside[0]] if len(inside) == 1 else [inside[0], inside[-1]]
    return [t + 1 for t in kept], [rounded[t] for t in kept]


def plain(text: str) -> str:
    """A name as Plotly must read it to show it letter by letter: it takes some tags for markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def steps_axis(horizon: int) -> dict[str, Any]:
    """Whole steps."""
    return {"dtick": 1} if horizon <= 20 else {"tickformat": "d"}


def joined(curves: Mapping[str, Sequence[float | None]]) -> tuple[list[int | None], list[float | None], list[str]]:
    """Many curves as one trace with gaps between them, and the name of every point's curve; equal curves once."""
    alike: dict[tuple[float | None, ...], list[str]] = {}
    for name, values in curves.items():
        alike.setdefault(tuple(None if value is None else round(value, DIGITS) for value in values), []).append(name)
    x: list[int | None] = []
    y: list[float | None] = []
    text: list[str] = []
    for values, names in alike.items():
        steps, bits = shortened(values)
        said = plain(", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else ""))
        x += [*steps, None]
        y += [*bits, None]
        text += [said] * (len(steps) + 1)
    return x, y, text
