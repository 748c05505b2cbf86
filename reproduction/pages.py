"""Comparisons as pages of the documentation."""

from collections.abc import Iterable, Sequence

from diacritic.measure.gates import VARIATION
from diacritic.report.markdown import folded
from diacritic.studies.results import Results
from reproduction.beyond_paper.cells import kind
from reproduction.captions import Labels
from reproduction.compare import CellLine, Comparison, FigureLine
from reproduction.release import GAP_TOYS, imitating, rates, successes
from reproduction.verdicts import Count, P, Value
from reproduction.why import Costs, why_cell, why_figure

_READ = """Counts are sufficient seeds on all recorded episodes, as the paper judges, with 95 % Wilson intervals;
beside them those on held-out and on fresh episodes. *Release* is what single runs of the authors' public code gave.
Success and rates are ours, then after the bar the paper's; rates are bits over the sufficient seeds (over all seeds,
marked †, where the paper does so), with the requirement in parentheses. *Agrees*: the counts are no more than 0.2
apart and Fisher's p is at least 0.05, every rate is within 0.1 bit or the ranges of seeds overlap, success likewise
within 0.1. *Better*: Fisher's p is below 0.05 also after Holm's correction over the table (second number). *No
difference shown*: neither. ‡: the task was held out from the search for our preset, but had been run before with
other settings. *v1*: measured on version 1 of the task. A cell is compared once eight of its seeds have
run, and a figure counts the seeds that ran."""
_TOYS = f"""*TV < {VARIATION:g}* counts as the authors' release does on the gap toys: runs whose total variation from
the expert's law at the second decision is below {VARIATION:g}. Rows made before it was kept bound the count."""


_SHOWN = """Each line is a cell of trained runs. Left: the share of sufficient seeds with 95 % Wilson intervals, ours
above the paper's. Right: one dot a run, diamonds are the paper's means, black ticks the required bits."""


def page(comparison: Comparison, results: Results, chart: str | None = None) -> str:
    """The page of a study; `chart` is the file of its picture."""
    study, costs = comparison.study, Costs(results)
    labels = Labels.of(line.cell for line in comparison.cells)
    lines = ["---", "hide: [toc]", "---", "", f"# {study.title}", "", study.introduction, "", _summary(comparison), ""]
    if chart:
        lines += [f"[![Ours and the paper's]({chart})]({chart})", "", f"{_SHOWN} {labels.caption}".strip(), ""]
    if comparison.cells:
        ran = sum(line.ours is not None for line in comparison.cells)
        toys = any(line.cell.task.name in GAP_TOYS for line in comparison.cells)
        table = [
            _READ,
            "",
            *([_TOYS, ""] if toys else []),
            labels.caption,
            "",
            *_cell_table(comparison.cells, labels, costs),
            "",
        ]
        table += _trained(comparison.cells)
        lines += ["## Cells", "", *folded(f"The table: {len(comparison.cells)} cells, {ran} of them ran", table)]
    if comparison.figures:
        lines += ["## Figures", "", *_figure_table(study.name, comparison.figures, costs), ""]
    if study.blocks:
        lines += [f"Answers {', '.join(f'`{name}`' for name in study.blocks)} of the reference.", ""]
    return "\n".join(lines)


