"""Surplus in the second gap: what the code keeps beyond the pending class, and what the jitter of the object adds."""

from statistics import mean

from diacritic.measure.content import Question
from diacritic.studies.cell import Cell
from diacritic.studies.results import Results
from diacritic.studies.tasks import task
from reproduction.catalogue._declare import GAPS, franka, reported
from reproduction.catalogue._figures import derived, study
from reproduction.catalogue._run_figures import decomposition
from reproduction.derive import Derived, most_information, spread
from reproduction.figure import Figure
from reproduction.reference import figure, row
from reproduction.verdicts import Range, Value, value

NAME = "surplus"
_FAR, _FIXED = task("two-cues", gap=20), task("two-cues", gap=20, jitter=0.0)
_KEPT = franka(
    NAME, _FAR, "event-agnostic-kept", reported("jitter_intervention", figure("jitter_intervention", "with_jitter"))
)
STILL = franka(
    NAME,
    _FIXED,
    "event-agnostic-kept",
    reported("jitter_intervention", figure("jitter_intervention", "no_jitter"), GAPS),
)
ANNEALED, _INFORMED = franka(NAME, _FAR, "event-agnostic"), franka(NAME, _FAR, "task-informed")


def surplus(cell: Cell) -> Derived:
    """Mean Ĥ(C_t|Γ_t, Ō_t) in the second gap over the sufficient seeds."""

    def derive(results: Results) -> Value | None:
        rows = results.complete(cell)
        bits = [row["conditional_surplus"]["gap2"] for row in rows if row["sufficient"]]
        return spread([mean(bits)] if bits else [], rows)

    return derive


def _difference(results: Results) -> Value | None:
    pair = surplus(_KEPT)(results), surplus(STILL)(results)
    return value(pair[0].low - pair[1].low) if isinstance(pair[0], Range) and isinstance(pair[1], Range) else None


def _state(name: str, learner: str, cell: Cell) -> Figure:
    entry = row("surplus", learner=learner, **({} if learner == "task-informed" else {"input": "state"}))
    paper = value(entry["surplus_bits"])
    return derived(f"{name}: surplus bits in the second gap", "surplus", paper, surplus(cell), 0.1, "lower")


def _midpoint(results: Results) -> Value | None:
    """Mean bits beyond the requirement at one step, over the sufficient seeds."""
    rows, t = results.complete(_KEPT), figure("surplus", "midpoint_step")
    bits = [run["profile"][t] - run["required_profile"][t] for run in rows if run["sufficient"]]
    return spread([mean(bits)] if bits else [], rows)


def _about(cell: Cell, hidden: str, given: str) -> Derived:
    return most_information([cell], Question(hidden, (given,)).title, "gap2")


STUDY = study(
    NAME,
    (_KEPT, STILL, ANNEALED, _INFORMED),
    {
        "never annealed: surplus bits at the midpoint of the second gap": _midpoint,
        "annealed: bits on the quartile of x": _about(ANNEALED, "x quartile", "slot"),
        "annealed: most bits on the expired class": _about(ANNEALED, "side", "slot"),
        "annealed: bits on the pending class": _about(ANNEALED, "slot", "side"),
        "never annealed: bits on the quartile of x": _about(_KEPT, "x quartile", "slot"),
        "without jitter: surplus bits in the second gap": surplus(STILL),
        "surplus bits that the jitter explains": _difference,
    },
    (
        _state("never annealed", "event-agnostic not annealed", _KEPT),
        _state("annealed", "event-agnostic annealed", ANNEALED),
        _state("task-informed", "task-informed", _INFORMED),
        *decomposition(_KEPT, ANNEALED),
    ),
)
