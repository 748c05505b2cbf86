"""Open-loop targets: the whole future from the code alone, which asks for more than the policy needs."""

from collections.abc import Mapping

from diacritic.studies.cell import Cell
from diacritic.studies.tasks import Task, task
from reproduction.catalogue._declare import franka, reported
from reproduction.catalogue._figures import derived, study
from reproduction.derive import most_information, rate_range, success_range
from reproduction.paper import RELEASED, Paper, as_released
from reproduction.reference import figure, row

NAME, _BLOCK = "open-loop", "open_loop_targets"
_TOY = {"plain+bfs": "plain+BFS", "open-loop": "action-only", "open-loop-world": "observation-and-action"}
_RATES = {"first gap": "first_gap_bits", "second gap": "after_use_bits"}


def _symbolic(ours: Task, learners: Mapping[str, Paper | None], beta: float) -> dict[str, dict[str, Cell]]:
    """Cells by preset and learner, in our form of the task and in the authors'."""
    released = as_released(ours)
    forms = {"carousel": ours, RELEASED[released.name]: released}
    return {
        preset.partition("-")[0]: {
            learner: Cell(NAME, instance, learner, preset, "full", beta, 6000, paper)
            for learner, paper in learners.items()
        }
        for preset, instance in forms.items()
    }


TOYS = _symbolic(
    task("re-reveal", gap2=6),
    {learner: reported(_BLOCK, row(_BLOCK, "rereveal_toy", learner=said), _RATES) for learner, said in _TOY.items()},
    0.03,
)
_CORRIDOR = _symbolic(
    task("signpost-corridor", M=16, W=5, hall1=3, hall2=6), dict.fromkeys(("open-loop", "open-loop-world")), 0.01
)
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
_CELLS = (*(cell for kind in (TOYS, _CORRIDOR) for cells in kind.values() for cell in cells.values()), *MASS, _CUES)
_DRIFT = {
    "actions alone": ("open-loop", "action_only"),
    "observations too": ("open-loop-world", "observation_predictive"),
}


STUDY = study(
    NAME,
    _CELLS,
    {
        "hidden mass: bits during the grasp": rate_range(MASS, "grasp", over_all=True),
        "robot tasks: closed loop": success_range([*MASS, _CUES]),
    },
    [
        derived(
            f"{preset}, corridor W=5, {said}: most bits on the drift",
            _BLOCK,
            f"corridor_W5_drift_bits.{key}",
            most_information([cells[learner]], "drift"),
            0.1,
        )
        for preset, cells in _CORRIDOR.items()
        for said, (learner, key) in _DRIFT.items()
    ],
)
