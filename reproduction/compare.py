"""Our results beside the paper's, cell by cell and figure by figure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from certify.errors import UserError
from diacritic.files.ledger import Row
from diacritic.studies.cell import Cell
from diacritic.studies.results import Results
from reproduction.catalogue import STUDIES
from reproduction.derive import mean_rate, rates_of, sufficient
from reproduction.figure import Figure
from reproduction.paper import Paper, PaperStudy, paper_count, paper_of
from reproduction.reference import block
from reproduction.release import ReleasedRun, rates, released, successes
from reproduction.verdicts import (
    KINDS,
    NOT_IN_PAPER,
    NOT_RUN,
    RATE_TOLERANCE,
    SUCCESS_TOLERANCE,
    Better,
    Count,
    Kind,
    P,
    Part,
    Value,
    Verdict,
    combined,
    contrast,
    count_part,
    holm,
    spread_part,
)

_CONTROLS = ("sysid", "inverse-only", "non-persistent", "bypass", "gaussian", "gru-", "full-history", "open-loop")


@dataclass(frozen=True)
class CellLine:
    """One cell: our runs, what the paper reports of it, and what single runs of the release gave."""

    cell: Cell
    rows: tuple[Row, ...]
    whole: bool
    """Whether enough seeds have run to be compared: all, or the usual number."""
    verdict: Verdict = NOT_RUN

    @property
    def reported(self) -> Paper | None:
        return paper_of(self.cell)

    @cached_property
    def released(self) -> list[ReleasedRun]:
        return released(self.cell) if self.reported else []

    @property
    def ours(self) -> Count | None:
        """Sufficient seeds of those that ran."""
        return sufficient(self.rows) if self.rows else None

    @property
    def paper(self) -> Count | None:
        count = paper_count(self.cell)
        return Count(*count) if count else None

    @property
    def over_all(self) -> bool:
        return self.reported is not None and over_all(self.reported)

    @property
    def task_version(self) -> int:
        """The version of the task that these runs learned."""
        return self.rows[0].get("task_version", 1) if self.rows else self.cell.task.version

    @property
    def success(self) -> float | None:
        """Mean success over all seeds."""
        played = [row["success"] for row in self.rows]
        return sum(played) / len(played) if played and None not in played else None

    def rate(self, window: str) -> float | None:
        return mean_rate(self.rows, window, self.over_all) if self.rows else None

    def requirement(self, window: str) -> float | None:
        return self.rows[0]["requirement"].get(window) if self.rows else None


@dataclass(frozen=True)
class FigureLine:
    """One figure: ours and the paper's."""

    figure: Figure
    ours: Value | None
    verdict: Verdict = NOT_RUN


Line = CellLine | FigureLine


@dataclass(frozen=True)
class Comparison:
    """A study beside the paper."""

    study: PaperStudy
    cells: tuple[CellLine, ...]
    figures: tuple[FigureLine, ...]

    @property
    def counts(self) -> Mapping[Kind, int]:
        """How many lines have each verdict."""
        counts = Counter(line.verdict.kind for line in (*self.cells, *self.figures))
        return {kind: counts[kind] for kind in KINDS}


def find(name: str) -> PaperStudy:
    """The study of that name."""
    if name not in STUDIES:
        raise UserError("study", f"{name!r} is unknown; `python -m reproduction list` names {len(STUDIES)}")
    return STUDIES[name]


def compare(study: PaperStudy | str, results: Results | Sequence[Row]) -> Comparison:
    """A study beside the paper, from a folder of ledgers or from bare rows; all its contrasts are one family."""
    chosen = find(study) if isinstance(study, str) else study
    folder = results if isinstance(results, Results) else Results({chosen.name: results})
    cells = [CellLine(cell, tuple(folder.shown(cell)), bool(folder.comparable(cell))) for cell in chosen.cells]
    figures = [FigureLine(figure, figure.ours(folder, chosen.name)) for figure in chosen.figures]
    raw = [contrast(line.ours, line.paper) if line.whole else None for line in cells]
    raw += [contrast(line.ours, line.figure.paper) for line in figures]
    adjusted = iter(holm([p for p in raw if p is not None]))
    ps = iter([None if p is None else P(p, next(adjusted)) for p in raw])
    return Comparison(
        chosen,
        tuple(replace(line, verdict=cell_verdict(line, next(ps))) for line in cells),
        tuple(replace(line, verdict=line.figure.verdict(line.ours, next(ps))) for line in figures),
    )


def cell_verdict(line: CellLine, p: P | None) -> Verdict:
    """By count, rates and success, as far as the paper gives them; if half of the runs diverged, nothing agrees."""
    paper = line.reported
    if not line.whole:
        return NOT_RUN
    if paper is None or not (paper.sufficient or paper.success is not None or paper.rate):
        return NOT_IN_PAPER
    parts, better = [], better_of(line.cell.learner)
    if line.ours and line.paper and p:
        parts.append(count_part(line.ours, line.paper, better, p))
    for window, bits in paper.rate:
        theirs = [bits, *rates(line.released, window, line.over_all)]
        parts.append(
            spread_part(f"rate in {window}", rates_of(line.rows, window, line.over_all), theirs, RATE_TOLERANCE)
        )
    if paper.success is not None:
        played = [row["success"] for row in line.rows if row["success"] is not None]
        theirs = [paper.success, *successes(line.released)]
        parts.append(spread_part("success", played, theirs, SUCCESS_TOLERANCE, better))
    lost = sum(bool(row["diverged"]) for row in line.rows)
    if 2 * lost >= len(line.rows):
        parts.append(Part(f"runs that diverged ({lost} of {len(line.rows)})", "differs"))
    return combined(parts, len(line.rows), p)


def over_all(paper: Paper) -> bool:
    """Whether the paper averages its rates here over all seeds, not over the sufficient ones."""
    return block(paper.block).get("rate_over") == "all"


def better_of(learner: str) -> Better:
    """More sufficient seeds are better for a learner of carriers; for a control they are merely another outcome."""
    return None if learner.startswith(_CONTROLS) else "higher"
