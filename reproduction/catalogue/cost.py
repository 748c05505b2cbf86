"""What a step and a training run cost: latency of one step, state that is carried, seconds of training."""

import time
from functools import partial
from statistics import mean, median
from typing import TYPE_CHECKING

from diacritic.studies.results import Results
from reproduction.catalogue import learning_targets
from reproduction.catalogue._figures import derived, measured, study
from reproduction.derive import gathered
from reproduction.reference import figure, row
from reproduction.verdicts import Range, Value, value

if TYPE_CHECKING:
    from diacritic.training.cohort import Cohort

_BLOCK = "table.cost"
_LEARNERS = {"transformer": "full-history", "gru": "gru-128", "diacritic": "plain"}
_TIMED, _WARM = figure(_BLOCK, "timed_steps"), figure(_BLOCK, "warmup_steps")
_OBSERVATION, _ACTION = 27, 4


def _cohort(learner_name: str, horizon: int, seeds: int = 1) -> "Cohort":
    import torch

    from diacritic.training.cohort import Cohort, Plan, Run
    from diacritic.training.data import from_arrays
    from diacritic.training.learner import learner
    from diacritic.training.preset import preset

    draw = torch.Generator().manual_seed(0)
    data = from_arrays(
        torch.randn(horizon, 2, _OBSERVATION, generator=draw), torch.randn(horizon, 2, _ACTION, generator=draw)
    )
    plan = Plan(learner(learner_name), preset("release"), tuple(Run(seed, 0.0) for seed in range(seeds)), 1)
    return Cohort(plan, data, "cpu")


def milliseconds(learner_name: str, horizon: int) -> Value:
    """Median time of one step at the end of an episode of so many steps; one core, one episode."""
    import numpy as np
    import torch

    from diacritic.memory.scale import Scale
    from diacritic.rollout.policies import Policies

    cohort, before = _cohort(learner_name, horizon), torch.get_num_threads()
    torch.set_num_threads(1)
    zeros, ones = (make(size) for make, size in ((torch.zeros, _OBSERVATION), (torch.ones, _OBSERVATION)))
    scale = Scale(zeros, ones, torch.zeros(_ACTION), torch.ones(_ACTION))
    player = Policies(cohort.parameters, cohort.plan.carrier, scale)
    seen, acted = np.zeros((1, 1, _OBSERVATION), np.float32), np.zeros((1, 1, _ACTION), np.float32)
    taken: list[float] = []
    last = min(_WARM, horizon // 2)  # the steps of an episode that are timed
    while len(taken) < _WARM + _TIMED:
        player.begin(1)
        for t in range(horizon):
            begun = time.perf_counter()
            player.step(seen, acted)
            taken += [time.perf_counter() - begun] if t >= horizon - last else []
    torch.set_num_threads(before)
    return Range(*[1000 * median(taken[_WARM:])] * 2)


def _millions() -> Value:
    """Parameters of a plain carrier of the robot tasks."""
    return value(sum(weight[0].numel() for weight in _cohort("plain", 33).parameters.values()) / 1e6)


def _seconds(results: Results) -> Value | None:
    """Mean seconds of a run of the table of learning targets, where it ran."""
    rows = gathered(results, learning_targets.of("event-agnostic"))
    return value(mean(line["seconds"] for line in rows)) if rows else None


def _minutes(results: Results) -> Value | None:
    found = _seconds(results)
    return Range(found.low / 60, found.high / 60) if isinstance(found, Range) else None


STUDY = study(
    "cost",
    (),
    more=(
        *(
            measured(
                f"{ours}, T={horizon}: milliseconds of a step, one core",
                _BLOCK,
                value(figure(_BLOCK, f"cpu_ms.{said}")[k]),
                partial(milliseconds, ours, horizon),
                0.5 * figure(_BLOCK, f"cpu_ms.{said}")[k],
                "lower",
            )
            for said, ours in _LEARNERS.items()
            for k, horizon in enumerate(figure(_BLOCK, "T"))
            if said == "transformer" or horizon == 33  # the others do not grow with the episode
        ),
        measured(
            "compact student: millions of parameters",
            "table.traincost",
            value(row("table.traincost", item="compact student 10000 steps")["parameters_millions"]),
            _millions,
            0.03,
        ),
        derived(
            "compact student: seconds of training",
            "table.traincost",
            value(row("table.traincost", item="compact student 10000 steps")["training_s"]),
            _seconds,
            better="lower",
        ),
        derived(
            "a run of ten thousand steps: minutes",
            "compute",
            Range(*map(float, figure("compute", "run_10k_minutes"))),
            _minutes,
            better="lower",
        ),
    ),
)
