"""How much the forecaster matters: recorded actions in its place, fewer labels, fewer steps, wrong forecasts."""

from diacritic.studies.catalogue._declare import found, franka, reported
from diacritic.studies.cell import Study
from diacritic.studies.figure import Figure
from diacritic.studies.reference import figure
from diacritic.studies.tasks import task
from diacritic.studies.verdicts import Count

NAME, _BLOCK = "forecaster", "forecaster_dependence"
_FAR = task("two-cues", gap=20)

STUDY = Study(
    NAME,
    "Dependence on the forecaster",
    "Two cues at gap 20, task-informed: what the student is given instead of a good forecast at every step.",
    inventory=(133,),
    blocks=(_BLOCK, "label_density"),
    cells=(
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
    ),
    order=4,
)
FIGURES = (
    *(
        Figure(
            f"forecaster of {known['forecaster_steps']} steps: sufficient runs",
            _BLOCK,
            Count(known["sufficient"], known["of"]),
            better="higher",
            lacks="a cell that sets the forecaster's steps",
        )
        for known in figure(_BLOCK, "rows")
    ),
    *(
        Figure(
            f"{known['percent_episodes']} % of the forecasts consistently wrong: sufficient runs",
            _BLOCK,
            Count(known["sufficient"], known["of"]),
            better="higher",
            lacks="a cell that misleads a share of the forecasts",
        )
        for known in figure(_BLOCK, "consistently_wrong")
    ),
)
