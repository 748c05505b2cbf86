"""`diacritic study`: the cells of a Python file, trained, measured, played and entered into ledgers."""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.console import Console
from rich.table import Table

from certify.errors import UserError
from diacritic.commands.parameters import remedies

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from diacritic.studies.cell import Cell, Study
    from diacritic.studies.engine import StudySettings

QUICK = Path("out") / "quick"


@dataclass(frozen=True)
class Selection:
    """Which cells."""

    only: str = ""
    """Cells that have all these words in study, name, learner, preset or gate: "gap=20 event-agnostic carousel"; commas
    separate alternatives."""
    seeds: int | None = None
    """At most so many seeds of each cell."""
    quick: bool = False
    """A tiny version of each cell, to see that everything runs; results go to out/quick."""

    def cells(self, studies: "Sequence[Study]") -> "list[Cell]":
        """The chosen cells of these studies."""
        from diacritic.studies.choose import cells_of

        return cells_of(studies, self.only, self.seeds, self.quick)


@dataclass(frozen=True)
class Catalogue:
    """Which studies."""

    names: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="NAME [NAME ...]")] = ()
    """Studies of the file; by default all."""
    studies: Path | None = None
    """Python file that declares cells, as STUDY or STUDIES."""

    def declared(self) -> "Mapping[str, Study]":
        """All studies to choose from, by name."""
        from diacritic.studies.choose import load_studies

        return load_studies(self.studies)

    def chosen(self) -> "list[Study]":
        """Those that were named."""
        from diacritic.studies.choose import studies_named

        return studies_named(self.names, self.declared())


@dataclass(frozen=True)
class StudyPaths:
    """Where things are."""

    results: Path | None = None
    """Ledgers; by default results, for quick runs out/quick/results."""
    demos: Path = Path("out") / "demos"
    """Recordings; missing ones are recorded."""
    runs: Path = Path("out") / "runs"
    """Run folders."""
    episodes: int | None = None
    """Closed-loop episodes of each policy, 0 for none; by default 128, in quick runs 4."""
    threads: int = 0
    """Threads that simulate; 0 for one a core."""

    def settings(self, work: Path, device: str = "cpu", quick: bool = False) -> "StudySettings":
        """The same for an engine."""
        from diacritic.rollout.closed_loop import EPISODES
        from diacritic.studies.choose import QUICK_EPISODES_PLAYED, QUICK_STEPS
        from diacritic.studies.engine import StudySettings
        from diacritic.training.supervision import FORECASTER_STEPS

        episodes = (QUICK_EPISODES_PLAYED if quick else EPISODES) if self.episodes is None else self.episodes
        results = self.results or (QUICK / "results" if quick else Path("results"))
        forecaster = QUICK_STEPS if quick else FORECASTER_STEPS
        return StudySettings(results, work, self.demos, self.runs, device, episodes, self.threads, forecaster)


@dataclass(frozen=True)
class List(Catalogue):
    """Every study with its cells, and how far its runs have come."""

    results: Path = Path("results")
    """Ledgers."""

    def run(self) -> int:
        from diacritic.studies.results import Results

        ledgers = Results.read(self.results)
        table = Table(box=None)
        for head in ("study", "title", "cells", "runs", "done"):
            table.add_column(head, justify="left" if head in ("study", "title") else "right")
        for study in self.chosen():
            runs = sum(cell.seeds for cell in study.cells)
            done = sum(len(ledgers.runs(cell)) for cell in study.cells)
            share = f"{done / runs:.0%}" if runs else "—"
            table.add_row(study.name, study.title, str(len(study.cells)), str(runs), share)
        console().print(table)
        return 0


@dataclass(frozen=True)
class Show(Catalogue):
    """Studies with their cells."""

    selection: Annotated[Selection, tyro.conf.arg(name="")] = field(default_factory=Selection)

    def run(self) -> int:
        studies = self.chosen()
        for study in studies:
            print(f"{study.name}: {study.title}")
            if study.introduction:
                print(study.introduction)
        if any(study.cells for study in studies):
            _show_cells(self.selection.cells(studies))
        return 0


@dataclass(frozen=True)
class Run(Catalogue):
    """Train, measure and play the cells of studies; runs that are in the ledger already are left alone."""

    selection: Annotated[Selection, tyro.conf.arg(name="")] = field(default_factory=Selection)
    paths: Annotated[StudyPaths, tyro.conf.arg(name="")] = field(default_factory=StudyPaths)
    device: str = "auto"
    """cpu, cuda, or auto."""
    together: int = 1
    """Cohorts that train in turns on the device."""
    work: Path = Path("out") / "study"
    """Where training jobs and trained cohorts are kept; one runner at a time."""
    engine: str = "local"
    """`local`, or `ray`."""
    address: str | None = None
    """Of a running Ray cluster; by default one is started on this machine."""
    dry_run: bool = False
    """Only say what would be run."""

    def run(self) -> int:
        with remedies():
            from diacritic.files.lock import disk_faults, locked
            from diacritic.studies.engine import jobs_of, run_here
            from diacritic.studies.train import chosen_device

            if self.engine not in ("local", "ray"):
                raise UserError("--engine", f"no engine is called {self.engine!r}; there are local and ray")
            cells = self.selection.cells(self.chosen())
            if self.dry_run:
                _show_cells(cells)
                return 0
            settings = self.paths.settings(self.work, chosen_device(self.device), self.selection.quick)
            with disk_faults(), locked(settings.work), locked(settings.results):
                jobs = jobs_of(cells, settings)
                print(f"{len(cells)} cells, {len(jobs)} cohorts to run", flush=True)
                if self.engine == "local":
                    run_here(jobs, settings, self.together, say)
                else:
                    from diacritic.studies.cluster import run_on_ray

                    run_on_ray(jobs, settings, self.address, say)
        return 0


