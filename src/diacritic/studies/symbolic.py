"""Cells of symbolic tasks: trained as cohorts and judged exactly."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import torch

from diacritic.files.ledger import Row
from diacritic.files.versions import code_version, versions
from diacritic.measure.evaluate import SymbolicTrace, evaluate_symbolic
from diacritic.measure.gates import Symbolic
from diacritic.measure.trace import symbolic_traces
from diacritic.memory.certified_codes import certified_labels
from diacritic.memory.shape import Architecture
from diacritic.rollout.machine import CodeMachine, packed
from diacritic.studies.cell import Cell
from diacritic.studies.tasks import Task, hidden_labels, model_of, requirement_of, windows
from diacritic.training.certified import train_certified
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.forgetting import forget
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.revision import revise
from diacritic.training.scheduler import Part, round_robin
from diacritic.training.symbolic import from_model


def plan_of(cell: Cell) -> Plan:
    """What a cell of a symbolic task trains."""
    runs = tuple(Run(seed, cell.beta, cell.rate, cell.auxiliary) for seed in cell.run_seeds)
    how, carrier = preset(cell.preset), Architecture(codes=cell.codes)
    return Plan(learner(cell.learner), how, runs, cell.steps, carrier, how.symbolic_batch)


def start(cell: Cell, device: str) -> Cohort:
    """The cohort of a cell, ready to train."""
    labels = hidden_labels(cell.task).get("theta") if cell.learner.startswith("sysid") else None
    data = from_model(model_of(cell.task), cell.demonstrations)
    if labels is not None:
        theta = torch.from_numpy(labels)
        data = replace(data, label=theta, shape=replace(data.shape, labels=int(theta.max()) + 1))
    plan = plan_of(cell)
    if plan.learner.certified:
        return train_certified(plan, data, certified_labels(model_of(cell.task), requirement_of(cell.task)), device)[0]
    return Cohort(plan, data, device)


def run_cells(cells: Sequence[Cell], device: str = "cpu", together: int = 1) -> Iterator[list[Row]]:
    """Train so many cells at once, in turns, and judge them; the rows of one cell after another, as they finish."""
    for one in round_robin(
        (_Training(cell=cell, cohort=start(cell, device), end=cell.steps) for cell in cells), together
    ):
        begun = time.perf_counter()
        cohort = finished(one.cohort)
        yield list(rows_of(one.cell, cohort, one.seconds + time.perf_counter() - begun))


def finished(cohort: Cohort) -> Cohort:
    """The cohort after its last update: its codes revised, or what it never uses forgotten, where the learner does."""
    chosen = cohort.plan.learner
    return (revise if chosen.split else forget)(cohort).cohort if chosen.forget else cohort


@dataclass(kw_only=True)
class _Training(Part):
    """A cell in training."""

    cell: Cell


def judge(task: Task, gate: Symbolic, trace: SymbolicTrace) -> Row:
    """One run as fields of its row: a code machine by exact scores and closed loop, any other policy by behaviour."""
    steps = {name: tuple(t - 1 for t in window) for name, window in windows(task).items()}
    row = evaluate_symbolic(trace, requirement_of(task), gate, steps, hidden_labels(task)).row()
    # others ship the environments of the external gate, so that the machine can be played there
    if gate == "external" and isinstance(trace, CodeMachine):
        row["machine"] = packed(trace.greedy())
    return row


def rows_of(cell: Cell, cohort: Cohort, seconds: float) -> Iterator[Row]:
    """Ledger rows of one cell."""
    model = model_of(cell.task)
    device = torch.cuda.get_device_name() if cohort.device.type == "cuda" else "cpu"
    made_with = versions(torch=torch.__version__, numpy=np.__version__)
    gate = cast("Symbolic", cell.gate)
    traces = zip(cohort.plan.runs, symbolic_traces(cohort, model), cohort.optimiser.diverged.tolist(), strict=True)
    for run, trace, diverged in traces:
        judged = judge(cell.task, gate, trace)
        yield {
            **cell.identity(run.seed),
            "diverged": diverged,
            **judged,
            "sufficient": bool(judged["sufficient"]) and not diverged,
            "seconds": round(seconds / len(cohort.plan.runs), 3),
            "device": device,
            "versions": made_with,
            "code_version": code_version(),
            "demos_sha256": model.digest,
        }
