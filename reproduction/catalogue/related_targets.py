"""What related targets ask a code to carry, each in its fixed-demonstrator form, from the runs of the other studies."""

from reproduction.catalogue import hidden_mass, learning_targets, open_loop, signpost_corridor
from reproduction.catalogue._figures import derived, study
from reproduction.derive import most_information, rate_range
from reproduction.reference import row
from reproduction.verdicts import value

_BLOCK = "table.targets"
_INVERSE = [c for c in signpost_corridor.CELLS if c.learner.startswith("inverse-only") and c.codes == 16]
_DRIFTING = [c for c in _INVERSE if "W" in dict(c.task.parameters)]
_CUES = [c for c in learning_targets.of("task-informed") if c.task.name == "two-cues"]
_TOY = {cell.learner: [cell] for cell in open_loop.TOYS}


STUDY = study(
    "related-targets",
    (),
    {
        "predicting observations, re-reveal toy: bits in the first gap": rate_range(
            _TOY["open-loop-world"], "first gap"
        ),
        "open-loop actions, re-reveal toy: bits in the first gap": rate_range(_TOY["open-loop"], "first gap"),
        "inverse model, corridor: most bits on the drift": most_information(_DRIFTING, "drift"),
        "identification, hidden mass: bits during the grasp": rate_range(hidden_mass.widest(), "grasp", over_all=True),
        "identification, hidden mass: slope in log₂ M": hidden_mass.slope,
    },
    (
        derived(
            "recurrent classes, two cues: bits in the first gap",
            _BLOCK,
            value(row(_BLOCK, target="this paper")["aprime_bits"][0]),
            rate_range(_CUES, "gap1"),
            0.1,
        ),
    ),
)
