"""The symbolic studies: toys, cue corridor, signpost corridor, memory chain and passive T-maze.

`python -m diacritic.studies.symbolic --out FOLDER [--device cuda] [--only TEXT] [--steps N] [--seeds N]` trains every
cell and writes one ledger a study.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch

from diacritic.files.versions import code_version, versions
from diacritic.memory.kinds import memory_of
from diacritic.memory.shape import Architecture
from diacritic.rollout.trained_machines import machines
from diacritic.studies.cell import Cell
from diacritic.studies.judge import judge_machine, judge_steps
from diacritic.studies.ledger import Row, merge_ledger, named
from diacritic.studies.tasks import hidden_labels, model_of
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.kl_bound import kl_profile
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.scheduler import Part, take_turns, train_together
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
        bound = None if bounds is None else bounds[run]
        yield judge_steps, cell.task, codes[run], taken[run].cpu().numpy(), seen, weight, bound


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
            "paper": cell.paper_count,
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
    train_together([cohort])
    seconds = time.perf_counter() - begun
    return rows_of(cell, cohort, [judge(*given) for judge, *given in judgements(cell, cohort)], seconds)


@dataclass(kw_only=True)
class _Training(Part):
    """A cell in training."""

    cell: Cell


def _begin(cell: Cell, device: str) -> _Training:
    return _Training(cell=cell, cohort=start(cell, device), end=cell.steps)


def run(cells: Sequence[Cell], device: str, together: int, out: Path, workers: int) -> None:
    """Train and judge all cells, so many at once; rows replace those of the same run in each study's ledger."""
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        judged: list[tuple[_Training, list[Future[Row]]]] = []
        for one in take_turns((_begin(cell, device) for cell in cells), together):
            judged.append((one, [pool.submit(*job) for job in judgements(one.cell, one.cohort)]))
            judged = [item for item in judged if not _collect(*item, out, wait=False)]
        for item in judged:
            _collect(*item, out, wait=True)


def _collect(one: _Training, jobs: list[Future[Row]], out: Path, wait: bool) -> bool:
    """Write the rows of a cell once its runs are judged."""
    if not wait and not all(job.done() for job in jobs):
        return False
    cell = one.cell
    rows = rows_of(cell, one.cohort, [job.result() for job in jobs], one.seconds)
    merge_ledger(out / f"{cell.study}.jsonl", rows)
    passed = sum(row["sufficient"] for row in rows)
    paper = "" if cell.paper_count is None else ", paper {}/{}".format(*cell.paper_count)
    print(f"{cell.study}: {cell.name}, {cell.learner}, {cell.preset}: {passed}/{len(rows)}{paper}", flush=True)
    return True


def main() -> None:
    from reproduction.catalogue import CELLS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", default="", help="cells whose study, name, learner and preset hold all these words")
    parser.add_argument("--steps", type=int, help="fewer updates, for a quick look")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--together", type=int, default=1, help="cohorts that train in turns")
    parser.add_argument("--workers", type=int, default=1, help="processes that judge")
    given = parser.parse_args()
    words = set(given.only.split())
    declared = [cell for cell in CELLS if not cell.task.recorded]
    cells = [
        cell for cell in declared if words <= set(f"{cell.study} {cell.name} {cell.learner} {cell.preset}".split())
    ]
    if given.steps:
        cells = [replace(cell, steps=given.steps) for cell in cells]
    if given.seeds:
        cells = [replace(cell, seeds=given.seeds) for cell in cells]
    # The slow ones last.
    cells.sort(key=lambda cell: model_of(cell.task).horizon * (1 if cell.preset == "carousel" else 5))
    run(cells, given.device, given.together, given.out, given.workers)


if __name__ == "__main__":
    main()
