"""The tables of docs/beyond_paper.md as lines of dots."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import mean

from diacritic.files.ledger import Row
from diacritic.report.dot_chart import SHARE, SUCCESS, SURPLUS, Lines, Panel
from diacritic.studies.cell import Cell
from diacritic.studies.results import Results
from reproduction.beyond_paper.cells import CELLS, FORGETTING
from reproduction.beyond_paper.reach import paper_counts, surplus
from reproduction.beyond_paper.revision_cells import CELLS as REVISED_CELLS
from reproduction.beyond_paper.revision_cells import PLAIN_CELLS, ROBUST_CELLS

SECONDS = Panel("seconds", log=True)
STEPS = Panel("steps of an episode", log=True)
Numbers = dict[str, dict[str, dict[str, float | None]]]


def reach_lines(results: Results, cells: Sequence[Cell] = CELLS) -> Lines:
    """Every cell that ran; its learners are the series, and plain imitation of the paper beside them."""
    lines: Numbers = {}
    for cell in cells:
        rows = results.shown(cell)
        if not rows:
            continue
        learner, preset = cell.learner.removesuffix("-recorded"), cell.preset.partition("-")[0]
        _add(lines, cell.name, f"{learner}, {preset}", rows)
        counts = paper_counts().get(cell.digest)
        if counts and (learner, preset) == ("plain", "carousel"):
            lines[cell.name][SHARE.title]["plain, paper"] = counts[0] / counts[1]
    return lines


def paired_lines(results: Results, before: Sequence[Cell], after: Sequence[Cell], names: tuple[str, str]) -> Numbers:
    """Runs of two learners on the same version of a task, side by side, where the second has run."""
    lines: Numbers = {}
    for first, second in zip(before, after, strict=True):
        later = results.shown(second)
        earlier = results.runs(first, later[0].get("task_version", 1)) if later else []
        for name, rows in zip(names, (earlier, later), strict=True):
            if rows:
                _add(lines, second.name, name, rows)
    return lines


def forgotten_lines(results: Results, cells: Sequence[Cell] = CELLS) -> Lines:
    after = [cell for cell in cells if cell.learner == FORGETTING]
    return paired_lines(results, [replace(cell, learner="plain") for cell in after], after, ("before", "after"))


def revised_lines(results: Results) -> Lines:
    lines = paired_lines(results, PLAIN_CELLS, REVISED_CELLS, ("plain", "revised"))
    for cell in ROBUST_CELLS:
        if rows := results.shown(cell):
            _add(lines, cell.name, "robust", rows)
    return lines


def forgetting_lines(groups: Sequence[tuple[str, Sequence[Row]]]) -> Lines:
    """Finite cells before and after forgetting."""
    lines: Numbers = {}
    for name, rows in groups:
        good = [row for row in rows if row["sufficient"]]
        sides = {"before": [row["before"] for row in rows], "after": rows}
        kept = {"before": [row["before"] for row in good], "after": good}
        lines[name] = {
            SHARE.title: {side: mean(row["sufficient"] for row in side_rows) for side, side_rows in sides.items()},
            SURPLUS.title: {
                side: max((row["largest_surplus"] for row in side_rows), default=None)
                for side, side_rows in kept.items()
            },
        }
    return lines


def certified_lines(groups: Sequence[tuple[str, Sequence[Row]]]) -> Lines:
    """Seconds of the certified learner beside the length of an episode."""
    return {
        name: {
            STEPS.title: {"steps": rows[0]["horizon"]},
            SECONDS.title: {"to label": rows[0]["label_seconds"], "to teach eight runs": rows[0]["teach_seconds"]},
        }
        for name, rows in groups
    }


def _add(lines: Numbers, name: str, series: str, rows: Sequence[Row]) -> None:
    """The numbers of a cell's runs."""
    bits = surplus(rows).values()
    bounded = [one for one in bits if one is not None]
    played = [row["success"] for row in rows if row["success"] is not None]
    line = lines.setdefault(name, {})
    line.setdefault(SHARE.title, {})[series] = mean(row["sufficient"] for row in rows)
    line.setdefault(SURPLUS.title, {})[series] = max(bounded) if bounded and None not in bits else None
    line.setdefault(SUCCESS.title, {})[series] = mean(played) if played else None
