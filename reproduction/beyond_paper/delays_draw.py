"""Figures of long delays from their ledgers: `python -m reproduction beyond-paper pages`.

Every ledger becomes an SVG in docs/images/beyond_paper, and its table in docs/long_delays.md is filled in.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from diacritic.files.atomic import write_text
from diacritic.files.ledger import Row, read_ledger
from diacritic.report.dot_chart import COLOURS, drawn
from reproduction.beyond_paper.delays_page import by, counted, filled

STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))
Axes = Any  # matplotlib is there only where figures are drawn


def band(axes: Axes, x: Sequence[float], lines: Sequence[Sequence[float]], k: int, label: str) -> None:
    """The median over seeds with the range of all seeds around it."""
    values = np.array(lines, np.float64)
    colour, style = COLOURS[k % len(COLOURS)], STYLES[k % len(STYLES)]
    axes.plot(x, np.median(values, 0), color=colour, ls=style, lw=1.6, label=label)
    axes.fill_between(x, values.min(0), values.max(0), color=colour, alpha=0.15, lw=0)


def error_norm(figure: Any, rows: Sequence[Row]) -> None:
    """The error's norm over the distance, against that at the decision; the longest delay of each gradient."""
    moments = {"at the start": [r for r in rows if not r["steps"]], "after training": [r for r in rows if r["steps"]]}
    for axes, (moment, here) in zip(np.ravel(figure.subplots(1, 2, sharey=True)), moments.items(), strict=True):
        for k, (name, mine) in enumerate(by(here, "preset").items()):
            far = max(row["delay"] for row in mine)
            kept = [row for row in mine if row["delay"] == far]
            relative = [[norm / row["norm"][0] for norm in row["norm"]] for row in kept]
            band(axes, [distance + 1 for distance in kept[0]["distance"]], relative, k, f"{name}, delay {far}")
        axes.set(xscale="log", yscale="log", xlabel="steps back from the decision, plus one", title=moment)
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("‖∂ℓ/∂e‖ over that at the decision")
    figure.axes[0].legend(frameon=False)


def code_usage(figure: Any, rows: Sequence[Row]) -> None:
    """Codes in use and their perplexity over training."""
    cells = by(rows, "task")
    grid = figure.subplots(2, len(cells), sharex=True, sharey="row", squeeze=False)
    for column, (name, here) in enumerate(cells.items()):
        for axes, key in zip(grid[:, column], ("codes_used", "perplexity"), strict=True):
            for k, (preset, mine) in enumerate(by(here, "preset").items()):
                band(axes, mine[0]["updates"], [row[key] for row in mine], k, preset)
            axes.set_ylabel(key.replace("_", " ") if column == 0 else "")
            axes.grid(alpha=0.3)
        grid[0, column].set_title(name)
        grid[1, column].set_xlabel("updates")
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)


def basin(figure: Any, rows: Sequence[Row]) -> None:
    """Sufficient seeds over the two scales, and the share of codes that a step keeps before training."""
    codes, residuals = (sorted({row[key] for row in rows}) for key in ("code_scale", "residual_scale"))
    shown = {"sufficient seeds": "sufficient", "share of codes that a step keeps, at the start": "persisting"}
    for axes, (title, key) in zip(figure.subplots(1, 2, sharey=True), shown.items(), strict=True):
        share = np.full((len(residuals), len(codes)), np.nan)
        for mine in by(rows, "cell").values():
            y, x = residuals.index(mine[0]["residual_scale"]), codes.index(mine[0]["code_scale"])
            share[y, x] = np.mean([row[key] for row in mine])
            text = counted(mine) if key == "sufficient" else f"{share[y, x]:.2f}"
            axes.text(x, y, text, ha="center", va="center", color="white" if share[y, x] < 0.5 else "black")
        axes.imshow(share, origin="lower", cmap="cividis", vmin=0, vmax=1, aspect="auto")
        axes.set_xticks(range(len(codes)), [f"{code:g}" for code in codes])
        axes.set_yticks(range(len(residuals)), [f"{residual:g}" for residual in residuals])
        axes.set(xlabel="scale of the code vectors", title=title)
    figure.axes[0].set_ylabel("scale of the residual's last layer")


def first_updates(figure: Any, rows: Sequence[Row]) -> None:
    """The update at which each seed first passed, cell by cell; crosses at the right never did."""
    axes = figure.subplots()
    passed(axes, rows, lambda row: row["first_sufficient"], "updates until first sufficient")
    counted_out(axes, rows)
    colours(axes, rows)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False)


def first_passed(figure: Any, rows: Sequence[Row]) -> None:
    """The same, and beside it a run's share of the training of its cohort until then; hollow on a CPU."""
    updates, seconds = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    passed(updates, rows, lambda row: row["first_sufficient"], "updates until first sufficient")
    counted_out(updates, rows)
    passed(seconds, rows, spent, "time to first sufficient policy (s)")
    colours(updates, rows)
    figure.legend(loc="outside upper left", ncols=5, frameon=False)


def spent(row: Row) -> float:
    """A run's share of the seconds until it first passed."""
    return row["seconds"] * row["first_sufficient"] / row["updates"]


def lines(rows: Sequence[Row]) -> list[tuple[float, int, list[Row]]]:
    """For every cell and preset with runs: where its line is, the number of the preset, and its runs."""
    presets, cells = list(by(rows, "preset")), by(rows, "cell")
    return [
        (y + 0.8 * ((k + 0.5) / len(presets) - 0.5), k, mine)
        for y, here in enumerate(cells.values())
        for k, preset in enumerate(presets)
        if (mine := [row for row in here if row["preset"] == preset])
    ]


