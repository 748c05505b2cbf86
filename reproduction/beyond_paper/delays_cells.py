"""What the measurements of long delays train: the preset `carousel` with one ingredient left out, and where."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from certify.zoo.registry import Parameter
from diacritic.files.ledger import Row
from diacritic.studies.tasks import task
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.learner import learner
from diacritic.training.preset import Preset, preset
from reproduction.beyond_paper.benchmark_tasks import BenchmarkTask, facts, judged, zoo_task

LEARNER = "plain, followed"  # so that no other study takes these rows for its own
SEEDS, STEPS = 8, 3000
CAROUSEL, RELEASE = preset("carousel"), preset("release-external")


def without(ingredient: str) -> Preset:
    """The preset `carousel` with the usual choice in place of one or more of its own, joined by `and`."""
    choices: dict[str, dict[str, Any]] = {
        "carousel gradient": {"gradient": "full"},
        "persistent start": {"code_start": "uniform", "code_scale": 1 / 16, "residual_scale": 1.0},
        "restarts": {"restarts": 0, "restart_until": 0.0},
        "rising β": {"pressure": (0.0, 0.0)},
        "clip": {"clip": None},
    }
    changed = {key: value for name in ingredient.split(" and ") for key, value in choices[name].items()}
    return replace(CAROUSEL, name=f"without {ingredient}", **changed)


def release_without(ingredient: str) -> Preset:
    """The authors' settings for third-party environments with one of their choices left out."""
    choices: dict[str, dict[str, Any]] = {
        "restarts": {"restarts": 0, "restart_until": 0.0},
        "warm-up": {"pressure_updates": 0, "pressure": (0.0, 0.0)},
        "clip": {"clip": None},
        "full gradient": {"gradient": "carousel"},
    }
    return replace(RELEASE, name=f"{RELEASE.name} without {ingredient}", **choices[ingredient])


def towards_carousel() -> list[Preset]:
    """The same settings, and then with one choice of `carousel` after the other in place of theirs."""
    choices: dict[str, dict[str, Any]] = {
        "carousel gradient": {"gradient": CAROUSEL.gradient},
        "no sphere": {"changes": tuple({**dict(RELEASE.changes), "bound": "none"}.items())},
        "persistent start": {"code_scale": CAROUSEL.code_scale, "residual_scale": CAROUSEL.residual_scale},
        "learning rate": {"rate": CAROUSEL.rate},
        "restarts": {key: getattr(CAROUSEL, key) for key in ("restarts", "restart_until", "restart_from")},
    }
    presets, changed = [RELEASE], dict[str, Any]()
    for number, (name, choice) in enumerate(choices.items(), 1):
        changed |= choice
        presets.append(replace(RELEASE, name=f"{RELEASE.name} {number}: {name}", **changed))
    return presets


RELEASE_INGREDIENTS = ("full gradient", "restarts", "warm-up", "clip")
"""Without the full gradient is with the carousel's."""
INGREDIENTS = ("carousel gradient", "persistent start", "restarts", "rising β", "clip")


def chain(bits: int, delay: int) -> BenchmarkTask:
    return zoo_task(task("memory-chain", bits=bits, delay=delay))


def counter(name: str, horizon: int, **parameters: Parameter) -> BenchmarkTask:
    """Counting random events: a zoo instance that is asked at its last step."""
    return zoo_task(task(name, horizon=horizon, **parameters))


def plan_for(bench: BenchmarkTask, chosen: Preset, steps: int, runs: Sequence[Run] = ()) -> Plan:
    """Plain imitation with the usual seeds, or with runs of their own."""
    given = tuple(runs) or tuple(Run(seed, bench.beta) for seed in range(SEEDS))
    return Plan(replace(learner("plain"), name=LEARNER), chosen, given, steps)


def rows_now(study: str, bench: BenchmarkTask, cohort: Cohort, seconds: float) -> list[Row]:
    """Every run of a cohort as it is now, judged exactly; one that diverged is not sufficient."""
    rows = facts(study, bench, cohort.plan, cohort, seconds)
    for row, verdict in zip(rows, judged(bench, cohort), strict=True):
        row |= verdict
        row["sufficient"] &= not row["diverged"]
    return rows
