"""The paper's figures, drawn again from ledgers and certificates: `python -m reproduction figure NAME`.

Blue is ours and sufficient, red has failed, black is required, orange the present action; shapes differ, too.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log2
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from certify import Answer, certify
from certify.errors import UserError
from certify.zoo import build
from diacritic.files.ledger import Row
from diacritic.measure.figure import write_picture
from diacritic.studies.tasks import model_of, task, windows
from reproduction.distortion.frontier import Source, closed_form, deterministic_frontier, largest_distortion
from reproduction.distortion.frontier import rate as least_rate
from reproduction.figure_series import Point, Rows, about, jittered, means, parameters, rate, shares, widest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

REQUIRED, OURS, FAILED, PRESENT, OTHER, THIRD = "#000000", "#0072b2", "#c1121f", "#e69f00", "#cc79a7", "#009e73"
SUFFIXES = (".svg", ".pdf", ".png")
Draw = Callable[["Figure", Rows], None]


@dataclass(frozen=True)
class Named:
    """A figure: what it shows, the paper's label, its size in inches, and what draws it."""

    name: str
    label: str
    title: str
    size: tuple[float, float]
    draw: Draw


def write_figure(name: str, results: Path, path: Path) -> None:
    """Draw one figure and write it by atomic rename; what is missing is said in one line."""
    chosen = find(name)
    if path.suffix not in SUFFIXES:
        raise UserError(str(path), f"figures are written as {', '.join(SUFFIXES)}; give one of these suffixes")
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise UserError("figure", "needs matplotlib; install the extra 'report'") from None
    matplotlib.rcParams["svg.hashsalt"] = "diacritic"  # equal ledgers give equal files
    figure = Figure(figsize=chosen.size, layout="constrained")
    rows = Rows.read(chosen.name, results)
    chosen.draw(figure, rows)
    if missing := rows.not_run():
        for axes in figure.axes:
            if not axes.has_data():
                axes.text(0.5, 0.5, "not run", transform=axes.transAxes, ha="center", color=FAILED)
        said = "\n".join(wrap(f"not run: {missing}", int(18 * chosen.size[0])))
        figure.supxlabel(said, fontsize=7, color=FAILED)
    write_picture(figure, path)


def find(name: str) -> Named:
    """By our name or the paper's label."""
    for item in FIGURES:
        if name in (item.name, item.label, item.label.removeprefix("fig:")):
            return item
    raise UserError("figure", f"none is called {name!r}; there are {', '.join(item.name for item in FIGURES)}")


def _axes(figure: "Figure", titles: Sequence[str]) -> list["Axes"]:
    panels = [figure.add_subplot(1, len(titles), k + 1) for k in range(len(titles))]
    for k, (panel, title) in enumerate(zip(panels, titles, strict=True)):
        panel.set_title(f"({chr(97 + k)}) {title}" if len(titles) > 1 else title, fontsize=9)
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelsize=8)
    return panels


def _series(axes: "Axes", points: Sequence[Point], label: str, colour: str, marker: str, log: bool = True) -> None:
    """Middles with their spread; the number of runs beside each."""
    if not points:
        return
    x = [log2(p.x) if log else p.x for p in points]
    spread = [[p.below for p in points], [p.above for p in points]]
    axes.errorbar(x, [p.y for p in points], spread, color=colour, marker=marker, ms=5, lw=1.2, capsize=2, label=label)
    for at, p in zip(x, points, strict=True):
        axes.annotate(str(p.runs), (at, p.y), (3, 4), textcoords="offset points", fontsize=6, color=colour)


def _stairs(
    axes: "Axes", values: Sequence[float], label: str, colour: str, width: float = 2.5, style: str = "-"
) -> None:
    edges = [0.5 + t for t in range(len(values) + 1)]
    axes.stairs(values, edges, color=colour, lw=width, ls=style, baseline=None, label=label)


def _answer(words: str) -> Answer:
    name, *rest = words.split()
    return certify(build(name, **dict(word.split("=", 1) for word in rest)))


