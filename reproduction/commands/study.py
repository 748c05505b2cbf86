"""The engine of studies, on the cells of the paper: list, show, run, status, export, import."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from certify.errors import UserError
from diacritic.commands import study
from diacritic.commands.study import Import
from diacritic.studies.cell import Study

__all__ = ["Export", "Import", "List", "Run", "Show", "Status"]


@dataclass(frozen=True)
class _Paper(study.Catalogue):
    studies: Annotated[Path | None, tyro.conf.Suppress] = None

    def declared(self) -> Mapping[str, Study]:
        from reproduction.catalogue import STUDIES

        return STUDIES

    def named(self) -> list[Study]:
        """The studies; all of them would take days, so that one has to be named."""
        if not self.names:
            raise UserError("study", "give the name of at least one study; `python -m reproduction list` shows them")
        return self.chosen()


@dataclass(frozen=True)
class List(_Paper, study.List):
    """Every table and figure of the paper with its cells, and how far its runs have come."""


@dataclass(frozen=True)
class Status(_Paper, study.Status):
    """How many runs of each cell are in the ledgers, and how many are missing."""


@dataclass(frozen=True)
class Show(_Paper, study.Show):
    """Studies: their cells and figures, and what the paper reports of the cells."""

    def run(self) -> int:
        from reproduction.catalogue import FIGURES

        studies = self.named()
        super().run()
        figures = [figure for one in studies for figure in FIGURES[one.name]]
        for figure in figures:
            print(f"  {figure.name}: {'measured' if figure.measured else 'derived from runs'}")
        print(f"{len(figures)} figures")
        return 0


@dataclass(frozen=True)
class Run(_Paper, study.Run):
    """Train, measure and play the cells of studies, then measure their figures; runs that are in the ledger already are
    left alone."""

    def run(self) -> int:
        from reproduction.catalogue import FIGURES
        from reproduction.figure import measure

        studies = self.named()
        if any(one.cells for one in studies):
            super().run()
        if not (self.dry_run or self.selection.quick or self.selection.only):
            for one in studies:
                measure(one.name, FIGURES[one.name], self.paths.results or Path("results"))
        return 0


@dataclass(frozen=True)
class Export(_Paper, study.Export):
    """Write what is missing of studies as one folder that `python -m diacritic.training FOLDER` trains on a machine
    with nothing but torch, numpy and safetensors."""

    def run(self) -> int:
        self.named()
        return super().run()
