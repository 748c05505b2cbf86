"""The learner that revises its codes, on the cells beyond the paper and wherever plain imitation missed."""

from reproduction.beyond_paper.revision_cells import CELLS, NAME, ROBUST_CELLS
from reproduction.catalogue._figures import study

STUDY = study(NAME, (*CELLS, *ROBUST_CELLS))