def _legend(*panels: "Axes") -> None:
    for panel in panels:
        if panel.get_legend_handles_labels()[0]:
            panel.legend(frameon=False, fontsize=7)


def _concept(figure: "Figure", rows: Rows) -> None:
    """Three levels of memory in two cues; what a cue that is shown again saves."""
    first, second = _axes(figure, ["two cues: 2 → 1 → 0 bits", "a cue shown again need not be carried"])
    recorded = [row for row in rows.rows if row.get("dataset") == "two-cues-gap6"]
    if not recorded:
        raise UserError("figure concept", "no ledger holds the dataset two-cues-gap6; accept the recordings first")
    certificate = recorded[0]["certificate"]
    for key, label, colour, width in (
        ("requirement", "required", OURS, 3),
        ("instantaneous", "present action", PRESENT, 1.5),
    ):
        _stairs(first, [bits for phase in certificate[key].values() for bits in phase], label, colour, width)
    at = 0.5
    for phase, bits in certificate["requirement"].items():
        first.axvline(at, color="#bbbbbb", lw=0.6)
        first.annotate(phase, (at + len(bits) / 2, 2.15), ha="center", fontsize=6, rotation=30)
        at += len(bits)
    first.set_ylim(-0.1, 2.4)
    for words, colour, style in (("gap gap2=6", OURS, "-"), ("re-reveal gap2=6", THIRD, "--")):
        answer = _answer(words)
        _stairs(second, [step.upper for step in answer.steps], answer.name.split(" ")[0], colour, 2.5, style)
    _bits(first, second)
    first.legend(frameon=False, fontsize=7, loc="center right")
    _legend(second)


def _bits(*panels: "Axes", x: str = "step") -> None:
    for panel in panels:
        panel.set_xlabel(x, fontsize=8)
        panel.set_ylabel("bits", fontsize=8)


def _world_complexity(figure: "Figure", rows: Rows) -> None:
    """Rates at a fixed requirement while the world grows."""
    mass, readout, chain = _axes(figure, ["hidden mass: grasp", "readout-2: first gap", "memory chain: mid-delay"])
    for panel, name, window, need in ((mass, "hidden-mass", "grasp", 0.0), (readout, "readout-2", "gap1", 2.0)):
        mine = [row for row in rows.wanted(name, "plain") if row["K"] == 16 and row["beta"] > 0]
        _series(panel, means(mine, "modes", rate(window)), "plain, sufficient", OURS, "o")
        identified = widest(rows.wanted(name, "sysid"), "modes")
        _series(panel, means(identified, "modes", rate(window), every=True), "identification", FAILED, "s")
        panel.axhline(need, color=REQUIRED, ls="--", lw=1)
    _chain_rates(chain, rows)
    _bits(mass, readout, x="log₂ M")
    _bits(chain, x="delay")
    _legend(mass, readout, chain)


def _chain_rates(axes: "Axes", rows: Rows) -> None:
    learners = {"plain": (OURS, "o"), "event-agnostic-recorded": (THIRD, "^")}
    for bits in (1, 2, 3):
        for learner, (colour, marker) in learners.items():
            mine = rows.wanted("memory-chain", learner, bits=bits)
            points = means(mine, "delay", rate("mid-delay"))
            _series(axes, points, learner if bits == 1 else "", colour, marker, log=False)
            if mine:
                axes.axhline(mine[0]["requirement"]["mid-delay"], color=REQUIRED, ls="--", lw=1)


def _profiles(axes: "Axes", rows: Sequence[Row]) -> None:
    """Every seed's rate at every step over what is required; failed seeds red and dashed."""
    if not rows:
        return
    if any("profile" not in row for row in rows):
        raise UserError("figure", "the rows hold no rate per step; measure the runs again")
    seen: set[str] = set()
    for row in rows:
        word, colour, style = ("sufficient", OURS, "-") if row["sufficient"] else ("failed", FAILED, "--")
        axes.plot(range(1, len(row["profile"]) + 1), row["profile"], color=colour, ls=style, lw=0.9,
                  label="" if word in seen else word)  # fmt: skip
        seen.add(word)
    _stairs(axes, rows[0]["required_profile"], "required", REQUIRED)
    _stairs(axes, rows[0]["decision_profile"], "present action", PRESENT, 1.5, ":")
    _bits(axes)
    _legend(axes)


