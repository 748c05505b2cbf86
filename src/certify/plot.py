"""The staircase as a picture: what history holds, what must be carried, what the present action needs."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from certify.answer import Answer
from certify.by_label import LabelRates
from certify.errors import inert
from certify.optional import import_optional


def staircase(answer: Answer, path: Path, by_label: Sequence[LabelRates] = ()) -> None:
    """Write a PNG, SVG or PDF of the rates over time, with a thin line for each label."""
    rcParams: Any = import_optional("matplotlib", "report").rcParams
    rcParams["svg.hashsalt"] = "certify"  # equal answers give equal files
    figure = import_optional("matplotlib.figure", "report").Figure(figsize=(7.2, 3.6), layout="constrained")
    axes = figure.add_subplot()
    t = [step.t for step in answer.steps]
    edges = [t[0] - 0.5, *(x + 0.5 for x in t)]
    lines = [
        ("history", [s.history for s in answer.steps], "#999999", "-", 1.5),
        ("strong classes Γˢ", [s.strong for s in answer.steps], "#cc79a7", "--", 1.5),
        ("required", [s.upper for s in answer.steps], "#0072b2", "-", 3),
        ("present action", [s.instantaneous for s in answer.steps], "#e69f00", ":", 2),
    ]
    for label, values, colour, style, width in lines:
        axes.stairs(values, edges, label=label, color=colour, linestyle=style, linewidth=width, baseline=None)
    axes.stairs([s.upper for s in answer.steps], edges, color="#0072b2", alpha=0.12, fill=True)
    for one in by_label:
        bits = [float("nan") if value is None else value for value in one.bits]
        axes.stairs(bits, edges, label=inert(one.label), linewidth=1, baseline=None)
    brackets = [s for s in answer.steps if s.rate is None]
    if brackets:
        axes.vlines([s.t for s in brackets], [s.lower for s in brackets], [s.upper for s in brackets], "#d55e00", lw=4)
        axes.plot([], [], color="#d55e00", lw=4, label="bracket")
    axes.set(xlabel="step", ylabel="bits", xlim=(edges[0], edges[-1]))
    axes.set_title(inert(answer.name) or "memory requirement", parse_math=False)
    axes.set_ylim(bottom=-0.08)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(frameon=False, fontsize=8, loc="outside lower center", ncols=4)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
