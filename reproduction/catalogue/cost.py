"""What a step and a training run cost: latency of one step, state that is carried, seconds of training."""

import time
from collections.abc import Callable
from functools import partial
from statistics import mean, median

from diacritic.files.ledger import Row
from diacritic.memory.shape import Architecture
from diacritic.studies.results import Results
from reproduction import latency
from reproduction.catalogue import learning_targets
from reproduction.catalogue._figures import measured, study
from reproduction.derive import Derived, declared, gathered
from reproduction.latency import ACTION, BLOCK, LEARNERS, OBSERVATION, untrained
from reproduction.reference import figure
from reproduction.verdicts import Range, Value, value

_TIMED, _WARM = latency.TIMED, latency.WARM


def milliseconds(learner_name: str, horizon: int) -> Value:
    """Median time of one step at the end of an episode of so many steps; one core, one episode."""
    import numpy as np
    import torch

    from diacritic.memory.scale import Scale
    from diacritic.rollout.policies import Policies

    cohort, before = untrained(learner_name, horizon), torch.get_num_threads()
    torch.set_num_threads(1)
    zeros, ones = (make(size) for make, size in ((torch.zeros, OBSERVATION), (torch.ones, OBSERVATION)))
    scale = Scale(zeros, ones, torch.zeros(ACTION), torch.ones(ACTION))
    player = Policies(cohort.parameters, cohort.plan.carrier, scale)
    seen, acted = np.zeros((1, 1, OBSERVATION), np.float32), np.zeros((1, 1, ACTION), np.float32)
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


def _on_gpu(learner_name: str, horizon: int) -> Value | None:
    """Median time of one step of 64 episodes; a Transformer encodes its history again, as the paper's does."""
    took = latency.on_gpu(learner_name, horizon)
    return None if took is None else value(took)


def _millions(learner_name: str) -> Value:
    """Parameters of a policy of the robot tasks."""
    return value(sum(weight[0].numel() for weight in untrained(learner_name, 33).parameters.values()) / 1e6)


def _carried() -> Value:
    """The vector of a code in single precision, and the byte that names it."""
    return value(4 * Architecture().code_size + 1)


def _history() -> Value:
    """Two encoded vectors for every earlier step, in single precision."""
    return value([4 * 2 * Architecture().code_size * (horizon - 1) / 1000 for horizon in (33, 1024)])


def _mean(told: Callable[[Row], float]) -> Derived:
    """Over the runs of the event-agnostic learner in the table of learning targets."""

    def derive(results: Results) -> Value | None:
        rows = gathered(results, learning_targets.of("event-agnostic"))
        return value(mean(map(told, rows))) if rows else None

    return derive


def _hours(results: Results) -> Value | None:
    """Training of every declared run that was made on a GPU."""
    seconds = [
        row["seconds"] + (row.get("forecaster_seconds") or 0) for row in declared(results) if row["device"] != "cpu"
    ]
    return value(sum(seconds) / 3600) if seconds else None


STUDY = study(
    "cost",
    (),
    {
        "compact student: millions of parameters": partial(_millions, "plain"),
        "full history: millions of parameters": partial(_millions, "full-history"),
        "code and its vector: bytes that are carried": _carried,
        "full history at T=33 and 1024: kilobytes that are carried": _history,
        "compact student: seconds of training": _mean(lambda row: row["seconds"]),
        "forecaster: seconds of training": _mean(lambda row: row["forecaster_seconds"]),
        "forecaster: its share of the training, per cent": _mean(
            lambda row: 100 * row["forecaster_seconds"] / row["seconds"]
        ),
        "a run of ten thousand steps: minutes": _mean(lambda row: row["seconds"] / 60),
        "closed loop of 128 episodes: seconds": _mean(lambda row: row["rollout_seconds"]),
        "all training: GPU hours": _hours,
    },
    (
        *(
            measured(
                f"{ours}, T={horizon}: milliseconds of a step, one core",
                BLOCK,
                value(figure(BLOCK, f"cpu_ms.{said}")[k]),
                partial(milliseconds, ours, horizon),
                0.5 * figure(BLOCK, f"cpu_ms.{said}")[k],
                "lower",
            )
            for said, ours in LEARNERS.items()
            for k, horizon in enumerate(figure(BLOCK, "T"))
            if said == "transformer" or horizon == 33  # the others do not grow with the episode
        ),
        *(
            measured(
                latency.title(ours, horizon),
                BLOCK,
                value(figure(BLOCK, f"gpu_ms.{said}")[k]),
                partial(_on_gpu, ours, horizon),
                0.5 * figure(BLOCK, f"gpu_ms.{said}")[k],
                "lower",
            )
            for said, ours in (*LEARNERS.items(), ("transformer", latency.CACHED))
            for k, horizon in enumerate(figure(BLOCK, "T"))
        ),
    ),
)
