"""Training that is looked at on the way: the update and the second at which each run first passes its gate."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from diacritic.files.ledger import Row
from diacritic.measure.gates import SUCCESS
from diacritic.rollout.exact import closed_loop
from diacritic.rollout.machine import CodeMachine
from diacritic.rollout.trained_machines import machines
from diacritic.training.cohort import Cohort
from reproduction.beyond_paper.benchmark_tasks import BenchmarkTask, judge
from reproduction.beyond_paper.delays_cells import rows_now

EVERY = 100  # updates between two looks


@dataclass(frozen=True)
class Followed:
    """What following a cohort showed, run by run; nothing where a run never passed."""

    first: tuple[int | None, ...]
    """Updates until the first look that it passed."""
    first_seconds: tuple[float | None, ...]
    """Seconds of training, of the whole cohort, until then; looking is not counted."""
    seconds: float
    """Seconds of all of its training."""


def follow(cohort: Cohort, look: Callable[[], list[bool]], every: int = EVERY, stop: bool = False) -> Followed:
    """Train to the end of the plan; `stop` once every run has passed at some look."""
    reached: list[tuple[int, float] | None] = [None] * len(cohort.plan.runs)
    spent = 0.0
    cohort.advance(0)  # a CUDA graph is captured before the clock starts
    while cohort.step < cohort.plan.steps:
        begun = time.perf_counter()
        cohort.advance(min(every, cohort.plan.steps - cohort.step))
        if cohort.device.type == "cuda":
            torch.cuda.synchronize()
        spent += time.perf_counter() - begun
        reached = [
            old or ((cohort.step, spent) if passed else None) for old, passed in zip(reached, look(), strict=True)
        ]
        if stop and all(reached):
            break
    first, seconds = zip(*((None, None) if one is None else one for one in reached), strict=True)
    return Followed(first, seconds, spent)


def gate_look(bench: BenchmarkTask, cohort: Cohort) -> Callable[[], list[bool]]:
    """Which runs pass the gate now; one that has passed is not judged again."""
    passed = [False] * len(cohort.plan.runs)

    def look() -> list[bool]:
        diverged = cohort.optimiser.diverged.tolist()
        for k, machine in enumerate(machines(cohort.parameters, cohort.plan.carrier, bench.model)):
            passed[k] = passed[k] or (not diverged[k] and passes(bench, machine))
        return passed

    return look


def passes(bench: BenchmarkTask, machine: CodeMachine) -> bool:
    """The gate; scores take most of the time, so a machine that the external gate refuses by its success has none."""
    if bench.gate == "external" and closed_loop(machine.greedy(), bench.model).success < SUCCESS:
        return False
    return bool(judge(bench, machine)["sufficient"])


def followed_rows(study: str, bench: BenchmarkTask, cohort: Cohort, stop: bool = False) -> list[Row]:
    """Follow a cohort and judge it at the end (or where it stopped)."""
    seen = follow(cohort, gate_look(bench, cohort), stop=stop)
    rows = rows_now(study, bench, cohort, seen.seconds)
    for row, first, seconds in zip(rows, seen.first, seen.first_seconds, strict=True):
        row |= {"first_sufficient": first, "first_seconds": seconds, "updates": cohort.step}
    return rows
