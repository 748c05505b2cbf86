"""One picture a run: its learned rate over the certified staircase, the other seeds thin behind it, failed ones red."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from certify.errors import UserError
from diacritic.files.atomic import make_folder, write_bytes
from diacritic.measure.verdict import Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FILE = "staircase.png"
MOST_NAMES = 6  # more windows than these are not named in the picture
REQUIRED, PASSED, FAILED, PRESENT = "#000000", "#0072b2", "#c1121f", "#e69f00"  # distinct for colour-blind readers


def draw(verdict: Verdict, path: Path, others: Sequence[Verdict] = ()) -> None:
    """Write the picture (PNG, SVG or PDF by suffix) by atomic rename."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UserError("figure", "needs matplotlib; install the extra 'report'") from None
    profile = verdict.profile
    steps = range(1, len(profile.rate) + 1)
    edges = [0.5, *(t + 0.5 for t in steps)]
    figure = Figure(figsize=(7.2, 3.6), layout="constrained")
    axes = figure.add_subplot()
    for k, (name, window) in enumerate(profile.windows.items()):
        axes.axvspan(window[0] + 0.5, window[-1] + 1.5, color="#999999", alpha=0.25 if k % 2 else 0.12, lw=0)
        if len(profile.windows) > MOST_NAMES:
            continue
        axes.annotate(
            name,
            ((window[0] + window[-1]) / 2 + 1, 0.98),
            xycoords=("data", "axes fraction"),
            ha="center",
            va="top",
            fontsize=8,
        )
    required = [float("nan") if bits is None else bits for bits in profile.required]
    axes.stairs(required, edges, color=REQUIRED, lw=2.5, label="required", baseline=None)
    axes.stairs(profile.decision, edges, color=PRESENT, lw=1.5, ls=":", label="present action", baseline=None)
    for other in others:
        axes.plot(steps, _rates(other), **_look(other), lw=0.8, alpha=0.5)
    said = "sufficient" if verdict.sufficient.answer == "yes" else "failed"
    label = f"learned rate, seed {verdict.subject.seed} ({said})"
    axes.plot(steps, _rates(verdict), **_look(verdict), lw=1.8, marker="o", ms=3, label=label)
    if others:
        failed = sum(other.sufficient.answer != "yes" for other in others)
        axes.plot(
            [], [], color="#555555", lw=0.8, label=f"other seeds: {len(others)}, of them {failed} failed (red, dashed)"
        )
    subject = verdict.subject
    axes.set(xlabel="step", ylabel="bits", xlim=(edges[0], edges[-1]))
    axes.set_title(f"{subject.task}, {subject.learner}", fontsize=10, wrap=True)
    rates = [rate for one in (verdict, *others) for rate in _rates(one)]
    most = max(bits for bits in (*required, *profile.decision, *rates, 1.0) if bits == bits)
    axes.set_ylim(-0.06 * most, 1.22 * most)  # room for the names of the windows
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    write_picture(figure, path)


def _rates(verdict: Verdict) -> list[float]:
    return [float("nan") if rate is None else rate for rate in verdict.profile.rate]


def _look(verdict: Verdict) -> dict[str, Any]:
    """Failure shows without colour, too."""
    passed = verdict.sufficient.answer == "yes"
    return {"color": PASSED if passed else FAILED, "ls": "-" if passed else "--"}


def write_picture(figure: "Figure", path: Path) -> None:
    """Write a figure as its suffix says, without a date, by atomic rename."""
    content = io.BytesIO()
    stamp = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix)
    figure.savefig(content, format=path.suffix.removeprefix(".") or "png", dpi=150, metadata=stamp)
    make_folder(path.parent)
    write_bytes(path, content.getvalue())
