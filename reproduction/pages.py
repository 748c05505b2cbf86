"""Comparisons as pages of the documentation."""

from collections.abc import Iterable

from reproduction.compare import CellLine, Comparison, FigureLine
from reproduction.verdicts import Count, Value

_READ = """Counts are sufficient seeds with their 95 % Wilson intervals. Success and rates are ours, then after the bar
the paper's; rates are bits over the sufficient seeds (over all seeds, marked †, where the paper does so), with the
requirement in parentheses. The verdict contrasts counts by Fisher's exact test at 0.05; success, where the paper gives
no count, by the spread of our seeds; rates, where there is nothing else, to a tenth of a bit. *Ours alone* is a cell of
which the paper reports nothing; a cell counts as run once all of its seeds have."""


def page(comparison: Comparison, chart: str | None = None) -> str:
    """The page of a study; `chart` is the file of its picture."""
    study = comparison.study
    lines = [f"# {study.title}", "", study.introduction, "", _summary(comparison), ""]
    lines += [f"![Ours and the paper's counts]({chart})", ""] if chart else []
    if comparison.cells:
        lines += ["## Cells", "", _READ, "", *_cell_table(comparison.cells), ""]
        lines += [*_trained(comparison.cells), ""]
    if comparison.figures:
        lines += ["## Figures", "", *_figure_table(comparison.figures), ""]
    if study.blocks:
        lines += [f"Answers {', '.join(f'`{name}`' for name in study.blocks)} of the reference.", ""]
    return "\n".join(lines)


def _summary(comparison: Comparison) -> str:
    told = [f"{count} {verdict}" for verdict, count in comparison.counts.items() if count]
    return f"Of {sum(comparison.counts.values())} lines: {', '.join(told)}."


def _cell_table(cells: Iterable[CellLine]) -> list[str]:
    shown = list(cells)
    windows = list(dict.fromkeys(window for line in shown for window in _windows(line)))
    heads = ["task", "learner", "preset", "ours", "paper", "verdict", "success", *windows]
    table = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for line in shown:
        cell, success = line.cell, line.reported.success if line.reported else None
        parts = [cell.name, cell.learner, cell.preset, _count(line), _plain(line.paper), line.verdict]
        parts += [_beside(line.success, success), *(_rate(line, window) for window in windows)]
        table.append("| " + " | ".join(parts) + " |")
    return table


def _windows(line: CellLine) -> list[str]:
    ours = list(line.rows[0]["rate"]) if line.rows else []
    return [*ours, *(window for window, _ in (line.reported.rate if line.reported else ()))]


def _count(line: CellLine) -> str:
    if line.ours is None:
        return "not run"
    part = "" if len(line.rows) == line.cell.seeds else f" of {line.cell.seeds} seeds so far"
    lost = sum(bool(row["diverged"]) for row in line.rows)
    return _plain(line.ours) + part + (f", {lost} diverged" if lost else "")


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


def _figure_table(figures: Iterable[FigureLine]) -> list[str]:
    table = ["| figure | ours | paper | verdict |", "|---|---|---|---|"]
    for line in figures:
        ours = _value(line.ours) if line.ours is not None else "not run"
        table.append(f"| {line.figure.name} | {ours} | {_value(line.figure.paper)} | {line.verdict} |")
    return table


def _value(value: Value) -> str:
    return _plain(value) if isinstance(value, Count) else str(value)