def _memory_profile(figure: "Figure", rows: Rows) -> None:
    """Two cues at gap 20: the paper shows matched side information; beside it what needs none."""
    learners = {
        "plain": "plain",
        "event-agnostic": "event-agnostic",
        "hierarchical+task-informed": "matched side information, task-informed",
    }
    for axes, learner in zip(_axes(figure, list(learners.values())), learners, strict=True):
        _profiles(axes, rows.wanted("two-cues", learner, gap=20, beta=1e-3))


def _plain_trajectories(figure: "Figure", rows: Rows) -> None:
    panels = _axes(figure, ["β = 0", "β = 0.001"])
    for axes, beta in zip(panels, (0.0, 1e-3), strict=True):
        _profiles(axes, rows.wanted("two-cues", "plain", gap=6, N=1152, beta=beta))


def _toys(figure: "Figure", rows: Rows) -> None:
    """World against behaviour, rate–distortion, and the gap toy: reliability, rate after use, windows."""
    titles = ["rate does not grow with M", "rate–distortion, R = 4", "gap toy: sufficient", "second gap", "gap 6"]
    world, curve, reliable, after, steps = _axes(figure, titles)
    sizes = (4, 8, 16)
    models = {size: build("reveal", modes=size) for size in sizes}
    world.plot([log2(size) for size in sizes], [log2(size) for size in sizes], "s--", color=OTHER, label="world")
    need = [certify(model).steps[-1].upper for model in models.values()]
    world.plot([log2(size) for size in sizes], need, "o-", color=OURS, label="required")
    _bits(world, x="log₂ M")
    most = float(largest_distortion(Source.of_classes(models[4].graph, 3)))
    grid = [most * k / 24 for k in range(25)]
    curve.plot(grid, [closed_form(4, d) for d in grid], color=REQUIRED, lw=1.5, label="closed form")
    for size, marker in zip(sizes, "osv", strict=True):
        source = Source.of_histories(models[size].graph, 3)
        curve.plot(grid[::4], [least_rate(source, d) for d in grid[::4]], marker, ms=4, color=OURS, label=f"M = {size}")
    corners = deterministic_frontier(Source.of_classes(models[4].graph, 3))
    curve.plot(
        [float(p.distortion) for p in corners],
        [p.rate for p in corners],
        "D-",
        color=PRESENT,
        ms=4,
        label="deterministic",
    )
    _bits(curve, x="distortion")
    for learner, colour, marker in (("plain", OURS, "o"), ("plain+bfs", THIRD, "^")):
        mine = [row for row in rows.wanted("gap", learner) if row["beta"] == 0.03 and row["N"] is None]
        _series(reliable, shares(mine, "gap2"), learner, colour, marker, log=False)
        _series(after, means(mine, "gap2", rate("second gap")), learner, colour, marker, log=False)
    reliable.set_ylim(-0.05, 1.05)
    reliable.set_xlabel("gap₂", fontsize=8)
    after.axhline(1, color=REQUIRED, ls="--", lw=1)
    _bits(after, x="gap₂")
    answer = _answer("gap gap2=6")
    _stairs(steps, [step.upper for step in answer.steps], "required", REQUIRED)
    _stairs(steps, [step.instantaneous for step in answer.steps], "present action", PRESENT, 1.5, ":")
    shown = [row for row in rows.wanted("gap", "plain", gap2=6) if row["beta"] == 0.03 and row["N"] is None]
    _window_marks(steps, shown, windows(task("gap", gap2=6)))
    _bits(steps)
    _legend(world, curve, reliable, after, steps)


def _window_marks(axes: "Axes", rows: Sequence[Row], windows: Mapping[str, range]) -> None:
    """Each seed's mean rate of a window as a level line."""
    for row, shift in zip(rows, jittered(len(rows)), strict=True):
        for name, steps in windows.items():
            bits = row["rate"].get(name)
            colour, style = (OURS, "-") if row["sufficient"] else (FAILED, "--")
            if bits is not None:
                axes.plot([steps[0] - 0.5, steps[-1] + 0.5], [bits + shift] * 2, color=colour, ls=style, lw=1)


