"""Cells of symbolic tasks: trained as cohorts and judged exactly."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
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
from diacritic.training import unfinished
from diacritic.training.certified import train_certified
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.forgetting import forget
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.revision import revise
from diacritic.training.scheduler import Part, round_robin
from diacritic.training.symbolic import from_model
from diacritic.training.unfinished import Parts, Progress, keep_unfinished, take_up, unfinished_path


def plan_of(cell: Cell) -> Plan:
    """What a cell of a symbolic task trains."""
    runs = tuple(Run(seed, cell.beta, cell.rate, cell.auxiliary) for seed in cell.run_seeds)
    how, carrier = preset(cell.preset), Architecture(codes=cell.codes)
    return Plan(learner(cell.learner), how, runs, cell.steps, carrier, how.symbolic_batch)


def start(cell: Cell, device: str) -> Cohort:
    """The cohort of a cell whose seeds learn from the same demonstrations, ready to train."""
    labels = hidden_labels(cell.task).get("theta") if cell.learner.startswith("sysid") else None
    data = from_model(model_of(cell.task), cell.demonstrations, cell.first_seed if cell.own_demonstrations else 0)
    if labels is not None:
        theta = torch.from_numpy(labels)
        data = replace(data, label=theta, shape=replace(data.shape, labels=int(theta.max()) + 1))
    plan = plan_of(cell)
    if plan.learner.certified:
        return train_certified(plan, data, certified_labels(model_of(cell.task), requirement_of(cell.task)), device)[0]
    return Cohort(plan, data, device)


def run_cells(
    cells: Sequence[Cell],
    device: str = "cpu",
    together: int = 1,
    work: Path | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Iterator[tuple[Cell, list[Row]]]:
    """Train so many cells at once, in turns, and judge them: one cell after another with its rows, as they finish.

    A cell whose seeds draw demonstrations of their own comes seed by seed. With a folder of work, cohorts in flight are
    kept there, and whoever was killed goes on with them; once its rows are entered, what is kept is to be discarded.
    """
    alike = (one for cell in cells for one in _alike(cell))
    for one in round_robin((_begun(cell, device, work, say) for cell in alike), together):
        begun = time.perf_counter()
        cohort = finished(one.cohort)
        yield one.cell, list(rows_of(one.cell, cohort, one.seconds + time.perf_counter() - begun))


def _alike(cell: Cell) -> list[Cell]:
    """A cell in parts whose seeds learn from the same demonstrations."""
    return [replace(cell, first_seed=seed, seeds=1) for seed in cell.run_seeds] if cell.own_demonstrations else [cell]


def discard(cell: Cell, work: Path) -> None:
    """Remove what was kept of the cell's cohorts."""
    for one in _alike(cell):
        _kept_at(one, work).unlink(missing_ok=True)


def finished(cohort: Cohort) -> Cohort:
    """The cohort after its last update: its codes revised, or what it never uses forgotten, where the learner does."""
    chosen = cohort.plan.learner
    return (revise if chosen.split else forget)(cohort).cohort if chosen.forget else cohort


@dataclass(kw_only=True)
class _Training(Part):
    """A cell in training."""

    cell: Cell
    work: Path | None
    say: Callable[[str], None]
    kept: float = field(default_factory=time.monotonic)
    """When the state of its cohort was last kept."""

    def advance(self) -> None:
        super().advance()
        self.say(f"{self.cell.name}, {self.cell.learner}: {self.cohort.step:,} of {self.end:,} updates")
        if self.work is not None and not self.done and time.monotonic() - self.kept >= unfinished.EVERY:
            keep_unfinished(
                _kept_at(self.cell, self.work), _described(self.cell), self.cohort, Progress([], self.seconds)
            )
            self.kept = time.monotonic()


def _begun(cell: Cell, device: str, work: Path | None, say: Callable[[str], None]) -> _Training:
    """A cell at its start, or where a killed runner kept it."""
    training = _Training(cell=cell, cohort=start(cell, device), end=cell.steps, work=work, say=say)
    progress = None if work is None else take_up(_kept_at(cell, work), _described(cell), training.cohort)
    training.seconds = 0.0 if progress is None else progress.seconds
    return training


def _kept_at(cell: Cell, work: Path) -> Path:
    return unfinished_path(work, [f"{cell.digest}-{cell.first_seed}-{cell.seeds}"])


def _described(cell: Cell) -> Parts:
    return [{"cell": cell.digest, "seeds": list(cell.run_seeds), "model": model_of(cell.task).digest}]


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
