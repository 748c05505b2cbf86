"""The four-bit join: two cues with four classes each."""

from diacritic.studies.tasks import task
from reproduction.catalogue._declare import found, franka
from reproduction.catalogue._figures import study
from reproduction.derive import rate_range

NAME, _BLOCK = "tier-16", "table.distill_tier16"
_PLACE = task("two-cues", classes=4, gap=6)
_INFORMED = tuple(
    franka(NAME, _PLACE, "task-informed", found(_BLOCK, learner="task-informed", K=codes), codes=codes)
    for codes in (16, 64)
)


STUDY = study(
    NAME,
    (
        *_INFORMED,
        franka(NAME, _PLACE, "join", found(_BLOCK, learner="privileged join head", K=128), codes=128),
    ),
    {
        "task-informed, K=64: bits in the first gap over the sufficient seeds": rate_range(_INFORMED[1:], "gap1"),
    },
)
