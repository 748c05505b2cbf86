"""Matched side information and strict readouts: the carrier sees no more than the symbol that its rate is given."""

from collections.abc import Iterator

from diacritic.studies.cell import Cell
from diacritic.studies.tasks import task
from reproduction.catalogue._declare import GAPS, franka, from_paper, reported
from reproduction.catalogue._figures import study
from reproduction.catalogue.plain_trajectories import EPISODES, PLACE
from reproduction.derive import rate_range, success_range
from reproduction.reference import block, figure

NAME, _STRICT = "side-information", "sideinfo.strict_without_forecast"


def _matched() -> Iterator[Cell]:
    for beta in (0.0, 1e-3):
        paper = from_paper("sideinfo.matched", GAPS, task="Aprime", beta=beta, input="matched")
        yield franka(NAME, PLACE, "matched", paper, beta=beta, demonstrations=EPISODES)
    for modes in (4, 8, 16, 32):
        paper = from_paper("sideinfo.matched", task="TaskA", M=modes)
        yield franka(NAME, task("hidden-mass", modes=modes), "matched", paper)


def _strict() -> Iterator[Cell]:
    for readout, key in (("hierarchical", "hierarchical_task_a"), ("intent", "intent_task_a")):
        for modes in figure(_STRICT, f"{key}.M"):
            paper = reported(_STRICT, figure(_STRICT, key))
            yield franka(NAME, task("hidden-mass", modes=modes), readout, paper)
    for readout in ("hierarchical", "hierarchical-10", "hierarchical-30"):
        paper = reported(_STRICT, figure(_STRICT, "hierarchical_aprime"))
        yield franka(NAME, PLACE, readout, paper, demonstrations=EPISODES)
    for beta in (0.0, 1e-3):
        paper = reported(_STRICT, figure(_STRICT, "intent_aprime"))
        yield franka(NAME, PLACE, "intent", paper, beta=beta, demonstrations=EPISODES)


def _informed() -> Iterator[Cell]:
    for entry in block("table.e1e4")["rows"]:
        match = {key: entry[key] for key in ("gap", "architecture", "beta")}
        instance, learner = task("two-cues", gap=entry["gap"]), f"{entry['architecture']}+task-informed"
        size = {"demonstrations": EPISODES} if instance == PLACE else {}
        yield franka(NAME, instance, learner, from_paper("table.e1e4", GAPS, **match), beta=entry["beta"], **size)


_ON_MASS = [cell for cell in _matched() if cell.task.name == "hidden-mass"]


STUDY = study(
    NAME,
    (*_matched(), *_strict(), *_informed()),
    {
        "hidden mass, matched: bits during the grasp": rate_range(_ON_MASS, "grasp", over_all=True),
        "hidden mass, matched: closed loop": success_range(_ON_MASS),
    },
)
