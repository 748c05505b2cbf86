"""Train short, prove for ever: `python -m reproduction forever-training` writes results/forever-training.jsonl.

Eight seeds of plain imitation on the first steps of tasks without an end. The learned code tables are then proved by a
search over (hidden state, code), before and after forgetting. Forgetting as it is for finite tasks drops what no step
before the last asks for, so it is shown beside forgetting for ever, which asks the process what can still follow.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from certify import Model
from certify.core.exact import Ints
from certify.core.graph import Graph
from certify.stationary.machine import StationaryMachine, Verdict, right_for_ever
from certify.stationary.process import Process
from certify.stationary.reduction import reduced
from diacritic.files.ledger import Row
from diacritic.rollout.forever import stationary_machine
from diacritic.rollout.trained_machines import machines
from diacritic.tasks.named import named_model, named_process
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.forgetting import Merged, cohort_traces, forget
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.symbolic import from_model

STUDY, SEEDS, STEPS, DEMONSTRATIONS, BETA = "forever-training", 8, 4000, 512, 1e-3


@dataclass(frozen=True)
class Family:
    """A task without an end, and how much of it is seen in training."""

    task: str
    parameters: tuple[str, ...]

    @property
    def process(self) -> Process:
        return named_process(self.task, self.parameters)

    @property
    def model(self) -> Model:
        return named_model(self.task, self.parameters)


FAMILIES = (
    Family("forever:delayed-cue", ("horizon=12", "mean=4")),
    Family("forever:memory-chain", ("horizon=12", "mean=4")),
    Family("forever:counter", ("horizon=12", "modulus=3")),
    Family("forever:n-back", ("horizon=12", "lag=2")),
    Family("forever:repeated-cues", ("horizon=16",)),
    Family("forever:signpost-corridor", ("horizon=16",)),
)


def run_family(family: Family, steps: int = STEPS, seeds: int = SEEDS, device: str = "cpu") -> Iterator[Row]:
    """One row a seed: verdicts on the learned table, after forgetting for ever, and after finite forgetting."""
    process, model = family.process, family.model
    begun = time.perf_counter()
    plan = Plan(learner("plain"), preset("carousel"), tuple(Run(seed, BETA) for seed in range(seeds)), steps)
    cohort = Cohort(plan, from_model(model, DEMONSTRATIONS), device)
    cohort.advance(steps)
    raw = tables(cohort, model)
    verdicts = [right_for_ever(machine, process) for machine in raw]
    merged: list[Merged | None] = []
    for machine, verdict, trace in zip(raw, verdicts, cohort_traces(cohort), strict=True):
        codes = forget_for_ever(machine, process, model.graph)[trace.codes, trace.symbols] if verdict.right else None
        merged.append(None if codes is None else Merged(codes, len(np.unique(codes)), 1.0))
    after = forget(cohort, merged=merged)
    finite = forget(cohort)
    kept = [right_for_ever(machine, process) for machine in tables(after.cohort, model)]
    lost = [right_for_ever(machine, process) for machine in tables(finite.cohort, model)]
    seconds = (time.perf_counter() - begun) / seeds
    for seed, three in enumerate(zip(verdicts, kept, lost, strict=True)):
        row: Row = {"study": STUDY, "task": family.task, "parameters": " ".join(family.parameters), "seed": seed}
        row |= {"learner": "plain", "preset": "carousel", "steps": steps, "demonstrations": DEMONSTRATIONS}
        row |= {"K": plan.carrier.codes, "forgotten": after.changed[seed], "seconds": round(seconds, 2)}
        named = zip(("learned", "forgotten_for_ever", "forgotten_finitely"), three, strict=True)
        yield row | {name: _verdict(verdict) for name, verdict in named}


def tables(cohort: Cohort, model: Model) -> list[StationaryMachine]:
    """The runs of a cohort as machines on the names of the task."""
    weights = {name: value.detach() for name, value in cohort.parameters.items()}
    return [stationary_machine(machine, model.graph) for machine in machines(weights, cohort.plan.carrier, model)]


def _verdict(verdict: Verdict) -> Row:
    if verdict.right:
        return {"proved": True, "pairs": verdict.pairs}
    return {"proved": False, "step": (len(verdict.history) + 1) // 2, "errs": verdict.text}


def table(rows: list[Row]) -> list[str]:
    """One line a family: how many seeds are proved at every horizon."""
    lines = ["| task | trained on | learned | forgotten for ever | finitely | shortest error |"]
    lines.append("|---|---|---:|---:|---:|---|")
    for task in dict.fromkeys(row["task"] for row in rows):
        own = [row for row in rows if row["task"] == task]
        keys = ("learned", "forgotten_for_ever", "forgotten_finitely")
        counts = [f"{sum(row[key]['proved'] for row in own)}/{len(own)}" for key in keys]
        steps = [[row[key]["step"] for row in own if not row[key]["proved"]] for key in keys]
        worst = [f"step {min(step)}" if step else "–" for step in steps]
        name = task.removeprefix("forever:")
        cells = [name, own[0]["parameters"], *counts, " / ".join(worst)]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def section(rows: list[Row]) -> list[str]:
    """The table, and what its runs share."""
    updates = sorted({row["steps"] for row in rows})
    return [*table(rows), "", f"Each run has {' or '.join(f'{count:,}' for count in updates)} updates."]


def forget_for_ever(machine: StationaryMachine, process: Process, graph: Graph) -> Ints:
    """The code that each learned one becomes under each observation, [K, O], when codes are merged for ever.

    A merged code keeps the number of one of its own where that is free; after an end nothing is remembered.
    """
    _, merged = reduced(machine, process)
    number: dict[int, int] = {}
    for (_, old), new in sorted(merged.items()):
        if new not in number and old not in number.values():
            number[new] = old
    spare = (code for code in range(machine.codes) if code not in number.values())
    number |= {new: next(spare) for new in sorted(set(merged.values()) - number.keys())}
    names = {graph.observations[k]: k for k in range(len(graph.observations))}
    table = np.full((machine.codes, len(names)), min(number.values()))
    for (observation, old), new in merged.items():
        table[old, names[observation]] = number[new]
    return table
