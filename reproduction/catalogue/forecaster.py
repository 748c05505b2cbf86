"""How much the forecaster matters: recorded actions in its place, fewer labels, fewer steps, wrong forecasts."""

from diacritic.files.ledger import Row
from diacritic.studies.tasks import task
from reproduction.catalogue._declare import franka, from_paper, mean_of, reported
from reproduction.catalogue._figures import derived, study
from reproduction.derive import tally
from reproduction.paper import Paper
from reproduction.reference import figure
from reproduction.verdicts import SUCCESS_TOLERANCE, Count, value

NAME, _BLOCK = "forecaster", "forecaster_dependence"
_FAR = task("two-cues", gap=20)
# The paper counts these two groups on its independent recording: their figures do, and the cells are held against its
# closed loop.
_SHORT = {
    entry["forecaster_steps"]: franka(
        NAME,
        _FAR,
        "task-informed",
        Paper(_BLOCK, success=entry["closed_loop"]),
        forecaster=entry["forecaster_steps"],
    )
    for entry in figure(_BLOCK, "rows")
}
_WRONG = {
    entry["percent_episodes"]: franka(NAME, _FAR, "task-informed", misled=entry["percent_episodes"] / 100)
    for entry in figure(_BLOCK, "consistently_wrong")
}


def _fresh(row: Row) -> bool:
    """Whether the gate is passed on an independent recording."""
    return bool(row.get("fresh_sufficient")) and not row["diverged"]


STUDY = study(
    NAME,
    (
        franka(NAME, _FAR, "task-informed-recorded", reported(_BLOCK, figure(_BLOCK, "recorded_actions"))),
        *(
            franka(
                NAME,
                _FAR,
                f"task-informed-stride-{stride}",
                from_paper("label_density", {"gap1": "first_gap_bits"}, stride=stride),
            )
            for stride in (2, 4)
        ),
        franka(
            NAME,
            _FAR,
            "event-agnostic-all-recorded",
            reported(_BLOCK, figure(_BLOCK, "all_offset_recorded_actions")),
        ),
        *_SHORT.values(),
        *_WRONG.values(),
    ),
    more=(
        *(
            derived(
                f"forecaster of {entry['forecaster_steps']} steps: sufficient runs on fresh episodes",
                _BLOCK,
                Count(entry["sufficient"], entry["of"]),
                tally([_SHORT[entry["forecaster_steps"]]], _fresh),
                better="higher",
            )
            for entry in figure(_BLOCK, "rows")
        ),
        *(
            derived(
                f"{entry['percent_episodes']} % of the forecasts consistently wrong: sufficient runs on fresh episodes",
                _BLOCK,
                Count(entry["sufficient"], entry["of"]),
                tally([_WRONG[entry["percent_episodes"]]], _fresh),
                better="higher",
            )
            for entry in figure(_BLOCK, "consistently_wrong")
        ),
        *(
            derived(
                f"{entry['percent_episodes']} % of the forecasts consistently wrong: slot accuracy in closed loop",
                _BLOCK,
                value(entry["slot_accuracy"]),
                mean_of([_WRONG[entry["percent_episodes"]]], lambda row: row.get("slot")),
                SUCCESS_TOLERANCE,
                "higher",
            )
            for entry in figure(_BLOCK, "consistently_wrong")
        ),
    ),
)
