"""`python -m reproduction survey`: does this benchmark need memory, and how much?

Every row is certified again; a package that is not installed is named in the rows that need it. `write_page` makes the
page of the documentation.
"""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from certify.answer import Answer, certify
from certify.errors import UserError
from certify.optional import import_optional
from certify.progress import track
from diacritic.files.atomic import path_atomic, write_text
from diacritic.report.markdown import folded
from reproduction.benchmark_entries import ENTRIES, Entry
from reproduction.paper_certificates import profile_text

CODES = 16  # the size of the code book that a verdict speaks of
SECONDS = 10.0  # limit of each search of one row
HEADS = ("task", "source", "modified", "T", "history", "required bits", "A2", "A4", "trans.", "codes", "verdict")
RIGHT = ("T", "history", "codes")  # columns of numbers
FREE = "needs no memory"
PICTURES = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class Row:
    """An entry and its answer, or the reason why there is none."""

    entry: Entry
    answer: Answer | None
    missing: str = ""

    @property
    def history(self) -> float:
        """max_t H(H_t | O_t)."""
        return max((step.history for step in self.answer.steps), default=0.0) if self.answer else 0.0

    @property
    def peak(self) -> float:
        """max_t R_t, of the upper ends where there are brackets."""
        return max((step.upper for step in self.answer.steps), default=0.0) if self.answer else 0.0

    @property
    def codes(self) -> int:
        """The fewest codes of a time-indexed machine, or what is proved of them from below."""
        if not self.answer:
            return 0
        low = self.answer.codes_found.brackets["time_indexed"][0]
        return max(low or 1, *(step.states or 1 for step in self.answer.steps))

    @property
    def verdict(self) -> str:
        if not self.answer:
            return self.missing
        if self.peak < 1e-12:
            return FREE
        return f"infeasible with K={CODES}" if self.codes > CODES else ""

    def cells(self) -> list[str]:
        """The row as text, a cell for each of `HEADS`."""
        first = [self.entry.name, self.entry.source, self.entry.modified]
        if not self.answer:
            return [*first, *["–"] * (len(HEADS) - 4), self.verdict]
        steps = self.answer.steps
        checks = ["yes" if all(getattr(s, name) for s in steps) else "no" for name in ("a2", "a4", "transitive")]
        codes = f"≥ {self.codes}" if self.answer.codes["time_indexed"] is None else str(self.codes)
        return [*first, str(len(steps)), f"{self.history:.1f}", _profile(self.answer), *checks, codes, self.verdict]


def _profile(answer: Answer) -> str:
    """Requirements with runs written once; first, peak and last where that is too long."""
    text, steps = profile_text(answer), answer.steps
    if len(text) <= 26:
        return text
    peak = max(steps, key=lambda step: round(step.upper, 3))  # the first that is shown as the largest
    first, most, last = (profile_text(replace(answer, steps=(step,))) for step in (steps[0], peak, steps[-1]))
    return f"{first} … {most} (t={peak.t}) … {last}"


def survey_rows(entries: Sequence[Entry] = ENTRIES) -> list[Row]:
    """Certify every entry; on a terminal, a bar shows how far it has come."""
    return [_row(entry) for entry in track(entries, "surveying")]


def _row(entry: Entry) -> Row:
    try:
        return Row(entry, certify(entry.make(), seconds=SECONDS))
    except UserError as error:
        if not isinstance(error.__context__, ModuleNotFoundError):  # only a missing package leaves a gap
            raise
        return Row(entry, None, error.reason)


def print_survey(plot: str | None = None, entries: Sequence[Entry] = ENTRIES) -> int:
    """Certify every entry and print the table; with `plot`, draw it too."""
    began = time.perf_counter()
    if plot:
        _check_picture(Path(plot))
    rows = survey_rows(entries)
    _print_table([row.cells() for row in rows])
    print(f"{counts(rows)}, in {time.perf_counter() - began:.0f} s.")
    if plot:
        draw(rows, Path(plot))
        print(f"wrote {plot}")
    return 0


def counts(rows: Sequence[Row]) -> str:
    """How many families there are, and of which verdicts."""
    done = [row for row in rows if row.answer]
    families = {row.entry.family for row in done}
    others = {row.entry.family for row in done if row.entry.source != "zoo"}
    free = sum(row.verdict == FREE for row in done)
    large = sum(row.codes > CODES for row in done)
    return (
        f"{len(done)} of {len(rows)} tasks certified, of {len(families)} families, {len(others)} of them not ours; "
        f"{free} need no memory, {large} more than {CODES} codes"
    )


def _print_table(table: list[list[str]]) -> None:
    try:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        widths = [max(len(line[k]) for line in [list(HEADS), *table]) for k in range(len(HEADS))]
        for line in [list(HEADS), *table]:
            print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
        return
    rich_table = Table(title="Does this benchmark need memory, and how much?", title_justify="left", box=None)
    for head in HEADS:
        rich_table.add_column(head, justify="right" if head in RIGHT else "left", overflow="fold")
    for line in table:
        style = {FREE: "green", "": ""}.get(line[-1], "red")
        rich_table.add_row(*(Text(cell) for cell in line[:-1]), Text(line[-1], style=style))
    Console(width=None if Console().is_terminal else 190).print(rich_table)


def _check_picture(path: Path) -> None:
    import_optional("matplotlib.figure", "report")
    if path.suffix not in PICTURES:
        raise UserError("--plot", f"expected a name that ends in {', '.join(PICTURES)}, not {str(path)!r}")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise UserError("--plot", f"cannot write to {str(path)!r}: no such folder, or it is one")


