"""The catalogue: `studies.toml` lists every table and figure of the paper; each has a file of its own name."""

from importlib import import_module

from diacritic.studies.cell import Cell
from reproduction.catalogue._figures import listed
from reproduction.catalogue.settings import NOT_RESULTS
from reproduction.figure import Figure
from reproduction.paper import PaperStudy

__all__ = ["CELLS", "FIGURES", "NOT_RESULTS", "STUDIES"]


def _study(name: str) -> PaperStudy:
    return import_module(f"reproduction.catalogue.{name.replace('-', '_')}").STUDY


STUDIES: dict[str, PaperStudy] = {name: _study(name) for name in listed()}
"""Every study by its name, in the order in which their runs are made."""
FIGURES: dict[str, tuple[Figure, ...]] = {name: study.figures for name, study in STUDIES.items()}
CELLS: tuple[Cell, ...] = tuple(cell for study in STUDIES.values() for cell in study.cells)
