"""The four-bit join: two cues with four classes each."""

from diacritic.studies.tasks import task
from reproduction.catalogue._declare import found, franka, range_of
from reproduction.derive import rate_range
from reproduction.figure import Figure
from reproduction.paper import PaperStudy

NAME, _BLOCK = "tier-16", "table.distill_tier16"
_PLACE = task("two-cues", classes=4, gap=6)
_INFORMED = tuple(
    franka(NAME, _PLACE, "task-informed", found(_BLOCK, learner="task-informed", K=codes), codes=codes)
    for codes in (16, 64)
)

STUDY = PaperStudy(
    NAME,
    "The four-bit join",
    "Two cues with four classes each: four bits until the grasp, two after it.",
    inventory=(),
    blocks=(_BLOCK,),
    cells=(
        *_INFORMED,
        franka(NAME, _PLACE, "join", found(_BLOCK, learner="privileged join head", K=128), codes=128),
    ),
    order=4,
)
FIGURES = (
    Figure(
        "task-informed, K=64: bits in the first gap over the sufficient seeds",
        _BLOCK,
        range_of(_BLOCK, "K64_successful_first_gap_bits"),
        derived=rate_range(_INFORMED[1:], "gap1"),
        within=0.1,
    ),
)
