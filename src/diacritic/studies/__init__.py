"""Studies: cells that are trained, judged and entered into ledgers, here or on many machines."""

from diacritic.studies.cell import Cell, Study
from diacritic.studies.tasks import task

__all__ = ["Cell", "Study", "task"]
