"""Rates of plain runs over the episode, seed by seed: two cues at gap 6, N = 1152, with and without a price."""

from diacritic.studies.cell import Cell
from diacritic.studies.tasks import task
from reproduction.catalogue._declare import PRESETS, franka, from_paper
from reproduction.catalogue._figures import study

NAME = "plain-trajectories"
PLACE, EPISODES = task("two-cues", gap=6), 1152


def cell(study: str, beta: float, preset: str = "carousel") -> Cell:
    """A plain run with the raw observation on the large set."""
    paper = from_paper("sideinfo.matched", task="Aprime", beta=beta, input="raw")
    return franka(study, PLACE, "plain", paper, beta=beta, demonstrations=EPISODES, preset=preset)


STUDY = study(NAME, tuple(cell(NAME, beta, preset) for beta in (0.0, 1e-3) for preset in PRESETS))
