"""How far plain imitation goes, and what it holds once it has forgotten; nothing of it is in the paper."""

from reproduction.beyond_paper.cells import CELLS, NAME
from reproduction.catalogue._figures import study

STUDY = study(NAME, CELLS)
