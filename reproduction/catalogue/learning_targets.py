"""The table of learning targets: two cues at gaps 6, 10, 20 and full reveal at 16 and 32 modes, in frozen settings."""

from collections.abc import Iterator
from typing import Any

from diacritic.studies.cell import Cell
from reproduction.catalogue._declare import GAPS, MANY, PRESETS, SETTINGS, counted, franka, from_paper
from reproduction.catalogue._figures import study
from reproduction.catalogue.pixels import held_out
from reproduction.derive import rate_range, tally
from reproduction.reference import block

NAME = "learning-targets"
_VARIANTS = {
    "event-agnostic": "event-agnostic anneal 60%",
    "task-informed": "task-informed",
    "teacher-state": "teacher-state",
    "event-agnostic-kept": "event-agnostic not annealed",
    "event-agnostic-40": "event-agnostic anneal 40%",
}
_MAIN = ("event-agnostic", "task-informed", "event-agnostic-40")
_OFFSETS: dict[str, dict[str, Any]] = {
    "event-agnostic-all": {"target": "forecaster", "weight": 1.0},
    "event-agnostic-all-light": {"target": "forecaster", "weight": 0.1},
    "event-agnostic-all-recorded": {"target": "recorded actions"},
}


def _cells() -> Iterator[Cell]:
    unsupervised, far = block("table.distill"), SETTINGS["gap 20"]
    for preset in PRESETS:
        for setting, task in SETTINGS.items():
            best = unsupervised["unsupervised_best_sufficient"][unsupervised["settings"].index(setting)]
            paper = counted("table.distill", best, unsupervised["of"])
            yield franka(NAME, task, "plain", paper, preset=preset, seeds=MANY)
            for learner, said in _VARIANTS.items():
                listed = learner != "event-agnostic-40" or setting in ("gap 20", "M=32")
                paper = from_paper("table.generic", GAPS, learner=said, setting=setting) if listed else None
                yield franka(NAME, task, learner, paper, preset=preset, seeds=MANY if learner in _MAIN else 8)
        for learner, match in _OFFSETS.items():
            yield franka(NAME, far, learner, from_paper("table.generic_all_offsets", **match), preset=preset)


CELLS = tuple(_cells())


def of(learner: str, preset: str = "carousel") -> list[Cell]:
    """The five cells of a learner."""
    return [cell for cell in CELLS if (cell.learner, cell.preset) == (learner, preset)]


STUDY = study(
    NAME,
    CELLS,
    {
        "event-agnostic, all settings: sufficient runs": tally(of("event-agnostic")),
        "task-informed, all settings: sufficient runs": tally(of("task-informed")),
        "event-agnostic, release, all settings: sufficient runs": tally(of("event-agnostic", "release")),
        "task-informed, release, all settings: sufficient runs": tally(of("task-informed", "release")),
        "event-agnostic: verdicts that hold on a fresh recording": tally(
            of("event-agnostic"), lambda row: row.get("fresh_sufficient") == row["sufficient"]
        ),
        "event-agnostic: bits in the first gap over the sufficient seeds": rate_range(of("event-agnostic"), "gap1"),
        "pixels, held-out seeds before: plain": held_out("plain"),
        "pixels, held-out seeds after: event-agnostic": held_out("event-agnostic"),
    },
)
