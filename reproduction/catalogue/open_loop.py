"""Open-loop targets: the whole future from the code alone, which asks for more than the policy needs."""

from diacritic.studies.cell import Cell
from diacritic.studies.tasks import task
from reproduction.catalogue._declare import franka, reported
from reproduction.catalogue._figures import study
from reproduction.derive import most_information, rate_range, success_range
from reproduction.reference import figure, row

NAME, _BLOCK = "open-loop", "open_loop_targets"
_TOY = {"plain+bfs": "plain+BFS", "open-loop": "action-only", "open-loop-world": "observation-and-action"}
_RATES = {"first gap": "first_gap_bits", "second gap": "after_use_bits"}
TOYS = tuple(
    Cell(
        NAME,
        task("re-reveal", gap2=6),
        learner,
        "carousel",
        "full",
        0.03,
        6000,
        reported(_BLOCK, row(_BLOCK, "rereveal_toy", learner=said), _RATES),
    )
    for learner, said in _TOY.items()
)
_CORRIDOR = {
    learner: Cell(NAME, task("signpost-corridor", M=16, W=5, hall1=3, hall2=6), learner, "carousel", "full", 0.01, 6000)
    for learner in ("open-loop", "open-loop-world")
}
MASS = tuple(
    franka(NAME, task("hidden-mass", modes=modes), "open-loop", reported(_BLOCK, figure(_BLOCK, "task_a")))
    for modes in (4, 32)
)
_CUES = franka(
    NAME,
    task("two-cues", gap=6),
    "open-loop",
    reported(_BLOCK, figure(_BLOCK, "aprime"), {"gap2": "after_use_bits"}),
)


STUDY = study(
    NAME,
    (*TOYS, *_CORRIDOR.values(), *MASS, _CUES),
    {
        "corridor W=5, actions alone: most bits on the drift": most_information([_CORRIDOR["open-loop"]], "drift"),
        "corridor W=5, observations too: most bits on the drift": most_information(
            [_CORRIDOR["open-loop-world"]], "drift"
        ),
        "hidden mass: bits during the grasp": rate_range(MASS, "grasp", over_all=True),
        "robot tasks: closed loop": success_range([*MASS, _CUES]),
    },
)