def _hidden_mass(figure: "Figure", rows: Rows) -> None:
    """Rate, mass information and sufficiency over the number of masses."""
    bits, told, reliable = _axes(figure, ["grasp rate", "information on the mass", "sufficient seeds"])
    plain = rows.wanted("hidden-mass", "plain")
    kinds: list[tuple[str, list[Row], str, str]] = [
        ("plain, K = 16", [row for row in plain if row["K"] == 16 and row["beta"] > 0], OURS, "o"),
        ("plain, K = 64", [row for row in plain if row["K"] == 64], THIRD, "^"),
        ("identification", widest(rows.wanted("hidden-mass", "sysid"), "modes"), FAILED, "s"),
        ("inverse only", rows.wanted("hidden-mass", "inverse-only"), OTHER, "v"),
    ]
    for label, mine, colour, marker in kinds:
        _series(bits, means(mine, "modes", rate("grasp"), every=True), label, colour, marker)
        _series(told, means(mine, "modes", about("grasp", "mass"), every=True), label, colour, marker)
        _series(reliable, shares(mine, "modes"), label, colour, marker)
    _bits(bits, told, x="log₂ M")
    reliable.set_xlabel("log₂ M", fontsize=8)
    _legend(bits)


def _signpost_corridor(figure: "Figure", rows: Rows) -> None:
    """The staircase with learned rates, reliability over distance, and the drift that is carried along."""
    levels, reliable, drift = _axes(figure, ["M = 16", "sufficient over hall 2", "information on the drift"])
    instance = task("signpost-corridor", M=16, hall1=3, hall2=6)
    answer = certify(model_of(instance))
    _stairs(levels, [step.history for step in answer.steps], "history", "#999999", 1)
    _stairs(levels, [step.upper for step in answer.steps], "required", REQUIRED)
    still = [row for row in rows.wanted("signpost-corridor", "plain", M=16) if "W" not in parameters(row)]
    plain = [row for row in still if row["beta"] == 0.01 and row["K"] == 16 and parameters(row).get("hall1", 3) == 3]
    _window_marks(levels, [row for row in plain if parameters(row)["hall2"] == 6], windows(instance))
    _series(reliable, shares(plain, "hall2"), "plain", OURS, "o", log=False)
    for learner, colour, marker in (("plain", OURS, "o"), ("sysid", FAILED, "s"), ("inverse-only", OTHER, "v")):
        mine = [row for row in rows.wanted("signpost-corridor", learner, M=16) if "W" in parameters(row)]
        _series(drift, means(mine, "W", about("hall 1", "drift"), every=True), learner, colour, marker)
    reliable.set(ylim=(-0.05, 1.05))
    reliable.set_xlabel("length of hall 2", fontsize=8)
    _bits(levels)
    _bits(drift, x="log₂ W")
    _legend(levels, reliable, drift)


def _rate_fidelity(figure: "Figure", rows: Rows) -> None:
    """Rate after use against success, and success over β, of sufficient policies."""
    scatter, sweep = _axes(figure, ["sufficient policies", "success over β"])
    runs = [row for row in rows.wanted("two-cues", gap=6) if "classes" not in parameters(row)]
    runs = [row for row in runs if row["sufficient"] and row["success"] is not None and row["learner"] != "bypass"]
    if not runs and not rows.missing:
        raise UserError(
            "figure rate-fidelity", "no sufficient policy on two-cues, gap=6 was rolled out; roll them out first"
        )
    scatter.plot(
        [row["success"] for row in runs], [row["rate"]["gap2"] for row in runs], "o", ms=4, color=OURS, alpha=0.6
    )
    scatter.axhline(1, color=REQUIRED, ls="--", lw=1)
    _bits(scatter, x="closed-loop success")
    plain = [row for row in runs if row["learner"] == "plain"]
    sweep.plot([row["beta"] for row in plain], [row["success"] for row in plain], "o", ms=4, color=OURS, alpha=0.6)
    sweep.set_xscale("symlog", linthresh=1e-4)
    sweep.set_xlabel("β", fontsize=8)
    sweep.set_ylabel("success", fontsize=8)


