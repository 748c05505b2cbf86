"""What related targets ask a code to carry, each in its fixed-demonstrator form, from the runs of the other studies."""

from collections.abc import Iterator

from diacritic.studies.cell import Cell
from reproduction.catalogue import hidden_mass, learning_targets, open_loop, signpost_corridor
from reproduction.catalogue._figures import derived, said, study
from reproduction.derive import most_information, rate_range
from reproduction.figure import Figure
from reproduction.reference import row
from reproduction.verdicts import value

_BLOCK = "table.targets"
_CUES = [c for c in learning_targets.of("task-informed") if c.task.name == "two-cues"]


def _inverse(preset: str) -> list[Cell]:
    """Inverse models alone, where the corridor drifts."""
    cells = [c for c in signpost_corridor.CELLS if c.learner.startswith("inverse-only") and c.codes == 16]
    return [c for c in cells if c.preset.startswith(preset) and "W" in dict(c.task.parameters)]


def _symbolic() -> Iterator[Figure]:
    toy, bits, drift = "re-reveal toy: bits in the first gap", "rereveal_toy_bits", "corridor_drift_bits"
    for preset, toys in open_loop.TOYS.items():
        future, world = (rate_range([toys[learner]], "first gap") for learner in ("open-loop", "open-loop-world"))
        inverse = most_information(_inverse(preset), "drift")
        for title, target, key, ours in (
            (f"predicting observations, {toy}", "observation-predictive", bits, world),
            (f"open-loop actions, {toy}", "open-loop future action", bits, future),
            ("inverse model, corridor: most bits on the drift", "multi-step inverse", drift, inverse),
        ):
            yield derived(f"{preset}, {title}", _BLOCK, said(row(_BLOCK, target=target)[key]), ours, 0.1)


STUDY = study(
    "related-targets",
    (),
    {
        "identification, hidden mass: bits during the grasp": rate_range(hidden_mass.widest(), "grasp", over_all=True),
        "identification, hidden mass: slope in log₂ M": hidden_mass.slope,
    },
    (
        *_symbolic(),
        derived(
            "recurrent classes, two cues: bits in the first gap",
            _BLOCK,
            value(row(_BLOCK, target="this paper")["aprime_bits"][0]),
            rate_range(_CUES, "gap1"),
            0.1,
        ),
    ),
)
