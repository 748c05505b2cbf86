"""Weighing: nothing is displayed; the arm must lift the object, feel its mass and remember it."""

from collections.abc import Iterator

from diacritic.files.ledger import Row
from diacritic.studies.cell import Cell
from diacritic.studies.recordings import DEMONSTRATIONS
from diacritic.studies.results import Results
from diacritic.studies.tasks import task
from reproduction.catalogue._declare import ERROR_TOLERANCE, franka, imitation_error, mean_of, reported
from reproduction.catalogue._figures import derived, study
from reproduction.catalogue.requirements import recording
from reproduction.derive import Derived, rate_range
from reproduction.reference import block, figure
from reproduction.verdicts import SUCCESS_TOLERANCE, Count, Range, Value, value

NAME, _BLOCK = "weighing", "table.weigh"
_LEARNERS = {
    "plain": ("plain", "carousel"),
    "task-informed": ("task-informed", "carousel"),
    "task-informed from step 0": ("task-informed-start", "carousel"),
    "event-agnostic not annealed": ("event-agnostic-kept", "carousel"),
    "system-id": ("sysid", "carousel"),
    "gru-bypass": ("bypass", "release"),
    "full-history": ("full-history", "release"),
}


def _cells() -> Iterator[Cell]:
    for entry in block(_BLOCK)["rows"]:
        learner, preset = _LEARNERS[entry["learner"]]
        yield franka(NAME, task("weighing", gap=entry["gap"]), learner, reported(_BLOCK, entry), preset=preset)
    for gap in (6, 20):
        yield franka(NAME, task("weighing", gap=gap), "plain", preset="release")
        annealed = reported(_BLOCK, figure(_BLOCK, "event_agnostic_annealed"))
        yield franka(NAME, task("weighing", gap=gap), "event-agnostic", annealed)
    for entry in figure(_BLOCK, "from_step_0_N896"):
        instance = task("weighing", gap=entry["gap"])
        yield franka(NAME, instance, "task-informed-start", reported(_BLOCK, entry), demonstrations=entry["N"])
    hold = task("weighing", gap=6, hold=figure("weigh.longer_hold", "hold_steps"))
    for learner, key in (("plain", "plain"), ("task-informed-start", "from_step_0")):
        yield franka(NAME, hold, learner, reported("weigh.longer_hold", figure("weigh.longer_hold", key)))


CELLS = tuple(_cells())
_START = [cell for cell in CELLS if cell.learner == "task-informed-start" and cell.task.name == NAME]


_USUAL = {gap: task("weighing", gap=gap) for gap in (6, 20)}


def _of(learner: str, *gaps: int) -> list[Cell]:
    """The cells of a learner of the table at these gaps, in the frozen settings."""
    name, preset = _LEARNERS[learner]
    tasks = [_USUAL[gap] for gap in gaps]
    cells = [cell for cell in CELLS if cell.task in tasks and (cell.learner, cell.preset) == (name, preset)]
    return [cell for cell in cells if cell.demonstrations == DEMONSTRATIONS]


def hybrid(gap: int, key: str) -> Derived:
    """Mean outcome of the sufficient policies from the first step when the expert weighs for them."""

    def told(row: Row) -> float | None:
        return row["hybrid"][key] if row["sufficient"] and row.get("hybrid") else None

    return mean_of(_of("task-informed from step 0", gap), told)


def _weighing_error(learner: str) -> Derived:
    """The stretch of a learner's squared action errors inside the weighing block, over both gaps."""

    def derive(results: Results) -> Value | None:
        each = [mean_of([cell], imitation_error("scan"))(results) for cell in _of(learner, *_USUAL)]
        errors = [one.low for one in each if isinstance(one, Range)]
        return Range(min(errors), max(errors)) if len(errors) == len(_USUAL) else None

    return derive


def _expert(results: Results) -> Value | None:
    """The expert's episodes on the recording with gap 6."""
    recorded = recording(results, "weighing-gap6")
    return None if recorded is None else Count(*recorded["expert_success"])


STUDY = study(
    NAME,
    CELLS,
    {
        "the expert's successful episodes": _expert,
        "task-informed from the first step: bits in the gap over the sufficient seeds": rate_range(_START, "gap1"),
    },
    (
        *(
            derived(
                f"hybrid rollout of the sufficient runs, gap {entry['gap']}: {title}",
                "weigh.hybrid",
                value(entry[paper]),
                hybrid(entry["gap"], ours),
                SUCCESS_TOLERANCE,
                "higher",
            )
            for entry in figure("weigh.hybrid", "rows")
            for title, ours, paper in (
                ("side accuracy", "side", "side_accuracy_after"),
                ("success", "success", "closed_loop_after"),
            )
        ),
        *(
            derived(
                f"squared action error in the weighing block, {learner}",
                "weigh.precision",
                f"weighing_block_action_error.{key}",
                _weighing_error(learner),
                ERROR_TOLERANCE,
                "lower",
            )
            for learner, key in (
                ("task-informed from step 0", "from_step_0"),
                ("system-id", "system_id"),
                ("plain", "plain"),
                ("full-history", "full_history"),
            )
        ),
    ),
)
