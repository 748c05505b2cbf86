"""How much the forecaster matters: recorded actions in its place, fewer labels, fewer steps, wrong forecasts."""

from diacritic.files.ledger import Row
from diacritic.studies.tasks import task
from reproduction.catalogue._declare import found, franka, mean_of, reported
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
    known["forecaster_steps"]: franka(
        NAME,
        _FAR,
        "task-informed",
        Paper(_BLOCK, success=known["closed_loop"]),
        forecaster=known["forecaster_steps"],
    )
    for known in figure(_BLOCK, "rows")
}
_WRONG = {
    known["percent_episodes"]: franka(NAME, _FAR, "task-informed", misled=known["percent_episodes"] / 100)
    for known in figure(_BLOCK, "consistently_wrong")
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
                found("label_density", {"gap1": "first_gap_bits"}, stride=stride),
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
                f"forecaster of {known['forecaster_steps']} steps: sufficient runs on fresh episodes",
                _BLOCK,
                Count(known["sufficient"], known["of"]),
                tally([_SHORT[known["forecaster_steps"]]], _fresh),
                better="higher",
            )
            for known in figure(_BLOCK, "rows")
        ),
        *(
            derived(
                f"{known['percent_episodes']} % of the forecasts consistently wrong: sufficient runs on fresh episodes",
                _BLOCK,
                Count(known["sufficient"], known["of"]),
                tally([_WRONG[known["percent_episodes"]]], _fresh),
                better="higher",
            )
            for known in figure(_BLOCK, "consistently_wrong")
        ),
        *(
            derived(
                f"{known['percent_episodes']} % of the forecasts consistently wrong: slot accuracy in closed loop",
                _BLOCK,
                value(known["slot_accuracy"]),
                mean_of([_WRONG[known["percent_episodes"]]], lambda row: row.get("slot")),
                SUCCESS_TOLERANCE,
                "higher",
            )
            for known in figure(_BLOCK, "consistently_wrong")
        ),
    ),
)
