"""Cells of symbolic tasks: trained as cohorts and judged exactly."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from diacritic.files.versions import code_version, versions
from diacritic.measure.evaluate import EpisodeTrace
from diacritic.memory.kinds import memory_of
from diacritic.memory.shape import Architecture
from diacritic.rollout.trained_machines import machines
from diacritic.studies.cell import Cell
from diacritic.studies.judge import judge_machine, judge_steps
from diacritic.studies.ledger import Row, named
from diacritic.studies.tasks import hidden_labels, model_of
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.kl_bound import kl_profile
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.scheduler import Part, round_robin, train_round_robin
from diacritic.training.symbolic import from_model


def plan_of(cell: Cell) -> Plan:
    """The paper bounds the state by tanh in the two corridors; `textbook` follows it there."""
    bound = "tanh" if cell.preset == "textbook" and cell.task.name in ("cue-corridor", "signpost-corridor") else "none"
    runs = tuple(Run(seed, cell.beta, cell.rate, cell.auxiliary) for seed in cell.run_seeds)
    return Plan(
        learner(cell.learner), preset(cell.preset), runs, cell.steps, Architecture(codes=cell.codes, bound=bound)
    )


def start(cell: Cell, device: str) -> Cohort:
    """The cohort of a cell, ready to train."""
    labels = hidden_labels(cell.task).get("theta") if cell.learner.startswith("sysid") else None
    data = from_model(model_of(cell.task), cell.demonstrations)
    if labels is not None:
        theta = torch.from_numpy(labels)
        data = replace(data, label=theta, shape=replace(data.shape, labels=int(theta.max()) + 1))
    return Cohort(plan_of(cell), data, device)


def judgements(cell: Cell, cohort: Cohort) -> Iterator[tuple[Any, ...]]:
    """For every run the function that judges it and its arguments (arrays only)."""
    carrier, data = cohort.plan.carrier, cohort.data
    if memory_of(carrier).finite(carrier):
        for machine in machines(cohort.parameters, carrier, model_of(cell.task)):
            yield judge_machine, cell.task, cell.gate, machine.move, machine.act
        return
    with torch.no_grad():
        trace = cohort.trace()
        logits = trace.actions if trace.actions is not None else trace.read("act")
        chosen = trace.steps(logits).argmax(-1)
        taken = (
            data.target.unsqueeze(0).expand(len(chosen), -1, -1, -1).gather(-1, chosen.unsqueeze(-1)).squeeze(-1) > 0
        )
        codes, seen = trace.step_code.cpu().numpy(), data.observation_index.cpu().numpy()
    weight, bounds = data.weight.double().cpu().numpy(), kl_profile(trace)
    for run in range(len(codes)):
        bound = None if bounds is None else tuple(bounds[run])
        yield judge_steps, cell.task, EpisodeTrace(codes[run], taken[run].cpu().numpy(), seen, weight, bound)


def rows_of(cell: Cell, cohort: Cohort, verdicts: Sequence[Row], seconds: float) -> list[Row]:
    """Ledger rows of one cell."""
    model = model_of(cell.task)
    device = torch.cuda.get_device_name() if cohort.device.type == "cuda" else "cpu"
    made_with = versions(torch=torch.__version__, numpy=np.__version__)
    diverged = cohort.optimiser.diverged.tolist()
    return [
        {
            **named(cell, run.seed),
            "diverged": diverged[k],
            **verdict,
            "sufficient": bool(verdict["sufficient"]) and not diverged[k],
            "seconds": round(seconds / len(cohort.plan.runs), 3),
            "device": device,
            "versions": made_with,
            "code_version": code_version(),
            "demos_sha256": model.digest,
        }
        for k, (run, verdict) in enumerate(zip(cohort.plan.runs, verdicts, strict=True))
    ]


def run_cell(cell: Cell, device: str = "cpu") -> list[Row]:
    """Train and judge one cell in this process."""
    begun = time.perf_counter()
    cohort = start(cell, device)
    train_round_robin([cohort])
    return _judged(cell, cohort, time.perf_counter() - begun)


def run_cells(cells: Sequence[Cell], device: str, together: int) -> Iterator[list[Row]]:
    """Train so many cells at once, in turns; the rows of one cell after another, as they finish."""
    for one in round_robin(
        (_Training(cell=cell, cohort=start(cell, device), end=cell.steps) for cell in cells), together
    ):
        yield _judged(one.cell, one.cohort, one.seconds)


@dataclass(kw_only=True)
class _Training(Part):
    """A cell in training."""

    cell: Cell


def _judged(cell: Cell, cohort: Cohort, seconds: float) -> list[Row]:
    return rows_of(cell, cohort, [judge(*given) for judge, *given in judgements(cell, cohort)], seconds)
