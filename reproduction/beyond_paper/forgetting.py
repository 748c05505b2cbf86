"""Surplus before and after forgetting: plain imitation with the preset `carousel`, then each run's own merged codes.

`python -m reproduction beyond-paper forgetting [--cells KIND] [--only TEXT] [--device cuda]` adds to
forgetting.jsonl. Settings were picked on the development cells and then frozen; held-out cells are run once. What
was changed after looking at them is run again as `afterwards`, in rows of its own.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from certify.zoo.registry import find
from diacritic.files.ledger import Row, merge_ledger
from diacritic.studies.tasks import task
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.forgetting import forget
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.revision import revise
from diacritic.training.symbolic import from_model
from reproduction.beyond_paper.benchmark_tasks import BenchmarkTask, facts, judged, zoo_task
from reproduction.preset_search import readout

STUDY, SEEDS, STEPS = "forgetting", 8, 3000
BEFORE = ("sufficient", "success", "rate", "surplus", "largest_surplus")


def sketch() -> BenchmarkTask:
    """Readout-3 at M = 32 as a symbolic sketch: wait between show and grasp, carry between grasp and place."""
    return BenchmarkTask("readout-3 M=32", readout(), {"wait": range(3, 6), "carry": range(6, 13)})


def _zoo(name: str, beta: float = 1e-3, **parameters: int) -> Callable[[], BenchmarkTask]:
    find(name)
    return lambda: zoo_task(task(name, **parameters), beta)


DEVELOPMENT: dict[str, Callable[[], BenchmarkTask]] = {
    "gap gap2=6": _zoo("gap", 0.03, gap2=6),
    **{f"memory-chain bits={b} delay=10": _zoo("memory-chain", bits=b, delay=10) for b in (1, 2, 3)},
    "passive-t-maze L=10": _zoo("passive-t-maze", L=10),
    "readout-3 M=32": sketch,
}
HELD_OUT: dict[str, Callable[[], BenchmarkTask]] = {
    "gap gap2=15": _zoo("gap", 0.03, gap2=15),
    **{f"memory-chain bits={b} delay=30": _zoo("memory-chain", bits=b, delay=30) for b in (1, 2, 3)},
    "cue-corridor R=4 L=20": _zoo("cue-corridor", 0.01, R=4, L=20),
    "signpost-corridor M=16": _zoo("signpost-corridor", 0.01, M=16, hall1=3, hall2=6),
}
AFTERWARDS = {name: make for name, make in HELD_OUT.items() if name.startswith("signpost")}
"""Where the expert chooses at random: a greedy choice among equals counted as behaviour in the held-out run."""
FAR: dict[str, Callable[[], BenchmarkTask]] = {
    **{
        f"memory-chain bits={b} delay={delay}": _zoo("memory-chain", bits=b, delay=delay)
        for delay in (100, 1000)
        for b in (1, 2, 3)
    },
    "passive-t-maze L=100": _zoo("passive-t-maze", L=100),
    "cue-corridor R=4 L=80": _zoo("cue-corridor", 0.01, R=4, L=80),
    **{
        f"signpost-corridor M=16 hall2={hall}": _zoo("signpost-corridor", 0.01, M=16, hall1=3, hall2=hall)
        for hall in (10, 15, 20)
    },
}
"""The long ones, with all settings as they were after that; forgetting had not been tried on any of them."""
REVISED = "revised"
"""The development cells with sixteen seeds and 2,000 updates, after which codes are revised."""
KINDS = {"development": DEVELOPMENT, "held-out": HELD_OUT, "afterwards": AFTERWARDS, "far": FAR, REVISED: DEVELOPMENT}


def run_task(
    bench: BenchmarkTask, steps: int = STEPS, seeds: int = SEEDS, kind: str = "development", device: str = "cpu"
) -> list[Row]:
    """Train, judge, forget and judge again."""
    runs = tuple(Run(seed, bench.beta) for seed in range(seeds))
    plan = Plan(learner("plain"), preset("carousel"), runs, steps)
    begun = time.perf_counter()
    cohort = Cohort(plan, from_model(bench.model), device)
    cohort.advance(steps)
    middle = time.perf_counter()
    result = (revise if kind == REVISED else forget)(cohort)
    seconds = time.perf_counter() - middle
    name = "plain+forgetting" + (" afterwards" if kind == "afterwards" else "")  # held-out rows stay beside these
    name = "plain+revision" if kind == REVISED else name
    named = replace(plan, learner=replace(plan.learner, name=name))
    rows = facts(STUDY, bench, named, result.cohort, time.perf_counter() - begun)
    for row, before, after, changed in zip(
        rows, judged(bench, cohort), judged(bench, result.cohort), result.changed, strict=True
    ):
        row |= after | {"before": {key: before[key] for key in BEFORE}, "changed": changed, "kind": kind}
        row |= {"forgetting_steps": result.steps, "forgetting_seconds": round(seconds / seeds, 3)}
    return rows


def line(rows: list[Row]) -> str:
    """One cell in words."""
    good = [row for row in rows if row["sufficient"]]
    was = sum(row["before"]["sufficient"] for row in rows)
    old = max((row["before"]["largest_surplus"] for row in good), default=float("nan"))
    new = max((row["largest_surplus"] for row in good), default=float("nan"))
    counts = f"{was} sufficient before, {len(good)} after, of {len(rows)}"
    return f"{rows[0]['cell']}: {counts}; largest surplus {old:.3f} → {new:.3f} bit"


def run(out: Path, kind: str, device: str, only: str) -> None:
    """Every cell of a kind whose name holds a text."""
    for name, make in KINDS[kind].items():
        if only in name:
            steps, seeds = (2000, 16) if kind == REVISED else (STEPS, SEEDS)
            rows = run_task(make(), steps, seeds, kind, device)
            merge_ledger(out / f"{STUDY}.jsonl", rows)
            print(line(rows), flush=True)