@dataclass(frozen=True)
class Status(Catalogue):
    """How many runs of each cell are in the ledgers, and how many are missing."""

    results: Path = Path("results")
    """Ledgers."""

    def run(self) -> int:
        from diacritic.studies.results import Results

        ledgers = Results.read(self.results)
        for study in self.chosen():
            counts = {cell: len(ledgers.runs(cell)) for cell in study.cells}
            whole = sum(count == cell.seeds for cell, count in counts.items())
            runs = f"{sum(counts.values())} of {sum(cell.seeds for cell in counts)} runs"
            print(f"{study.name}: {whole} of {len(counts)} cells complete, {runs}")
            if self.names:
                for cell, count in counts.items():
                    if count < cell.seeds:
                        print(f"  {count}/{cell.seeds}  {cell.name}, {cell.learner}, {cell.preset}, {cell.gate}")
        return 0


@dataclass(frozen=True)
class Export(Catalogue):
    """Write what is missing of studies as one folder that `python -m diacritic.training FOLDER` trains on a machine
    with nothing but torch, numpy and safetensors."""

    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("out") / "export"
    """The folder."""
    cohort: int | None = None
    """Runs of a cohort at most, by default 32; results come cohort by cohort, so that small ones come sooner."""
    selection: Annotated[Selection, tyro.conf.arg(name="")] = field(default_factory=Selection)
    paths: Annotated[StudyPaths, tyro.conf.arg(name="")] = field(default_factory=StudyPaths)

    def run(self) -> int:
        with remedies():
            from diacritic.files.lock import disk_faults, locked
            from diacritic.studies.engine import missing_cells
            from diacritic.studies.job_manifest import export, pack
            from diacritic.training.cohort_batching import RUNS

            settings = self.paths.settings(self.out, quick=self.selection.quick)
            studies = self.chosen()
            wanted = [cell for cell in self.selection.cells(studies) if cell.task.recorded]
            cells = missing_cells(wanted, settings.results)
            if not cells:
                said = "all its recorded cells are in the ledger" if wanted else "has no recorded cells"
                raise UserError(" ".join(study.name for study in studies), f"{said}; there is nothing to export")
            with disk_faults(), locked(self.out):
                most = RUNS if self.cohort is None else self.cohort
                train_jobs, placed = pack(cells, settings.demos, settings.forecaster_steps, most)
                export(train_jobs, placed, self.out, settings.demos)
            size = sum(path.stat().st_size for path in (self.out / "demos").iterdir())
            runs = sum(len(train_job.runs) for train_job in train_jobs)
            print(f"{self.out}: {len(cells)} cells, {len(train_jobs)} cohorts, {runs} runs, demos {size / 1e6:.1f} MB")
        return 0


@dataclass(frozen=True)
class Import:
    """Unpack what `python -m diacritic.training` wrote, measure it, play it, and enter it into the ledgers. What is
    there already is left alone, so that this can be stopped and started at will."""

    folder: Annotated[Path, tyro.conf.Positional]
    """The results, as files or as archives."""
    paths: Annotated[StudyPaths, tyro.conf.arg(name="")] = field(default_factory=StudyPaths)

    def run(self) -> int:
        with remedies():
            from diacritic.files.lock import disk_faults, locked
            from diacritic.studies.collect import import_results

            settings = self.paths.settings(self.folder)
            with disk_faults(), locked(settings.results):
                number = import_results(settings, say)
            print(f"{number} cells got new rows in {settings.results}")
        return 0


@dataclass(frozen=True)
class StudyCommand:
    """Studies of your own, declared in a Python file: list, show, run, status, export, import."""

    action: Annotated[
        Annotated[List, tyro.conf.subcommand("list", prefix_name=False)]
        | Annotated[Show, tyro.conf.subcommand("show", prefix_name=False)]
        | Annotated[Run, tyro.conf.subcommand("run", prefix_name=False)]
        | Annotated[Status, tyro.conf.subcommand("status", prefix_name=False)]
        | Annotated[Export, tyro.conf.subcommand("export", prefix_name=False)]
        | Annotated[Import, tyro.conf.subcommand("import", prefix_name=False)],
        tyro.conf.arg(name=""),
    ]

    def run(self) -> int:
        return self.action.run()


def say(line: str) -> None:
    """One line, at once."""
    print(line, flush=True)


def console() -> Console:
    """Wide enough for a table, also in a pipe."""
    return Console(width=None if sys.stdout.isatty() else 200)


def _show_cells(cells: "list[Cell]") -> None:
    heads = ["cell", "learner", "preset", "gate", "steps", "seeds"]
    heads += ["reference"] if any(cell.reference for cell in cells) else []
    table = Table(box=None)
    for head in heads:
        table.add_column(head, justify="right" if head in ("steps", "seeds", "reference") else "left")
    for cell in cells:
        seeds = f"{cell.first_seed}–{cell.first_seed + cell.seeds - 1}"
        words = [cell.name, cell.learner, cell.preset, cell.gate, str(cell.steps), seeds]
        table.add_row(*words, *(["—" if cell.reference is None else str(cell.reference)] if len(heads) > 6 else []))
    console().print(table)
    print(f"{len(cells)} cells, {sum(cell.seeds for cell in cells)} runs")


COMMANDS = {"study": StudyCommand}
