"""Weighing: nothing is displayed; the arm must lift the object, feel its mass and remember it."""

from collections.abc import Iterator

from diacritic.studies.catalogue._declare import franka, range_of, reported
from diacritic.studies.catalogue.requirements import recording
from diacritic.studies.cell import Cell, Study
from diacritic.studies.figure import Figure
from diacritic.studies.reference import block, figure
from diacritic.studies.results import Results, rate_range
from diacritic.studies.tasks import task
from diacritic.studies.verdicts import Count, Value, value

NAME, _BLOCK = "weighing", "table.weigh"
_LEARNERS = {
    "plain": ("plain", "carousel"),
    "task-informed": ("task-informed", "carousel"),
    "task-informed from step 0": ("task-informed-start", "carousel"),
    "event-agnostic not annealed": ("event-agnostic-kept", "carousel"),
    "system-id": ("sysid", "carousel"),
    "gru-bypass": ("bypass", "textbook"),
    "full-history": ("full-history", "textbook"),
}


def _cells() -> Iterator[Cell]:
    for known in block(_BLOCK)["rows"]:
        learner, preset = _LEARNERS[known["learner"]]
        yield franka(NAME, task("weighing", gap=known["gap"]), learner, reported(_BLOCK, known), preset=preset)
    for gap in (6, 20):
        yield franka(NAME, task("weighing", gap=gap), "plain", preset="textbook")
        annealed = reported(_BLOCK, figure(_BLOCK, "event_agnostic_annealed"))
        yield franka(NAME, task("weighing", gap=gap), "event-agnostic", annealed)
    for known in figure(_BLOCK, "from_step_0_N896"):
        place = task("weighing", gap=known["gap"])
        yield franka(NAME, place, "task-informed-start", reported(_BLOCK, known), demonstrations=known["N"])
    hold = task("weighing", gap=6, hold=figure("weigh.longer_hold", "hold_steps"))
    for learner, key in (("plain", "plain"), ("task-informed-start", "from_step_0")):
        yield franka(NAME, hold, learner, reported("weigh.longer_hold", figure("weigh.longer_hold", key)))


CELLS = tuple(_cells())
_START = [cell for cell in CELLS if cell.learner == "task-informed-start" and cell.task.name == NAME]


def _expert(results: Results) -> Value | None:
    """The expert's episodes on the recording with gap 6."""
    known = recording(results, "weighing-gap6")
    return None if known is None else Count(*known["expert_success"])


STUDY = Study(
    NAME,
    "Weighing",
    "Four masses, nothing displayed: two bits are felt in a first lift and needed after a gap. The success of a policy "
    "that drives itself depends on how precisely it lifts.",
    inventory=(143,),
    blocks=(_BLOCK, "weigh.task", "weigh.precision", "weigh.hybrid", "weigh.longer_hold"),
    cells=CELLS,
    order=5,
)
FIGURES = (
    Figure(
        "the expert's successful episodes",
        "weigh.task",
        Count(figure("weigh.task", "expert_success.succeeded"), figure("weigh.task", "expert_success.of")),
        derived=_expert,
        better="higher",
    ),
    Figure(
        "task-informed from the first step: bits in the gap over the sufficient seeds",
        _BLOCK,
        range_of(_BLOCK, "from_step_0_gap_bits"),
        derived=rate_range(_START, "gap1"),
        within=0.1,
    ),
    *(
        Figure(
            f"hybrid rollout, gap {known['gap']}: side accuracy",
            "weigh.hybrid",
            value(known["side_accuracy_after"]),
            better="higher",
            lacks="hybrid rollouts of the sufficient runs",
        )
        for known in figure("weigh.hybrid", "rows")
    ),
    Figure(
        "action error in the weighing block, task-informed from the first step",
        "weigh.precision",
        value(figure("weigh.precision", "weighing_block_action_error.from_step_0")),
        better="lower",
        lacks="action errors by phase in the ledger",
    ),
)
