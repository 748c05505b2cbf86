"""The paper beside our results: scoreboard, figures, certificates, surveys, and the report."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from certify.errors import UserError
from certify.progress import working

RESULTS = Path("results")
Names = Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="NAME [NAME ...]")]


@dataclass(frozen=True)
class Scoreboard:
    """Our results beside the paper's, cell by cell and figure by figure, with intervals and a verdict."""

    names: Names = ()
    """Studies to show in full; by default the table of all."""
    results: Path = RESULTS
    """Ledgers."""
    pages: Path | None = None
    """Also write the scoreboard, and a page and a picture of every study, into this folder: docs/results, say."""

    def run(self) -> int:
        from diacritic.studies.choose import studies_named
        from diacritic.studies.results import Results
        from reproduction.catalogue import STUDIES
        from reproduction.compare import compare
        from reproduction.pages import page
        from reproduction.scoreboard import comparisons, scoreboard, write_pages

        ledgers = Results.read(self.results)
        if self.names:
            for study in studies_named(self.names, STUDIES):
                print(page(compare(study.name, ledgers), ledgers))
        else:
            print(scoreboard(comparisons(ledgers), ledgers))
        if self.pages is not None:
            print(f"{len(write_pages(self.results, self.pages))} files in {self.pages}")
        return 0


@dataclass(frozen=True)
class Report:
    """The report (HTML) of `diacritic report`, with the paper beside the ledgers."""

    inputs: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Ledgers, measured figures, and whatever `diacritic report` takes."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("report.html")
    """The file."""
    film: bool = True
    """Show films of rollouts."""

    def run(self) -> int:
        from diacritic.report.page import report
        from reproduction import paper_section

        shown = report(*self.inputs, out=self.out, film=self.film, ledgers=paper_section.view)
        print(self.out)
        for item in shown.left_out:
            print(f"left out: {item.where}: {item.reason}")
        return 0


@dataclass(frozen=True)
class Figure:
    """Draw a figure of the paper again. The exit status is 2 where its runs are in no ledger."""

    name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")] = "list"
    """Our name of the figure or the paper's label; `list` shows them."""
    results: Path = RESULTS
    """Ledgers."""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """Where to write, as .svg, .pdf or .png; NAME.svg without it."""

    def run(self) -> int:
        from reproduction.paper_figures import FIGURES, find, write_figure

        if self.name == "list":
            for item in FIGURES:
                print(f"{item.name:20}{item.label:22}{item.title}")
            return 0
        path = self.out or Path(f"{find(self.name).name}.svg")
        with working(f"drawing {self.name}"):
            write_figure(self.name, self.results, path)
        print(path)
        return 0


@dataclass(frozen=True)
class FiguresMeasure:
    """Compute the measured figures of studies, and keep them in RESULTS/figures."""

    names: Names
    results: Path = RESULTS
    """Folder of ledgers."""

    def run(self) -> int:
        from diacritic.studies.choose import studies_named
        from reproduction.catalogue import FIGURES, STUDIES
        from reproduction.figure import measure

        for study in studies_named(self.names, STUDIES):
            path = measure(study.name, FIGURES[study.name], self.results)
            print(path or f"{study.name}: nothing to measure", flush=True)
        return 0


@dataclass(frozen=True)
class Certificates:
    """The paper's certifications, each compared with the paper. The exit status is 1 where one differs."""

    mikasa: Path | None = None
    """Checkout of MIKASA-Base: certify the unmodified suite in place of bsuite and the zoo."""

    def run(self) -> int:
        from reproduction.paper_certificates import print_certificates

        return print_certificates(self.mikasa)


@dataclass(frozen=True)
class Ladder:
    """The ladder of the drifting corridor: both ends of each certificate, checked."""

    drifts: Annotated[tuple[int, ...], tyro.conf.Positional, tyro.conf.arg(metavar="W [W ...]")]
    """Numbers of drifts."""
    seconds: float = 60.0
    """Limit of each search."""

    def run(self) -> int:
        from reproduction.corridor_ladder import print_ladder

        return print_ladder(list(self.drifts), self.seconds)


@dataclass(frozen=True)
class Survey:
    """How much memory do known benchmarks need?"""

    plot: Path | None = None
    """Also draw it: .png, .svg or .pdf."""
    page: Path | None = None
    """Also write the page of the documentation, docs/survey.md; needs --plot."""

    def run(self) -> int:
        from reproduction.benchmark_survey import print_survey, write_page

        if self.page is None:
            return print_survey(None if self.plot is None else str(self.plot))
        if self.plot is None:
            raise UserError("--page", "shows a picture; say with --plot where it is to be")
        write_page(self.page, self.plot)
        print(self.page)
        return 0


@dataclass(frozen=True)
class RecordingsSurvey:
    """Record what is missing, and write the ledger of all recordings, acceptance.jsonl."""

    out: Path = RESULTS
    """Folder of the ledger."""
    recordings: Path = Path("out/acceptance")
    """Folder of the recordings; those that are there are read, the others are made."""
    page: Path | None = None
    """A page of the docs whose tables are renewed: docs/demos.md."""
    only: tuple[str, ...] = field(default=())
    """Names of the recordings to make or read; the ledger keeps what it says of the others."""

    def run(self) -> int:
        from reproduction.recordings_survey import survey

        survey(self.out, self.recordings, self.page, self.only)
        return 0
