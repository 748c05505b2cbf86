"""Symbolic tasks by name with their certificate and windows, and the row that a run leaves in a ledger."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from certify import Model
from diacritic.files.ledger import Row
from diacritic.files.versions import code_version, versions
from diacritic.measure.gates import Symbolic, judge_scores
from diacritic.measure.scores import Requirement, StepScore, scores
from diacritic.rollout.exact import closed_loop
from diacritic.rollout.machine import CodeMachine
from diacritic.rollout.occupancy import teacher_forced
from diacritic.rollout.trained_machines import machines
from diacritic.studies.tasks import Task, Windows, model_of, windows
from diacritic.training.cohort import Cohort, Plan


@dataclass(frozen=True)
class BenchmarkTask:
    """A task and how its runs are judged."""

    name: str
    model: Model
    windows: Windows
    beta: float = 1e-3
    gate: Symbolic = "external"

    @cached_property
    def requirement(self) -> Requirement:
        return Requirement.of(self.model)


def zoo_task(task: Task, beta: float = 1e-3) -> BenchmarkTask:
    """An instance of the zoo with the windows that its study reports."""
    return BenchmarkTask(task.title, model_of(task), windows(task), beta)


def judge(bench: BenchmarkTask, machine: CodeMachine) -> Row:
    """A greedy machine: the gate, closed loop, and per window the least scores, the mean rate and surplus."""
    greedy = machine.greedy()
    steps = scores(teacher_forced(greedy, bench.model), bench.requirement)
    success = closed_loop(greedy, bench.model).success
    row: Row = {"sufficient": judge_scores(bench.gate, steps, success).passed, "success": success}
    row |= {key: {} for key in ("scores", "rate", "requirement", "surplus")}
    for name, window in bench.windows.items():
        seen = [steps[t - 1] for t in window]
        row["scores"][name] = {"S_Gamma": _least([s.sufficiency for s in seen])}
        row["scores"][name]["S_G"] = _least([s.instantaneous for s in seen])
        row["rate"][name] = float(np.mean([s.rate for s in seen]))
        row["requirement"][name] = float(np.mean([_need(s) for s in seen]))
        row["surplus"][name] = row["rate"][name] - row["requirement"][name]
    row["largest_surplus"] = max(s.rate - _need(s) for s in steps)
    return row


def judged(bench: BenchmarkTask, cohort: Cohort) -> list[Row]:
    """Every run of a cohort."""
    return [judge(bench, machine) for machine in machines(cohort.parameters, cohort.plan.carrier, bench.model)]


def facts(study: str, bench: BenchmarkTask, plan: Plan, cohort: Cohort, seconds: float) -> list[Row]:
    """What a ledger wants to know of every run beside its verdict; `seconds` are those of the whole cohort."""
    device = torch.cuda.get_device_name() if cohort.device.type == "cuda" else "cpu"
    common: dict[str, Any] = {
        "study": study,
        "cell": f"{bench.name} β={bench.beta:g}",
        "task": bench.name,
        "learner": plan.learner.name,
        "preset": plan.preset.name,
        "steps": plan.steps,
        "K": plan.carrier.codes,
        "beta": bench.beta,
        "N": None,
        "gate": bench.gate,
        "seconds": round(seconds / len(plan.runs), 3),
        "device": device,
        "versions": versions(torch=torch.__version__),
        "code_version": code_version(),
        "demos_sha256": bench.model.digest,
    }
    diverged = cohort.optimiser.diverged.tolist()
    return [{**common, "seed": run.seed, "diverged": lost} for run, lost in zip(plan.runs, diverged, strict=True)]


def _need(step: StepScore) -> float:
    return 0.0 if step.requirement is None else step.requirement


def _least(values: list[float | None]) -> float | None:
    return min((value for value in values if value is not None), default=None)
