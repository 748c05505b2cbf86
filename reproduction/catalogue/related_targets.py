"""What related targets ask a code to carry, each in its fixed-demonstrator form, from the runs of the other studies."""

from reproduction.catalogue import hidden_mass, learning_targets, open_loop, signpost_corridor
from reproduction.derive import most_information, rate_range
from reproduction.figure import Figure
from reproduction.paper import PaperStudy
from reproduction.reference import row
from reproduction.verdicts import Range, value

_BLOCK = "table.targets"
_INVERSE = [c for c in signpost_corridor.CELLS if c.learner.startswith("inverse-only") and c.codes == 16]
_DRIFTING = [c for c in _INVERSE if "W" in dict(c.task.parameters)]
_CUES = [c for c in learning_targets.CELLS if c.learner == "task-informed" and c.task.name == "two-cues"]
_TOY = {cell.learner: [cell] for cell in open_loop.TOYS}

STUDY = PaperStudy(
    "related-targets",
    "Related targets",
    "Observation prediction, inverse models, open-loop futures and identification beside the requirement.",
    inventory=(145,),
    blocks=(_BLOCK,),
    order=4,
)
FIGURES = (
    Figure(
        "predicting observations, re-reveal toy: bits in the first gap",
        _BLOCK,
        value(row(_BLOCK, target="observation-predictive")["rereveal_toy_bits"]),
        derived=rate_range(_TOY["open-loop-world"], "first gap"),
        within=0.1,
    ),
    Figure(
        "open-loop actions, re-reveal toy: bits in the first gap",
        _BLOCK,
        value(row(_BLOCK, target="open-loop future action")["rereveal_toy_bits"]),
        derived=rate_range(_TOY["open-loop"], "first gap"),
        within=0.1,
    ),
    Figure(
        "inverse model, corridor: most bits on the drift",
        _BLOCK,
        Range(*row(_BLOCK, target="multi-step inverse")["corridor_drift_bits"]),
        derived=most_information(_DRIFTING, "drift"),
        within=0.1,
    ),
    Figure(
        "identification, hidden mass: bits during the grasp",
        _BLOCK,
        Range(*row(_BLOCK, target="system identification")["task_a_bits"]),
        derived=rate_range(hidden_mass.widest(), "grasp", over_all=True),
        within=0.1,
    ),
    Figure(
        "identification, hidden mass: slope in log₂ M",
        _BLOCK,
        value(row(_BLOCK, target="system identification")["slope_per_log2M"]),
        derived=hidden_mass.slope,
        within=0.1,
    ),
    Figure(
        "recurrent classes, two cues: bits in the first gap",
        _BLOCK,
        value(row(_BLOCK, target="this paper")["aprime_bits"][0]),
        derived=rate_range(_CUES, "gap1"),
        within=0.1,
    ),
)
