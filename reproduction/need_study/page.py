"""The tables of docs/need.md and its power curves, from the ledger."""

import io
import json
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from certify.optional import import_optional
from diacritic.files.atomic import write_text
from reproduction.forever_page import renewed
from reproduction.need_study.run import read

Row = dict[str, Any]
PICTURE = "images/need-power.svg"


def write_page(results: Path, page: Path) -> None:
    """Renew what stands between the marks, and the picture beside it."""
    rows = read(results / "need.jsonl")
    text = renewed(page.read_text(encoding="utf-8"), "need-study", tables(rows))
    timed = results / "benchmarks" / "need.json"
    if timed.exists():
        text = renewed(text, "need-time", [time_line(json.loads(timed.read_text(encoding="utf-8")))])
    write_text(page, text)
    (page.parent / PICTURE).parent.mkdir(exist_ok=True)
    write_text(page.parent / PICTURE, power_curves(rows))


def write_sentence(page: Path, mark: str, text: str) -> None:
    """Renew one sentence between its marks."""
    write_text(page, renewed(page.read_text(encoding="utf-8"), mark, [text]))


def tables(rows: Sequence[Row]) -> list[str]:
    """Staircases of worlds and of the arm, then false alarms, each with what was kept for evaluation."""
    arm = [row for row in rows if row["part"] == "arm" and row["held_out"]]
    return [*_staircases(rows), "", *([*_arm(arm), ""] if arm else []), *_alarms(rows), "", made_with(rows)]


def made_with(rows: Sequence[Row]) -> str:
    """How many datasets were asked."""
    kinds = Counter(row["part"] for row in rows)
    parts = ", ".join(f"{kinds[part]:,} {part}" for part in ("staircase", "arm", "control", "power"))
    return f"Datasets by part of the ledger: {parts}; all were asked with the present code."


def time_line(timed: Row) -> str:
    """What the benchmark measured, in a sentence."""
    calm, busy, frames = (timed[name] for name in ("states", "states, every step open", "frames"))
    said = f"On {timed['cores']} cores, 256 episodes × 50 steps × 30 channels take"
    said += f" {calm['seconds']:.0f} s, with power and controls"
    said += f"; {busy['seconds']:.0f} s where no step can be passed over ({busy['memory_gb']:.1f} GB). Learning to read"
    said += f" {timed['frames_read']:,} frames of 64² and answering takes {frames['seconds']:.0f} s"
    return f"{said} ({frames['memory_gb']:.1f} GB). `benchmarks/need.py` measures it."


def share(rows: Sequence[Row], good: Callable[[Row], bool]) -> str:
    """`38/40`."""
    return f"{sum(map(good, rows))}/{len(rows)}" if rows else "–"


def _staircases(rows: Sequence[Row]) -> list[str]:
    results = ["| known staircase | episodes | bits within 0.1 | cue frames within 1 | classes of ≥ 98 % |"]
    results.append("|---|---:|---:|---:|---:|")
    mine = [row for row in rows if row["part"] == "staircase"]
    groups = {"developed on": False, "kept for evaluation": True}
    for episodes in sorted({row["episodes"] for row in mine}):
        for name, held_out in groups.items():
            here = [row for row in mine if row["episodes"] == episodes and row["held_out"] is held_out]
            families = len({row["family"] for row in here})
            results.append(f"| {families} worlds, {name} | {episodes} | " + " | ".join(_counts(here)) + " |")
    return results


def _arm(mine: Sequence[Row]) -> list[str]:
    """Recordings of the arm on which no setting was chosen; columns by the number of episodes."""
    sizes = sorted({row["episodes"] for row in mine}, reverse=True)
    heads = [f"{name} ({size})" for size in sizes for name in ("bits", "frames", "classes")]
    results = [
        "| the arm, kept for evaluation (episodes) | " + " | ".join(heads) + " |",
        "|---|" + "---:|" * len(heads),
    ]
    tasks = {row["family"]: row["family"].partition(" modes")[0].partition(" gap")[0] for row in mine}
    families = {name: [row for row in mine if tasks[row["family"]] == name] for name in dict.fromkeys(tasks.values())}
    families["**all**"] = list(mine)
    for name, inside in families.items():
        counts = [text for size in sizes for text in _counts([row for row in inside if row["episodes"] == size])]
        results.append(f"| {name} | " + " | ".join(counts) + " |")
    return results


def _counts(rows: Sequence[Row]) -> tuple[str, str, str]:
    """Datasets with the right bits, frames and classes."""
    return (
        share(rows, lambda row: row["bits_right"]),
        share(rows, lambda row: row["frames_right"]),
        share(rows, lambda row: row["classes_right"] >= 0.98),
    )


def _alarms(rows: Sequence[Row]) -> list[str]:
    kinds = ("memory needed", "short history is enough", "no evidence of need", "cannot tell")
    results = ["| memoryless control | " + " | ".join(kinds) + " |", "|---|" + "---:|" * len(kinds)]
    mine = [row for row in rows if row["part"] == "control"]

    def line(name: str, here: Sequence[Row]) -> str:
        counts = [sum(row["answer"] == kind for row in here) for kind in kinds]
        return f"| {name} | " + " | ".join(map(str, counts)) + " |"

    plain = [row for row in mine if row["stress"] == "none"]
    for family in dict.fromkeys(row["family"] for row in plain):
        here = [row for row in plain if row["family"] == family]
        results.append(line(family + (" (kept for evaluation)" if here[0]["held_out"] else ""), here))
    results.append(line("**all**", plain))
    for stress in dict.fromkeys(row["stress"] for row in mine if row["stress"] != "none"):
        results.append(line(f"all, {stress.replace('-', ' ')}", [row for row in mine if row["stress"] == stress]))
    return results


def power_curves(rows: Sequence[Row]) -> str:
    """How often a one-bit cue is found, over episodes, for strengths and noises; as SVG."""
    matplotlib = import_optional("matplotlib", "report")
    mine = [row for row in rows if row["part"] == "power"]
    noises, strengths = (sorted({row[name] for row in mine}) for name in ("noise", "strength"))
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "need", "font.size": 9}):
        figure = import_optional("matplotlib.figure", "report").Figure(figsize=(8, 3), layout="constrained")
        panels = figure.subplots(1, max(len(noises), 1), sharey=True, squeeze=False)[0]
        for panel, noise in zip(panels, noises, strict=False):
            panel.set(title=f"noise {noise:g}", xlabel="episodes", ylim=(-0.03, 1.03), xscale="log")
        for (panel, noise), strength in product(zip(panels, noises, strict=False), strengths):
            here = [row for row in mine if (row["noise"], row["strength"]) == (noise, strength)]
            sizes = sorted({row["episodes"] for row in here})
            by_size = [[row["bits_right"] for row in here if row["episodes"] == size] for size in sizes]
            panel.plot(sizes, [sum(each) / len(each) for each in by_size], marker="o", label=f"cue {strength:g}")
            panel.set_xticks(sizes, map(str, sizes), minor=False)
            panel.minorticks_off()
        panels[0].set_ylabel("staircase found")
        panels[-1].legend(frameon=False)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()