def draw(rows: Sequence[Row], path: Path) -> None:
    """A bar for each certified task: what history holds in grey, what must be carried at the peak in blue."""
    _check_picture(path)
    shown = [row for row in rows if row.answer]
    ticks = range(len(shown))
    figure = import_optional("matplotlib.figure", "report").Figure(
        figsize=(9, 1.2 + 0.22 * len(shown)), layout="constrained"
    )
    axes = figure.add_subplot()
    axes.barh(ticks, [row.history for row in shown], 0.74, color="#d9d9d9", label="most that history holds")
    axes.barh(ticks, [row.peak for row in shown], 0.4, color="#0072b2", label="required at the peak")
    free = [k for k in ticks if shown[k].verdict == FREE]
    large = [k for k in ticks if shown[k].codes > CODES]
    axes.plot([0] * len(free), free, "o", mfc="white", mec="#009e73", mew=1.8, clip_on=False, zorder=3, label=FREE)
    axes.plot([shown[k].peak for k in large], large, "D", c="#d55e00", ms=5, label=f"more than {CODES} codes")
    for k, row in enumerate(shown):
        words = FREE if k in free else f"{row.peak:.3f}".rstrip("0").rstrip(".")
        words += f", {row.codes} codes" if k in large else ""
        axes.annotate(words, (row.history, k), (7, 0), textcoords="offset points", va="center", fontsize=7.5)
        if k and row.entry.source != shown[k - 1].entry.source:
            axes.axhline(k - 0.5, color="#999999", linewidth=0.6)
    axes.set_xscale("function", functions=(lambda x: np.log2(1 + np.maximum(x, 0)), lambda y: 2**y - 1))
    axes.set_xticks([0, 1, 2, 4, 8, 16, 32, 64])
    axes.set(xlim=(0, 2.2 * max((row.history for row in shown), default=1)), ylim=(len(shown) - 0.4, -0.6))
    axes.set_yticks(ticks, [f"{row.entry.name}  ·  {row.entry.source}" for row in shown], fontsize=7.5)
    axes.set_xlabel("bits, given the present observation")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=4)
    with path_atomic(path) as partial:
        figure.savefig(partial, dpi=130, metadata={"Software": None} if path.suffix == ".png" else None)


def markdown(rows: Sequence[Row]) -> list[str]:
    """The table as lines of Markdown."""
    rule = ["---:" if head in RIGHT else "---" for head in HEADS]
    return [f"| {' | '.join(line)} |" for line in (HEADS, rule, *(row.cells() for row in rows))]


def write_page(page: str | Path, picture: str | Path, entries: Sequence[Entry] = ENTRIES) -> None:
    """Certify every entry and write the page of the documentation with its picture."""
    _check_picture(Path(picture))
    rows = survey_rows(entries)
    missing = sorted({row.missing for row in rows if not row.answer})
    if missing:
        raise UserError(str(page), f"a page has no gaps: {missing[0]}")
    draw(rows, Path(picture))
    free = ", ".join(row.entry.name for row in rows if row.verdict == FREE)
    table = "\n".join(folded(f"The table: {len(rows)} tasks", markdown(rows))).rstrip("\n")
    image = Path(os.path.relpath(picture, Path(page).parent)).as_posix()
    text = _PAGE.format(counts=counts(rows), table=table, image=image, free=free, codes=CODES)
    write_text(Path(page), text)


_PAGE = """\
---
hide: [toc]
---

# Does this benchmark need memory, and how much?

<!-- Written by reproduction.benchmark_survey.write_page: change it there. -->

{counts}.
`python -m reproduction survey` certifies them again.

![Bars for each task: the bits that history holds, and those that must be carried at the peak]({image})

Tasks of bsuite are played through their environments, for every hidden value. The decks of POPGym have too many orders
for that: they are exact generative models, checked in the run against live episodes. Gymnasium's toys are read from the
transition tables that they sample from, with an optimal expert; `.pomdp` files are the classics as we wrote them down,
with the best policy for so many actions. The zoo is ours. Where a task was cut or changed, its row says how; what holds
of the changed task is proved, and no more.

*History* is the most that the past reveals beyond the present observation, $H(H_t \\mid O_t)$ at its largest.
*Required bits* are the least that any imitator must carry at each step, `0 x2, 1 x99` for 0 twice and then 1. *Codes*
are the fewest labels of one machine that may know the time; where they exceed {codes}, no policy whose memory is
one of {codes} codes can imitate the expert, however it is trained. The [theory](theory.md)
explains *A2*, *A4* and *trans.*

{table}

## What to read from it

- **Nothing needs to be remembered in**
  {free}.
  A high score there says nothing about memory. The umbrella and discounting chains are tests of credit assignment; the
  toys of Gymnasium show their whole state.
- **History is not a requirement.** Most of the grey is noise, past decisions, or what will be seen again. In
  RepeatFirst history grows with every card, and the requirement stays at one suit.
- **Bits and codes are two prices.** `memory_size` shows its context and then asks for one bit of it. Once the question
  is there, one bit is left to carry, but the machine must have told every context apart a moment before: the codes
  double with each bit shown, the bits do not.
- **Names can mislead.** `RepeatPrevious` with k = 4 asks for the card three steps ago. Each further step back takes
  four times as many codes; in `CountRecall` they grow by one with every card.
- **The future may help.** Where (A4) or transitivity fails, some histories need no telling apart because what follows
  gives them away; the least memory is then a colouring, and it can fall before anything is used.
- **Some experts know too much.** Where (A2) fails, no history explains the expert, and the numbers are those of the
  best imitation that sees only observations.
"""
