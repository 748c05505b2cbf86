"""The scoreboard of the whole paper, and every page below it.

`python -m reproduction scoreboard --pages docs/results` writes one page and one picture a study, and the index.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from diacritic.files.atomic import write_text
from diacritic.report.markdown import folded
from diacritic.studies.results import Results
from reproduction.catalogue import STUDIES
from reproduction.chart import chart, verdict_bars
from reproduction.compare import Comparison, compare
from reproduction.pages import page
from reproduction.predictions import Outcome, predictions
from reproduction.verdicts import KINDS

_TOLD = """Every table and figure of the paper is a study here. A line is a cell of trained runs or a figure; its
verdict is *agrees* (nothing differs beyond its tolerance), *no difference shown* (numbers far apart, too few seeds to
tell), *better* (a contrast of counts that survives Holm's correction), *differs* (in count, rate or success; its page
says why) or *not run* (its page says what it would cost). *Not in the paper* are cells of which the paper reports
nothing. This page and those below it are written by `python -m reproduction scoreboard --pages docs/results` from the
ledgers in `results/`, and a test holds them together."""


def comparisons(results: Results) -> list[Comparison]:
    """Every study beside the paper."""
    return [compare(study, results) for study in STUDIES.values()]


def scoreboard(comparisons: Sequence[Comparison], results: Results) -> str:
    """The index page: verdicts by study and in all, and the predictions."""
    heads = ["study", "lines", *KINDS]
    lines = ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
    for comparison in comparisons:
        study, counts = comparison.study, comparison.counts
        numbers = [sum(counts.values()), *counts.values()]
        lines.append(f"| [{study.title}]({study.name}.md) | " + " | ".join(map(str, numbers)) + " |")
    totals = [sum(comparison.counts[verdict] for comparison in comparisons) for verdict in KINDS]
    lines += ["| **all** | " + " | ".join(f"**{number}**" for number in (sum(totals), *totals)) + " |"]
    told = [f"{number} {kind}" for kind, number in zip(KINDS, totals, strict=True)]
    picture = ["[![Verdicts of every study](scoreboard.svg)](scoreboard.svg)", "", f"In all: {', '.join(told)}.", ""]
    table = folded(f"The table: {sum(totals)} lines of {len(comparisons)} studies", lines)
    return "\n".join(["# Scoreboard", "", _TOLD, "", *picture, *table, *_foretold(predictions(results))])


def _foretold(outcomes: Iterable[Outcome]) -> list[str]:
    told = {True: "held", False: "failed", None: "not run"}
    lines = ["## Predictions fixed beforehand", "", "| prediction | paper | ours |", "|---|---|---|"]
    for outcome in outcomes:
        lines.append(f"| {outcome.prediction.said} | {told[outcome.prediction.paper]} | {told[outcome.ours]} |")
    return [*lines, ""]


def write_pages(results: Path, target: Path) -> list[Path]:
    """The index, and one page and one picture a study."""
    target.mkdir(parents=True, exist_ok=True)
    ledgers, written = Results.read(results), []
    compared = comparisons(ledgers)
    for comparison in compared:
        name, picture = comparison.study.name, chart(comparison)
        texts = {f"{name}.md": page(comparison, ledgers, f"{name}.svg" if picture else None)}
        for file, text in (texts | ({f"{name}.svg": picture} if picture else {})).items():
            write_text(target / file, text)
            written.append(target / file)
    for file, text in {"scoreboard.svg": verdict_bars(compared), "index.md": scoreboard(compared, ledgers)}.items():
        write_text(target / file, text)
        written.append(target / file)
    return written
