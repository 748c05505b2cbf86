"""The table of learning targets: two cues at gaps 6, 10, 20 and full reveal at 16 and 32 modes, in frozen settings."""

from collections.abc import Iterator

from diacritic.studies.cell import Cell
from reproduction.catalogue._declare import GAPS, PRESETS, SETTINGS, count_of, counted, found, franka, range_of
from reproduction.catalogue.pixels import held_out
from reproduction.derive import rate_range, tally
from reproduction.figure import Figure
from reproduction.paper import PaperStudy
from reproduction.reference import block

NAME = "learning-targets"
_VARIANTS = {
    "event-agnostic": "event-agnostic anneal 60%",
    "task-informed": "task-informed",
    "teacher-state": "teacher-state",
    "event-agnostic-kept": "event-agnostic not annealed",
    "event-agnostic-40": "event-agnostic anneal 40%",
}


def _cells() -> Iterator[Cell]:
    unsupervised = block("table.distill")
    for setting, place in SETTINGS.items():
        best = unsupervised["unsupervised_best_sufficient"][unsupervised["settings"].index(setting)]
        for preset in PRESETS:
            yield franka(NAME, place, "plain", counted("table.distill", best, unsupervised["of"]), preset=preset)
        for learner, said in _VARIANTS.items():
            if learner != "event-agnostic-40" or setting in ("gap 20", "M=32"):
                yield franka(NAME, place, learner, found("table.generic", GAPS, learner=said, setting=setting))
    far = SETTINGS["gap 20"]
    offsets = {
        "event-agnostic-all": {"target": "forecaster", "weight": 1.0},
        "event-agnostic-all-light": {"target": "forecaster", "weight": 0.1},
        "event-agnostic-all-recorded": {"target": "recorded actions"},
    }
    for learner, match in offsets.items():
        yield franka(NAME, far, learner, found("table.generic_all_offsets", **match))


CELLS = tuple(_cells())


def _of(learner: str) -> list[Cell]:
    return [cell for cell in CELLS if cell.learner == learner]


STUDY = PaperStudy(
    NAME,
    "Learning targets",
    "What is asked of the code while it learns, over five settings. The paper's count beside `plain` is that of its "
    "best unsupervised learner.",
    inventory=(130,),
    blocks=("table.learning_main", "table.generic", "table.generic_all_offsets", "table.distill", "headline"),
    cells=CELLS,
    order=1,
)
FIGURES = (
    Figure(
        "event-agnostic, all settings: sufficient runs",
        "headline",
        count_of("headline", "event_agnostic"),
        derived=tally(_of("event-agnostic")),
        better="higher",
    ),
    Figure(
        "task-informed, all settings: sufficient runs",
        "table.learning_main",
        count_of("table.learning_main", "task_informed_total"),
        derived=tally(_of("task-informed")),
        better="higher",
    ),
    Figure(
        "event-agnostic: verdicts that hold on a fresh recording",
        "table.learning_main",
        count_of("table.learning_main", "verdicts_reproduced", "reproduced"),
        derived=tally(_of("event-agnostic"), lambda row: row.get("fresh_sufficient") == row["sufficient"]),
        better="higher",
    ),
    Figure(
        "event-agnostic: bits in the first gap over the sufficient seeds",
        "table.learning_main",
        range_of("table.learning_main", "first_gap_bits_event_agnostic_sufficient"),
        derived=rate_range(_of("event-agnostic"), "gap1"),
        within=0.05,
    ),
    Figure(
        "pixels, held-out seeds before: plain",
        "headline",
        count_of("headline", "pixel_heldout_before"),
        derived=held_out("plain"),
        better="higher",
    ),
    Figure(
        "pixels, held-out seeds after: event-agnostic",
        "headline",
        count_of("headline", "pixel_heldout_after"),
        derived=held_out("event-agnostic"),
        better="higher",
    ),
)
