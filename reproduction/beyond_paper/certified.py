"""The certified learner over the horizon: memory chain of two bits at delays 10 to 10,000, and tasks of the zoo.

`python -m reproduction beyond-paper certified` adds to certified-learner.jsonl: sufficiency,
rates, the codes used beside the certified fewest, and the seconds of labelling and of teaching.
"""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from certify import Model
from diacritic.files.ledger import Row, merge_ledger
from diacritic.memory.certified_codes import certified_labels
from diacritic.studies.tasks import task
from diacritic.training.certified import CERTIFIED, train_certified
from diacritic.training.cohort import Plan, Run
from diacritic.training.fit_transition import Effort
from diacritic.training.preset import preset
from diacritic.training.symbolic import from_model
from reproduction.beyond_paper.benchmark_tasks import BenchmarkTask, facts, judged, zoo_task

STUDY, SEEDS = "certified-learner", 8
DELAYS = (10, 30, 100, 300, 1000, 3000, 10_000)


def long_chain(delay: int) -> Model:
    """Memory chain of two bits by its arrays; the zoo lists every prefix of an episode, too much for long ones."""
    context, query = np.divmod(np.arange(8), 2)
    shown = np.full((8, delay + 1), 4)
    shown[:, :2] = context[:, None]
    shown[:, -1] = 5 + query
    done = np.zeros_like(shown)
    done[:, -1] = np.where(query == 0, context // 2, context % 2)
    names = [*(f"context {k:02b}" for k in range(4)), "dark", "query 0", "query 1"]
    name = f"memory-chain bits=2 delay={delay}"
    return Model.from_arrays(shown, done, observation_names=names, action_names=["0", "1"], name=name)


def chain_task(delay: int) -> BenchmarkTask:
    middle = (delay + 3) // 2
    windows = {"mid-delay": range(middle, middle + 1), "query": range(delay + 1, delay + 2)}
    return BenchmarkTask(f"memory-chain bits=2 delay={delay}", long_chain(delay), windows)


TASKS: dict[str, Callable[[], BenchmarkTask]] = {
    **{f"memory-chain bits=2 delay={delay}": lambda delay=delay: chain_task(delay) for delay in DELAYS},
    "gap gap2=15": lambda: zoo_task(task("gap", gap2=15)),
    "cue-corridor R=4 L=80": lambda: zoo_task(task("cue-corridor", R=4, L=80)),
    "signpost-corridor M=16": lambda: zoo_task(task("signpost-corridor", M=16, hall1=3, hall2=6)),
    "passive-t-maze L=100": lambda: zoo_task(task("passive-t-maze", L=100)),
}


def run_task(bench: BenchmarkTask, seeds: int = SEEDS) -> list[Row]:
    """Label, teach and judge."""
    effort = Effort()
    runs = tuple(Run(seed, bench.beta) for seed in range(seeds))
    plan = Plan(CERTIFIED, preset("carousel"), runs, effort.steps)
    requirement, data = bench.requirement, from_model(bench.model)
    begun = time.perf_counter()
    labels = certified_labels(bench.model, requirement)
    labelled = time.perf_counter()
    cohort, fit = train_certified(plan, data, labels, effort=effort)
    ended = time.perf_counter()
    rows = facts(STUDY, bench, plan, cohort, ended - begun)
    for row, verdict in zip(rows, judged(bench, cohort), strict=True):
        row |= verdict | {"steps": fit.steps, "codes_used": labels.machine.codes, "horizon": bench.model.horizon}
        row["label_seconds"], row["teach_seconds"] = round(labelled - begun, 3), round(ended - labelled, 3)
    return rows


def line(rows: list[Row]) -> str:
    """One cell in words."""
    passed, surplus = sum(row["sufficient"] for row in rows), max(row["largest_surplus"] for row in rows)
    one = rows[0]
    return (
        f"{one['task']}: {passed}/{len(rows)} sufficient, surplus {surplus:.3f} bit, {one['codes_used']} codes, "
        f"{one['label_seconds']:.2f} s to label, {one['teach_seconds']:.2f} s to teach {len(rows)} runs"
    )


def run(out: Path, only: str) -> None:
    """Every cell whose name holds a text."""
    for name, make in TASKS.items():
        if only in name:
            rows = run_task(make())
            merge_ledger(out / f"{STUDY}.jsonl", rows)
            print(line(rows), flush=True)
