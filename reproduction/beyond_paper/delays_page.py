"""The tables of docs/long_delays.md, from the ledgers of these measurements."""

from collections.abc import Callable, Mapping, Sequence
from statistics import geometric_mean, mean, median
from typing import Any

from certify.errors import UserError
from diacritic.files.ledger import Row
from diacritic.report.markdown import folded


def by(rows: Sequence[Row], key: str) -> dict[Any, list[Row]]:
    """The rows of each value of a field, in the order of their first appearance; the release is the last preset."""
    ordered = rows if key != "preset" else sorted(rows, key=lambda row: row["preset"].startswith("release"))
    groups: dict[Any, list[Row]] = {}
    for row in ordered:
        groups.setdefault(row[key], []).append(row)
    return groups


def counted(rows: Sequence[Row]) -> str:
    """Sufficient seeds of how many."""
    return f"{sum(row['sufficient'] for row in rows)}/{len(rows)}"


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Markdown, the first column to the left and numbers to the right."""
    marks = "|---|" + "---:|" * (len(head) - 1)
    return "\n".join([f"| {' | '.join(head)} |", marks, *(f"| {' | '.join(line)} |" for line in lines)])


def first_table(rows: Sequence[Row]) -> str:
    """A line a cell, a column a preset: sufficient seeds at the end, and the median update of the first such state."""
    presets = list(by(rows, "preset"))
    lines = []
    for cell, here in by(rows, "cell").items():
        mine = by(here, "preset")
        lines.append([cell, *(_first(mine[name]) if name in mine else "—" for name in presets)])
    return table(["cell", *presets], lines)


def _first(rows: Sequence[Row]) -> str:
    passed = [row["first_sufficient"] for row in rows if row["first_sufficient"] is not None]
    return counted(rows) + (f" ({median(passed):.0f})" if passed else "")


def error_table(rows: Sequence[Row]) -> str:
    """The norm at the first step over that at the decision, mean and range of seeds; and the seeds that learned."""
    lines = []
    for (preset, delay, steps), here in _keyed(rows, "preset", "delay", "steps").items():
        reached = [row["norm"][-1] / row["norm"][0] for row in here]
        spread = f"{geometric_mean(reached):.3g} ({min(reached):.3g}–{max(reached):.3g})"
        share = f"{mean(row['coherence'][-1] for row in here):.3g}"
        lines.append([preset, str(delay), str(steps), spread, share, counted(here)])
    return table(["gradient", "delay", "updates", "error at the cue", "its coherence", "sufficient"], lines)


def _keyed(rows: Sequence[Row], *keys: str) -> dict[tuple[Any, ...], list[Row]]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in sorted(rows, key=lambda row: [row[key] for key in keys]):
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return groups


def usage_table(rows: Sequence[Row]) -> str:
    """Codes in use and perplexity, mean over seeds, before training and after it."""
    lines = []
    for (task, preset), here in _keyed(rows, "task", "preset").items():
        ends = [mean(row[key][end] for row in here) for key in ("codes_used", "perplexity") for end in (0, -1)]
        lines.append([f"{task}, {preset}", *(f"{end:.2f}" for end in ends), counted(here)])
    return table(
        ["cell", "codes at the start", "at the end", "perplexity at the start", "at the end", "sufficient"], lines
    )


def basin_table(rows: Sequence[Row]) -> str:
    """Sufficient seeds; a line a residual scale, a column a code scale."""
    codes, cells = sorted({row["code_scale"] for row in rows}), _keyed(rows, "residual_scale", "code_scale")
    lines = []
    for residual in sorted({row["residual_scale"] for row in rows}):
        here = [cells.get((residual, code)) for code in codes]
        lines.append([f"{residual:g}", *("—" if one is None else counted(one) for one in here)])
    return table(["residual scale", *(f"codes {code:g}" for code in codes)], lines)


TABLES: dict[str, Callable[[Sequence[Row]], str]] = {
    "error-norm": error_table,
    "code-usage": usage_table,
    "basin": basin_table,
    "left-out": first_table,
    "release-left-out": first_table,
    "release-towards-carousel": first_table,
    "misleading": first_table,
    "first-sufficient": first_table,
}


def between(text: str, name: str, content: str) -> str:
    """The page with this content between the marks of that name."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    head, marker, rest = text.partition(begin)
    _, ended, tail = rest.partition(end)
    if not marker or not ended:
        raise UserError(name, f"the page has no marks {begin} and {end}")
    return f"{head}{begin}\n{content}\n{end}{tail}"


def filled(text: str, ledgers: Mapping[str, Sequence[Row]]) -> str:
    """The page with the picture and the table of each ledger; one line where it has not been run."""
    for name, made in TABLES.items():
        part = "*Not run yet.*"
        if name in ledgers:
            file, numbers = f"images/beyond_paper/long-delays-{name}.svg", made(ledgers[name])
            rows = folded(f"The table: {numbers.count(chr(10)) - 1} rows", [numbers])
            part = "\n".join([f"[![Long delays: {name}]({file})]({file})", "", *rows]).rstrip("\n")
        text = between(text, name, part)
    return text
