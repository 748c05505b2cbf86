"""The symbolic studies: toys, cue corridor, signpost corridor, memory chain and passive T-maze.

`python -m diacritic.studies.symbolic --out FOLDER [--device cuda] [--only TEXT] [--steps N] [--seeds N]` trains every
cell and writes one ledger a study.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch

import diacritic
from diacritic.carrier.shape import Architecture
from diacritic.rollout.exact import Gate
from diacritic.studies.judge import judge_machine, judge_steps
from diacritic.studies.ledger import Row, merge_ledger
from diacritic.studies.tasks import Task, hidden_labels, model_of
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.evaluate import machines
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.runs import code_version
from diacritic.training.symbolic import from_model

CHUNK = 100  # updates of one cohort before the next one has its turn


@dataclass(frozen=True)
class Cell:
    """One cell of a table: what is trained, how it is judged, and what the paper found there."""

    study: str
    task: Task
    learner: str
    preset: str
    gate: Gate
    beta: float
    steps: int
    paper: tuple[int, int] | None = None
    """Sufficient seeds of how many, in the paper."""
    demonstrations: int | None = None
    """Drawn episodes N; none: every episode with its exact weight."""
    seeds: int = 8
    codes: int = 16
    rate: float | None = None

    @property
    def name(self) -> str:
        extras = [f"β={self.beta:g}"]
        extras += [f"N={self.demonstrations}"] if self.demonstrations else []
        extras += [f"K={self.codes}"] if self.codes != 16 else []
        extras += [f"lr={self.rate:g}"] if self.rate else []
        return " ".join([self.task.title, *extras])


def plan_of(cell: Cell) -> Plan:
    """The paper bounds the state by tanh in the two corridors; `textbook` follows it there."""
    bound = "tanh" if cell.preset == "textbook" and cell.task.name in ("cue-corridor", "signpost-corridor") else "none"
    runs = tuple(Run(seed, cell.beta, cell.rate) for seed in range(cell.seeds))
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


def train_together(cohorts: Sequence[Cohort], until: float = 1.0) -> None:
    """Several cohorts in turns; on CUDA each has its own stream, so that small programs fill the device together."""
    cuda = cohorts[0].device.type == "cuda"
    streams = [torch.cuda.Stream() if cuda else None for _ in cohorts]
    ends = [round(until * cohort.plan.steps) for cohort in cohorts]
    while any(cohort.step < end for cohort, end in zip(cohorts, ends, strict=True)):
        for cohort, stream, end in zip(cohorts, streams, ends, strict=True):
            count = min(CHUNK, end - cohort.step)
            if count <= 0:
                continue
            if stream is None:
                cohort.advance(count)
            else:
                with torch.cuda.stream(stream):
                    cohort.advance(count)
    if cuda:
        torch.cuda.synchronize()


def judgements(cell: Cell, cohort: Cohort) -> Iterator[tuple[Any, ...]]:
    """For every run the function that judges it and its arguments (arrays only)."""
    carrier, data = cohort.plan.carrier, cohort.data
    if carrier.memory == "code" and carrier.path != "bypass":
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
    weight = data.weight.double().cpu().numpy()
    for run in range(len(codes)):
        yield judge_steps, cell.task, codes[run], taken[run].cpu().numpy(), seen, weight


def rows_of(cell: Cell, cohort: Cohort, verdicts: Sequence[Row], seconds: float) -> list[Row]:
    """Ledger rows of one cell."""
    model = model_of(cell.task)
    device = torch.cuda.get_device_name() if cohort.device.type == "cuda" else "cpu"
    versions = {"torch": torch.__version__.split("+")[0], "numpy": np.__version__, "diacritic": diacritic.__version__}
    diverged = cohort.optimiser.diverged.tolist()
    return [
        {
            "study": cell.study,
            "cell": cell.name,
            "task": cell.task.title,
            "learner": cell.learner,
            "preset": cell.preset,
            "seed": run.seed,
            "steps": cell.steps,
            "K": cell.codes,
            "beta": cell.beta,
            "N": cell.demonstrations,
            "gate": cell.gate,
            "diverged": diverged[k],
            **verdict,
            "sufficient": bool(verdict["sufficient"]) and not diverged[k],
            "paper": None if cell.paper is None else list(cell.paper),
            "seconds": round(seconds / len(cohort.plan.runs), 3),
            "device": device,
            "versions": versions,
            "code_version": code_version(),
            "demos_sha256": model.digest,
        }
        for k, (run, verdict) in enumerate(zip(cohort.plan.runs, verdicts, strict=True))
    ]


def run(cells: Sequence[Cell], device: str, together: int, out: Path, workers: int) -> None:
    """Train and judge all cells, a group at a time; rows replace those of the same run in each study's ledger."""
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        waiting: list[tuple[Cell, Cohort, list[Any], float]] = []
        for first in range(0, len(cells), together):
            group = cells[first : first + together]
            begun = time.perf_counter()
            cohorts = [start(cell, device) for cell in group]
            train_together(cohorts)
            seconds = (time.perf_counter() - begun) / len(group)
            for cell, cohort in zip(group, cohorts, strict=True):
                jobs = [pool.submit(*job) for job in judgements(cell, cohort)]
                waiting.append((cell, cohort, jobs, seconds))
            print(f"{first + len(group)}/{len(cells)} cells, {seconds * len(group):.1f} s", flush=True)
            waiting = [item for item in waiting if not _collect(item, out, wait=first + together >= len(cells))]


def _collect(item: tuple[Cell, Cohort, list[Any], float], out: Path, wait: bool) -> bool:
    cell, cohort, jobs, seconds = item
    if not wait and not all(job.done() for job in jobs):
        return False
    rows = rows_of(cell, cohort, [job.result() for job in jobs], seconds)
    merge_ledger(out / f"{cell.study}.jsonl", rows)
    passed = sum(row["sufficient"] for row in rows)
    paper = "" if cell.paper is None else f", paper {cell.paper[0]}/{cell.paper[1]}"
    print(f"  {cell.study}: {cell.name}, {cell.learner}, {cell.preset}: {passed}/{len(rows)}{paper}", flush=True)
    return True


def main() -> None:
    from diacritic.studies.cells import CELLS

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
    cells = [cell for cell in CELLS if words <= set(f"{cell.study} {cell.name} {cell.learner} {cell.preset}".split())]
    if given.steps:
        cells = [replace(cell, steps=given.steps) for cell in cells]
    if given.seeds:
        cells = [replace(cell, seeds=given.seeds) for cell in cells]
    # Cohorts that train in turns should end together, and the slow ones last.
    cells.sort(key=lambda cell: model_of(cell.task).horizon * (1 if cell.preset == "carousel" else 5))
    run(cells, given.device, given.together, given.out, given.workers)


if __name__ == "__main__":
    main()
