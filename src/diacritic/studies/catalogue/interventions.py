"""Interventions on learning that add no target: curriculum, refinement, a double budget, the prior; full history."""

from collections.abc import Iterator

from diacritic.studies.catalogue._declare import SETTINGS, counted, found, franka, range_of, reported
from diacritic.studies.catalogue.plain_trajectories import EPISODES, PLACE
from diacritic.studies.cell import Cell, Study
from diacritic.studies.figure import Figure
from diacritic.studies.reference import figure
from diacritic.studies.results import success_range

NAME, _BLOCK = "interventions", "stats.interventions"


def _cells() -> Iterator[Cell]:
    for known in figure(_BLOCK, "double_budget"):
        paper = found(_BLOCK, rows="double_budget", setting=known["setting"])
        yield franka(NAME, SETTINGS[known["setting"]], "plain", paper, steps=known["steps"], preset="textbook")
    for setting in ("gap 6", "gap 10", "gap 20"):
        for learner in ("refinement", "plain+bfs", "scaffold+bfs"):
            yield franka(NAME, SETTINGS[setting], learner, preset="textbook")
    easier = franka(NAME, SETTINGS["gap 6"], "scaffold", preset="textbook")
    for known in figure(_BLOCK, "curriculum_sufficient"):
        place, paper = SETTINGS[known["setting"]], reported(_BLOCK, known)
        yield franka(NAME, place, "scaffold", paper, preset="textbook", after=easier)
    prior = figure(_BLOCK, "prior_unconditional_vs_conditional")
    paper = counted(_BLOCK, prior["unconditional"], prior["of"])
    yield franka(NAME, PLACE, "unconditional", paper, demonstrations=EPISODES)
    none = figure(_BLOCK, "non_persistent")
    yield franka(
        NAME, PLACE, "non-persistent", counted(_BLOCK, none["sufficient"], none["of"]), demonstrations=EPISODES
    )


_HISTORY = tuple(franka(NAME, place, "full-history", preset="textbook") for place in SETTINGS.values())

STUDY = Study(
    NAME,
    "Interventions on learning",
    "What else one may try at long gaps, and the policy that re-reads its whole history.",
    inventory=(141,),
    blocks=(_BLOCK, "full_history"),
    cells=(*_cells(), *_HISTORY),
    order=4,
)
FIGURES = (
    Figure(
        "full history: closed loop",
        "full_history",
        range_of("full_history", "closed_loop"),
        derived=success_range(_HISTORY),
        within=0.05,
        better="higher",
    ),
)