def passed(axes: Axes, rows: Sequence[Row], value: Callable[[Row], float], label: str) -> None:
    """A dot a seed that passed, a line a cell, a colour a preset."""
    cells = by(rows, "cell")
    for y, k, mine in lines(rows):
        for row in (row for row in mine if row["first_sufficient"] is not None):
            fill = "none" if row.get("device") == "cpu" else COLOURS[k]
            axes.plot(value(row), y, "o", ms=3, color=COLOURS[k], markerfacecolor=fill, alpha=0.7)
    axes.set_yticks(range(len(cells)), list(cells))
    axes.set(xscale="log", xlabel=label, ylim=(len(cells) - 0.4, -0.6))
    axes.grid(axis="x", alpha=0.3)


def counted_out(axes: Axes, rows: Sequence[Row]) -> None:
    """The seeds that never passed, at the right."""
    most = max(row["updates"] for row in rows)
    for y, k, mine in lines(rows):
        never = sum(row["first_sufficient"] is None for row in mine)
        if never:
            axes.plot(1.15 * most, y, "x", ms=4, color=COLOURS[k])
            axes.annotate(f"{never} never", (1.3 * most, y), va="center", fontsize=6)
    axes.set(xlim=(80, 2.6 * most))


def colours(axes: Axes, rows: Sequence[Row]) -> None:
    """The presets and the devices, for a legend."""
    for k, preset in enumerate(by(rows, "preset")):
        axes.plot([], [], "o", ms=3, color=COLOURS[k], label=preset)
    for label, fill in (("on a GPU", "grey"), ("on a CPU", "none")):
        axes.plot([], [], "o", ms=3, color="grey", markerfacecolor=fill, label=label)


def first_height(rows: Sequence[Row]) -> float:
    """Inches for a line a cell."""
    return 1.2 + 0.3 * len(by(rows, "cell"))


def misleading(figure: Any, rows: Sequence[Row]) -> None:
    """What a history tells of its error, by the distance; and sufficient seeds over the horizon."""
    families = by([row | {"family": family(row)} for row in rows], "family")
    left, right = figure.subplots(1, 2)
    presets = list(by(rows, "preset"))
    for k, name in enumerate(families):
        right.plot([], [], color=COLOURS[k % len(COLOURS)], marker="o", ms=3, label=name)
    for j, preset in enumerate(presets):
        right.plot([], [], color="grey", ls=STYLES[j % len(STYLES)], label=preset)
    for k, (name, here) in enumerate(families.items()):
        longest = max(row["horizon"] for row in here)
        mine = [row for row in here if row["horizon"] == longest and row["preset"] == "carousel"]
        if mine and any(mine[0]["requirement"].values()):  # where nothing is to be held, nothing can be turned about
            band(left, mine[0]["distance"], [row["coherence"] for row in mine], k, f"{name}, horizon {longest}")
        for preset, kept in by(here, "preset").items():
            points = sorted((h, np.mean([r["sufficient"] for r in some])) for h, some in by(kept, "horizon").items())
            colour, style = COLOURS[k % len(COLOURS)], STYLES[presets.index(preset) % len(STYLES)]
            right.plot(*zip(*points, strict=True), color=colour, ls=style, marker="o", ms=3)
    left.set(xlabel="steps back from the decision", ylabel="coherence of the error, at the start", ylim=(0, 1))
    right.set(xlabel="horizon", ylabel="share of sufficient seeds", ylim=(-0.03, 1.03))
    for axes, columns in ((left, 1), (right, 2)):
        axes.grid(alpha=0.3)
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, frameon=False, fontsize=6, handlelength=4)


def family(row: Row) -> str:
    """A task without its horizon."""
    return " ".join(word for word in row["task"].split() if not word.startswith("horizon="))


Draw = Callable[[Any, Sequence[Row]], None]
FIGURES: dict[str, tuple[Draw, Callable[[Sequence[Row]], float]]] = {  # and the height of each, in inches
    "error-norm": (error_norm, lambda rows: 3.4),
    "code-usage": (code_usage, lambda rows: 5.0),
    "basin": (basin, lambda rows: 3.6),
    "left-out": (first_updates, lambda rows: 1.2 + 0.75 * len(by(rows, "cell"))),
    "release-left-out": (first_updates, lambda rows: 1.2 + 0.75 * len(by(rows, "cell"))),
    "release-towards-carousel": (first_updates, lambda rows: 1.2 + 0.75 * len(by(rows, "cell"))),
    "misleading": (misleading, lambda rows: 4.0),
    "first-sufficient": (first_passed, first_height),
}


def svg(name: str, rows: Sequence[Row]) -> str:
    """The figure of one ledger."""
    draw, height = FIGURES[name]
    return drawn(name, lambda figure: draw(figure, rows), height(rows))


def write(results: Path, docs: Path) -> None:
    """Figures and tables of every ledger that is there."""
    images, page = docs / "images" / "beyond_paper", docs / "long_delays.md"
    images.mkdir(parents=True, exist_ok=True)
    ledgers = {name: results / f"long-delays-{name}.jsonl" for name in FIGURES}
    rows = {name: read_ledger(path) for name, path in ledgers.items() if path.exists()}
    for name, here in rows.items():
        write_text(images / f"long-delays-{name}.svg", svg(name, here))
    write_text(page, filled(page.read_text(encoding="utf-8"), rows))
