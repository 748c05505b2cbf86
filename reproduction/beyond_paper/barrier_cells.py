"""What the studies of the barrier train: the preset `carousel` with one ingredient left out, and where."""

from collections.abc import Sequence
from dataclasses import replace

from certify.zoo.registry import Parameter
from diacritic.studies.ledger import Row
from diacritic.studies.tasks import task
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.learner import learner
from diacritic.training.preset import Preset, preset
from reproduction.beyond_paper.benchmark_tasks import Place, facts, judged, zoo_place

LEARNER = "plain, followed"  # so that no other study takes these rows for its own
SEEDS, STEPS = 8, 3000
CAROUSEL, TEXTBOOK = preset("carousel"), preset("textbook")


def without(ingredient: str) -> Preset:
    """The preset `carousel` with the textbook's choice in place of one or more of its own, joined by `and`."""
    choices = {
        "carousel gradient": {"gradient": TEXTBOOK.gradient},
        "persistent start": {key: getattr(TEXTBOOK, key) for key in ("code_start", "code_scale", "residual_scale")},
        "restarts": {"restarts": TEXTBOOK.restarts, "restart_until": TEXTBOOK.restart_until},
        "rising β": {"pressure": TEXTBOOK.pressure},
        "clip": {"clip": TEXTBOOK.clip},
    }
    changed = {key: value for name in ingredient.split(" and ") for key, value in choices[name].items()}
    return replace(CAROUSEL, name=f"without {ingredient}", **changed)


INGREDIENTS = ("carousel gradient", "persistent start", "restarts", "rising β", "clip")


def chain(bits: int, delay: int) -> Place:
    return zoo_place(task("memory-chain", bits=bits, delay=delay))


def counter(name: str, horizon: int, **parameters: Parameter) -> Place:
    """Counting random events: a zoo instance that is asked at its last step."""
    return zoo_place(task(name, horizon=horizon, **parameters))


def plan_for(place: Place, chosen: Preset, steps: int, runs: Sequence[Run] = ()) -> Plan:
    """Plain imitation with the usual seeds, or with runs of their own."""
    given = tuple(runs) or tuple(Run(seed, place.beta) for seed in range(SEEDS))
    return Plan(replace(learner("plain"), name=LEARNER), chosen, given, steps)


def rows_now(study: str, place: Place, cohort: Cohort, seconds: float) -> list[Row]:
    """Every run of a cohort as it is now, judged exactly; one that diverged is not sufficient."""
    rows = facts(study, place, cohort.plan, cohort, seconds)
    for row, verdict in zip(rows, judged(place, cohort), strict=True):
        row |= verdict
        row["sufficient"] &= not row["diverged"]
    return rows