def _summary(comparison: Comparison) -> str:
    told = [f"{count} {kind}" for kind, count in comparison.counts.items() if count]
    return f"Of {sum(comparison.counts.values())} lines: {', '.join(told)}."


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Markdown without the columns that say nothing."""
    shown = [list(row) for row in rows]
    kept = [k for k in range(len(heads)) if any(row[k] != "–" for row in shown)]
    lines = [[heads[k] for k in kept], ["---"] * len(kept), *([row[k] for k in kept] for row in shown)]
    return ["| " + " | ".join(line) + " |" for line in lines]


def _cell_table(cells: Iterable[CellLine], labels: Labels, costs: Costs) -> list[str]:
    shown = list(cells)
    windows = list(dict.fromkeys(window for line in shown for window in _windows(line)))
    heads = ["task", "learner", "preset", "ours", "held-out, fresh", "paper", "release", "p", "verdict", "why, or cost"]
    return _table([*heads, "success", *windows], (_cell_row(line, windows, labels, costs) for line in shown))


def _cell_row(line: CellLine, windows: Sequence[str], labels: Labels, costs: Costs) -> list[str]:
    cell, success = line.cell, line.reported.success if line.reported else None
    version = f" *v{line.task_version}*" if line.task_version < cell.task.version else ""
    before = " ‡" if cell.preset == "carousel" and kind(cell.task) == "held-out, run before" else ""
    shared = ["–" if labels.learner else cell.learner, "–" if labels.preset else cell.preset]
    parts = [labels.name(cell) + version + before, *shared, _count(line), _elsewhere(line)]
    parts += [_plain(line.paper), _release(line), _p(line.verdict.p), str(line.verdict), _beside_cell(line, costs)]
    return [*parts, _beside(line.success, success), *(_rate(line, window) for window in windows)]


def _windows(line: CellLine) -> list[str]:
    ours = list(line.rows[0]["rate"]) if line.rows else []
    return [*ours, *(window for window, _ in (line.reported.rate if line.reported else ()))]


def _count(line: CellLine) -> str:
    if line.ours is None:
        return "not run"
    missing = len(line.rows) < line.cell.seeds
    part = f" of {line.cell.seeds} seeds so far" if missing else ""
    lost = sum(bool(row["diverged"]) for row in line.rows)
    return _plain(line.ours) + part + (f", {lost} diverged" if lost else "") + _imitating(line)


def _imitating(line: CellLine) -> str:
    """Of the gap toys also the count of the release, by total variation at the second decision."""
    if line.cell.task.name not in GAP_TOYS:
        return ""
    verdicts = [imitating(row) for row in line.rows]
    right, most = verdicts.count(True), len(verdicts) - verdicts.count(False)
    said = f"{right}" if right == most else f"at most {most}" if right == 0 else f"{right} to {most}"
    return f"; TV < {VARIATION:g}: {said}/{len(verdicts)}"


def _elsewhere(line: CellLine) -> str:
    """Sufficient seeds on held-out and on fresh episodes, where they differ from all recorded ones by definition."""
    fresh = [row["fresh_sufficient"] for row in line.rows if "fresh_sufficient" in row]
    if not fresh:
        return "–"
    held = sum(bool(row["sufficient"]) and not row["diverged"] for row in line.rows)
    return f"{held}/{len(line.rows)}, {sum(map(bool, fresh))}/{len(fresh)}"


def _release(line: CellLine) -> str:
    """The outcomes of single runs of the release, as ranges."""
    runs = line.released
    verdicts = [run.sufficient for run in runs if run.sufficient is not None]
    told = [f"{sum(verdicts)}/{len(verdicts)}"] if verdicts else []
    told += [f"success {_stretch(played)}"] if (played := successes(runs)) else []
    for window in dict.fromkeys(window for run in runs for window in run.rate):
        told += [f"{window} {_stretch(bits)}"] if (bits := rates(runs, window, line.over_all)) else []
    return ", ".join(told) or "–"


def _stretch(numbers: Sequence[float]) -> str:
    low, high = (f"{end:.2f}" for end in (min(numbers), max(numbers)))
    return low if low == high else f"{low}–{high}"


def _p(p: P | None) -> str:
    return "–" if p is None else f"{p.raw:.2g}, {p.adjusted:.2g}"


def _beside_cell(line: CellLine, costs: Costs) -> str:
    if line.verdict.kind == "not run":
        return costs.told([line.cell])
    return why_cell(line) if line.verdict.kind == "differs" else "–"


def _plain(count: Count | None) -> str:
    if count is None:
        return "–"
    low, high = count.interval
    return f"{count} ({low:.2f}–{high:.2f})"


def _beside(ours: float | None, paper: float | None) -> str:
    if ours is None and paper is None:
        return "–"
    return f"{'–' if ours is None else f'{ours:.2f}'} ❘ {'–' if paper is None else f'{paper:.2f}'}"


def _rate(line: CellLine, window: str) -> str:
    ours, need = line.rate(window), line.requirement(window)
    paper = dict(line.reported.rate).get(window) if line.reported else None
    if ours is None and paper is None:
        return "–"
    told = "–" if ours is None else f"{ours:.2f}{'†' if line.over_all else ''}"
    told += f" ({need:.2f})" if ours is not None and need is not None else ""
    return told if paper is None else f"{told} ❘ {paper:.2f}"


def _trained(cells: Iterable[CellLine]) -> list[str]:
    rows = [row for line in cells for row in line.rows]
    used = sorted({(row["device"], row["versions"]["torch"], row["code_version"]) for row in rows})
    return [f"Trained on {device}, torch {torch}, sources {code}." for device, torch, code in used] or ["None has run."]


def _figure_table(study: str, figures: Iterable[FigureLine], costs: Costs) -> list[str]:
    return _table(
        ["figure", "ours", "paper", "p", "verdict", "why, or cost"],
        (
            [
                line.figure.name,
                _value(line.ours) if line.ours is not None else "not run",
                _value(line.figure.paper),
                _p(line.verdict.p),
                str(line.verdict),
                _beside_figure(study, line, costs),
            ]
            for line in figures
        ),
    )


def _beside_figure(study: str, line: FigureLine, costs: Costs) -> str:
    if line.verdict.kind == "not run":
        return costs.of_figure(line, study)
    return why_figure(study, line) if line.verdict.kind == "differs" else "–"


def _value(value: Value) -> str:
    return _plain(value) if isinstance(value, Count) else str(value)
