"""Our results beside the paper's, cell by cell and figure by figure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from certify.errors import UserError
from diacritic.studies.cell import Cell
from diacritic.studies.ledger import Row
from diacritic.studies.results import Results
from reproduction.catalogue import FIGURES, STUDIES
from reproduction.derive import mean_rate, sufficient
from reproduction.figure import Figure
from reproduction.paper import Paper, PaperStudy, paper_count, paper_of
from reproduction.reference import block
from reproduction.verdicts import (
    RATE_TOLERANCE,
    VERDICTS,
    Better,
    Count,
    Range,
    Value,
    Verdict,
    contrast,
    near,
    success_verdict,
)

_CONTROLS = ("sysid", "inverse-only", "non-persistent", "bypass", "gaussian", "gru-", "full-history", "open-loop")


@dataclass(frozen=True)
class CellLine:
    """One cell: our runs and what the paper reports of it."""

    cell: Cell
    rows: tuple[Row, ...]
    verdict: Verdict

    @property
    def reported(self) -> Paper | None:
        return paper_of(self.cell)

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
    verdict: Verdict


@dataclass(frozen=True)
class Comparison:
    """A study beside the paper."""

    study: PaperStudy
    cells: tuple[CellLine, ...]
    figures: tuple[FigureLine, ...]

    @property
    def counts(self) -> Mapping[Verdict, int]:
        """How many lines have each verdict."""
        found = Counter(line.verdict for line in (*self.cells, *self.figures))
        return {verdict: found[verdict] for verdict in VERDICTS}


def find(name: str) -> PaperStudy:
    """The study of that name."""
    if name not in STUDIES:
        raise UserError("study", f"{name!r} is unknown; `python -m reproduction list` names {len(STUDIES)}")
    return STUDIES[name]


def compare(study: PaperStudy | str, results: Results | Sequence[Row]) -> Comparison:
    """A study beside the paper, from a folder of ledgers or from bare rows."""
    known = find(study) if isinstance(study, str) else study
    folder = results if isinstance(results, Results) else Results({known.name: results})
    cells = tuple(_cell_line(cell, folder) for cell in known.cells)
    figures = tuple(_figure_line(figure, folder, known.name) for figure in FIGURES.get(known.name, ()))
    return Comparison(known, cells, figures)


def _figure_line(figure: Figure, results: Results, study: str) -> FigureLine:
    ours = figure.ours(results, study)
    return FigureLine(figure, ours, figure.verdict(ours))


def _cell_line(cell: Cell, results: Results) -> CellLine:
    rows = results.shown(cell)
    verdict = cell_verdict(cell, rows) if results.complete(cell) else "not run"
    return CellLine(cell, tuple(rows), verdict)


def cell_verdict(cell: Cell, rows: Sequence[Row]) -> Verdict:
    """By the count of sufficient seeds; where the paper gives none, by success; else by its rates."""
    paper, better = paper_of(cell), better_of(cell.learner)
    if paper is None or not (paper.sufficient or paper.success is not None or paper.rate):
        return "ours alone"
    if paper.sufficient:
        return contrast(sufficient(rows), Count(*paper.sufficient), better)
    if paper.success is not None:
        played = [row["success"] for row in rows]
        return "not run" if None in played else success_verdict(played, paper.success, better)
    return _rates_verdict(paper, rows)


def _rates_verdict(paper: Paper, rows: Sequence[Row]) -> Verdict:
    """Every rate to a tenth of a bit, over the sufficient seeds; without any there is no rate to agree on."""
    for window, bits in paper.rate:
        ours = mean_rate(rows, window, over_all(paper))
        if ours is None or near(Range(ours, ours), Range(bits, bits), RATE_TOLERANCE) != "agrees":
            return "differs"
    return "agrees"


def over_all(paper: Paper) -> bool:
    """Whether the paper averages its rates here over all seeds, not over the sufficient ones."""
    return block(paper.block).get("rate_over") == "all"


def better_of(learner: str) -> Better:
    """More sufficient seeds are better for a learner of carriers; for a control they are merely another outcome."""
    return None if learner.startswith(_CONTROLS) else "higher"