def _full_reveal(figure: "Figure", rows: Rows) -> None:
    (axes,) = _axes(figure, ["full reveal: first gap"])
    informed = rows.wanted("full-reveal", "task-informed")
    _series(axes, means(informed, "modes", rate("gap1")), "task-informed, sufficient", OURS, "o")
    _series(axes, means(informed, "modes", rate("gap1"), every=True), "task-informed, all seeds", THIRD, "^")
    identified = widest(rows.wanted("full-reveal", "sysid"), "modes")
    _series(axes, means(identified, "modes", rate("gap1"), every=True), "identification", FAILED, "s")
    axes.axhline(2, color=REQUIRED, ls="--", lw=1)
    _bits(axes, x="log₂ M")
    _legend(axes)


def _memory_chain(figure: "Figure", rows: Rows) -> None:
    """Mid-delay rates of every sufficient seed over the requirement, and how many are sufficient."""
    panels = _axes(figure, ["1 bit", "2 bits", "3 bits"])
    learners = {"plain": (OURS, "o", -1), "event-agnostic-recorded": (THIRD, "^", 1)}
    for axes, bits in zip(panels, (1, 2, 3), strict=True):
        counts: Any = axes.twinx()
        counts.spines[["top"]].set_visible(False)
        counts.set_ylim(0, 24)  # bars stay below the dots
        counts.set_yticks([0, 4, 8])
        counts.tick_params(labelsize=7)
        runs = rows.wanted("memory-chain", tuple(learners), bits=bits)
        if not runs:
            continue
        delays = sorted({parameters(row)["delay"] for row in runs})
        for learner, (colour, marker, side) in learners.items():
            for k, delay in enumerate(delays):
                mine = [row for row in runs if row["learner"] == learner and parameters(row)["delay"] == delay]
                good = [row["rate"]["mid-delay"] for row in mine if row["sufficient"]]
                counts.bar(k + 0.17 * side, len(good), 0.3, color=colour, alpha=0.35)
                x = [k + 0.17 * side + shift for shift in jittered(len(good))]
                axes.plot(x, good, marker, ms=4, color=colour, label=learner if k == 0 else "")
        axes.axhline(runs[0]["requirement"]["mid-delay"], color=REQUIRED, lw=1.2, label="required")
        axes.set_ylim(0, bits + 1)
        axes.set_xticks(range(len(delays)), [f"{delay:g}" for delay in delays])
        _bits(axes, x="delay")
        counts.set_ylabel("sufficient seeds" if bits == 3 else "", fontsize=8)
    _legend(panels[0])


FIGURES = (
    Named("concept", "fig:concept", "present action and recurrent memory", (9, 3.2), _concept),
    Named(
        "world-complexity",
        "fig:taskA",
        "rates at a fixed requirement while the world grows",
        (10, 3.2),
        _world_complexity,
    ),
    Named(
        "memory-profile",
        "fig:memory-profile",
        "every seed's rate over the staircase, gap 20",
        (12, 3.4),
        _memory_profile,
    ),
    Named("toys", "fig:toy", "rate, distortion and the gap toy", (15, 3.2), _toys),
    Named("hidden-mass", "fig:sysK", "hidden-mass controls", (10, 3.2), _hidden_mass),
    Named("signpost-corridor", "fig:grid", "levels, distance and drift", (10, 3.2), _signpost_corridor),
    Named("plain-trajectories", "fig:fig3", "every plain seed, sufficient or not", (9, 3.4), _plain_trajectories),
    Named("rate-fidelity", "fig:rd", "rate against success in closed loop", (8, 3.2), _rate_fidelity),
    Named("full-reveal", "fig:pI", "all of the mode shown, two bits needed", (6, 3.4), _full_reveal),
    Named("memory-chain", "fig:cert", "mid-delay rates and reliability", (10, 3.2), _memory_chain),
)
