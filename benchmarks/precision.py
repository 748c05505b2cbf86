"""Does bf16 in training on CUDA change how many seeds learn?

    python benchmarks/precision.py FOLDER OUT [--results results] [--only "two-cues plain"] [--table FILE.json]

FOLDER is what `python -m reproduction export` wrote of cells whose runs are in the ledgers already (exported with an
empty folder as `--results`). Those runs had products of bf16 factors: all but the scan of codes in `carousel`, the
continuations of BFS in `release`. Here the same seeds are trained once more in OUT without bf16, `carousel` in fp32 and
`release` in TF32, which is all that it rounds elsewhere; a run that was stopped goes on. Counted are the runs that pass
their task's gate on the held-out episodes. Each line is a cell: both counts, Fisher's p and the bits of each window.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

import numpy as np  # noqa: E402
import torch  # noqa: E402

from certify.errors import UserError  # noqa: E402
from certify.optional import import_optional  # noqa: E402
from diacritic.files.atomic import write_text  # noqa: E402
from diacritic.files.demos import load  # noqa: E402
from diacritic.files.job import write_job  # noqa: E402
from diacritic.measure.evaluate import mean_over  # noqa: E402
from diacritic.measure.gates import task_gate  # noqa: E402
from diacritic.measure.recorded import Classes, score_cohort  # noqa: E402
from diacritic.studies.job_manifest import Placed, read_placed  # noqa: E402
from diacritic.studies.recorded import reported  # noqa: E402
from diacritic.studies.results import Results  # noqa: E402
from diacritic.tasks.registry import task_of  # noqa: E402
from diacritic.training.preset import preset  # noqa: E402
from diacritic.training.train_job import TrainJob  # noqa: E402
from diacritic.training.worker import read_result, train_folder  # noqa: E402


@dataclass(frozen=True)
class Outcome:
    """One run on the held-out episodes."""

    passed: bool
    diverged: bool
    bits: Mapping[str, float]
    """Its rate in each window."""


def without_bf16(job: TrainJob) -> TrainJob:
    """The same cohort in fp32, or in TF32 where its preset rounds to that anyway."""
    if preset(job.preset).low != "bf16" and not job.learner.endswith("+bfs"):
        raise UserError(job.name, "trains without bf16 anyway; export cells of carousel, or with BFS")
    return replace(job, low=preset(job.preset).low != "bf16")


def train(folder: Path, out: Path, jobs: Sequence[TrainJob], only: str, device: str, together: int) -> None:
    """The cohorts of a folder; the kernels of BFS, which take bf16 factors, are not used."""
    write_job(out, [asdict(without_bf16(job)) for job in jobs], [])
    if not (out / "demos").exists():
        (out / "demos").symlink_to((folder / "demos").resolve())
    with patch("diacritic.training.kernels.continuations.fits", lambda heads, data: False):
        train_folder(out, out / "results", device, together, only)


def exact_runs(out: Path, job: TrainJob) -> list[Outcome] | None:
    """The runs of a cohort without bf16; none: not trained."""
    job = without_bf16(job)
    result = read_result(job, out / "results")
    if result is None:
        return None
    demos = load(out / "demos" / job.recording)
    task = task_of(demos)
    classes = Classes.of(demos.symbols, demos.choices).take(slice(job.demonstrations, None))
    scores = score_cohort(result.codes[-1], classes)
    passed, diverged = task_gate(task).passes(scores.sufficiency, scores.instantaneous), result.notes["diverged"]
    windows = reported(task, list(classes.required))
    return [
        Outcome(
            bool(passed[k]) and not diverged[k],
            bool(diverged[k]),
            {name: bits for name, steps in windows.items() if (bits := mean_over(rate, steps)) is not None},
        )
        for k, rate in enumerate(scores.rate)
    ]


def summed(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """How many runs pass and diverge, and their mean bits in each window."""
    windows = outcomes[0].bits
    return {
        "sufficient": sum(one.passed for one in outcomes),
        "runs": len(outcomes),
        "diverged": sum(one.diverged for one in outcomes),
        "bits": {name: round(float(np.mean([one.bits[name] for one in outcomes])), 3) for name in windows},
    }


def table(out: Path, jobs: Mapping[str, TrainJob], placed: Sequence[Placed], ledgers: Results) -> dict[str, Any]:
    """Both counts of every cell whose runs are there both ways."""
    lines: dict[str, Any] = {}
    for item in placed:
        cell, rows = item.cell, ledgers.runs(item.cell)
        trained = {name: exact_runs(out, jobs[name]) for name, _ in item.positions}
        if len(rows) < cell.seeds or None in trained.values():
            continue
        exact = [runs[k] for name, k in item.positions if (runs := trained[name]) is not None]
        before = [Outcome(row["sufficient"], row["diverged"], row["rate"]) for row in rows]
        way = "fp32" if preset(cell.preset).low == "bf16" else "tf32"
        both = {"bf16": summed(before), way: summed(exact)}
        odds = [[one["sufficient"], one["runs"] - one["sufficient"]] for one in both.values()]
        p = float(import_optional("scipy.stats", "measure").fisher_exact(odds).pvalue)
        title = f"{cell.name}, {cell.learner}, {cell.preset}"
        lines[title] = both | {"p": p}
        counts = ", ".join(f"{one['sufficient']}/{one['runs']} in {way}" for way, one in both.items())
        print(f"{title}: {counts}, p {p:.3f}", flush=True)
    return lines


def main() -> int:
    """Bad input ends with one line on standard error and status 2."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("--results", type=Path, default=Path("results"), help="ledgers with the runs in bf16")
    parser.add_argument("--only", default="", help="cohorts whose names hold all these words")
    parser.add_argument("--together", type=int, default=1, help="cohorts that train in turns")
    parser.add_argument("--device", default="cuda", help="where to train what OUT does not have yet")
    parser.add_argument("--table", type=Path, help="where the counts go; those of other cells that it has stay")
    given = parser.parse_args()
    if given.out is None or (given.device == "cuda" and not torch.cuda.is_available()):
        print("needs CUDA, an exported folder and one for results")
        return 0
    try:
        jobs, placed = read_placed(given.folder)
        train(given.folder, given.out, list(jobs.values()), given.only, given.device, given.together)
        lines = table(given.out, jobs, placed, Results.read(given.results))
    except UserError as problem:
        print(f"diacritic: {problem}", file=sys.stderr)
        return 2
    if given.table is not None:
        where = torch.cuda.get_device_name() if given.device == "cuda" else given.device
        before = json.loads(given.table.read_text())["cells"] if given.table.exists() else {}
        document = {"device": where, "torch": torch.__version__, "cells": before | lines}
        write_text(given.table, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
