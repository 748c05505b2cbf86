"""The four-bit join: two cues with four classes each."""

from diacritic.studies.tasks import task
from reproduction.catalogue._declare import franka, from_paper
from reproduction.catalogue._figures import study
from reproduction.derive import rate_range

NAME, _BLOCK = "tier-16", "table.distill_tier16"
_TASK = task("two-cues", classes=4, gap=6)
_INFORMED = tuple(
    franka(NAME, _TASK, "task-informed", from_paper(_BLOCK, learner="task-informed", K=codes), codes=codes)
    for codes in (16, 64)
)


STUDY = study(
    NAME,
    (
        *_INFORMED,
        franka(NAME, _TASK, "join", from_paper(_BLOCK, learner="privileged join head", K=128), codes=128),
    ),
    {
        "task-informed, K=64: bits in the first gap over the sufficient seeds": rate_range(_INFORMED[1:], "gap1"),
    },
)
