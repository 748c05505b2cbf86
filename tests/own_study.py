"""Studies of one's own, declared in one file as a user would."""

from pathlib import Path

from diacritic.studies import Cell, Study, task

FILE = Path(__file__)


def _toy(learner: str, **parameters: int) -> Cell:
    return Cell("toys", task("gap", **parameters), learner, "carousel", "full", 0.03, 6000, seeds=3)


def _arm(learner: str, gap: int) -> Cell:
    arm = task("two-cues", gap=gap)
    return Cell("arm", arm, learner, "carousel", "task", 1e-3, 10_000, "elsewhere 7/8", demonstrations=448)


TOYS = Study("toys", "Toys", "Two cues, each used after a gap.", (_toy("plain", gap2=1), _toy("plain+bfs", gap2=2)))
ARM = Study("arm", "The arm", cells=tuple(_arm(name, gap) for name in ("plain", "event-agnostic") for gap in (6, 20)))
NOTHING = Study("nothing", "A study without cells")
STUDIES = (TOYS, ARM, NOTHING)
BY_NAME = {study.name: study for study in STUDIES}
