"""Do the low precisions of training on CUDA change how many seeds learn?

    python benchmarks/precision.py FOLDER OUT [--only "two-cues plain"] [--together 4] [--table FILE.json]

FOLDER is what `python -m reproduction export` wrote. Every cohort of it is trained twice in OUT, once with the products
that its preset allows on CUDA (bf16 in `carousel` and in the continuations of BFS, TF32 elsewhere in `release`),
once in fp32; a run that was stopped goes on. Counted are the runs that pass their task's gate on the held-out episodes.
A line for each cohort has both counts, Fisher's p and the bits of each window.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

import torch  # noqa: E402

from certify.errors import UserError  # noqa: E402
from certify.optional import import_optional  # noqa: E402
from diacritic.files.atomic import write_text  # noqa: E402
from diacritic.files.demos import load  # noqa: E402
from diacritic.files.job import read_job, write_job  # noqa: E402
from diacritic.measure.evaluate import mean_over  # noqa: E402
from diacritic.measure.gates import task_gate  # noqa: E402
from diacritic.measure.recorded import Classes, score_cohort  # noqa: E402
from diacritic.tasks.registry import task_of  # noqa: E402
from diacritic.training.preset import preset  # noqa: E402
from diacritic.training.train_job import TrainJob  # noqa: E402
from diacritic.training.worker import read_result, train_folder  # noqa: E402

WAYS = {"low": True, "fp32": False}


def trained(folder: Path, out: Path, only: str, device: str, together: int) -> None:
    """Every cohort both ways, in a folder each."""
    given = [TrainJob.from_dict(item) for item in read_job(folder).train_jobs]
    for way, low in WAYS.items():
        here = out / way
        write_job(here, [asdict(replace(job, low=low)) for job in given], [])
        if not (here / "demos").exists():
            (here / "demos").symlink_to((folder / "demos").resolve())
        train_folder(here, here / "results", device, together, only)


def counted(here: Path, job: TrainJob) -> dict[str, Any] | None:
    """How many runs of a cohort pass, their bits in each window, and the seconds of training; none: not trained."""
    result = read_result(job, here / "results")
    if result is None:
        return None
    demos = load(here / "demos" / job.recording)
    task = task_of(demos)
    classes = Classes.of(demos.symbols, demos.choices).take(slice(job.demonstrations, None))
    scores = score_cohort(result.codes[-1], classes)
    passed = task_gate(task).passes(scores.sufficiency, scores.instantaneous)
    windows = {name: mean_over(scores.rate.mean(0), tuple(steps)) for name, steps in task.windows.items()}
    return {
        "sufficient": int(passed.sum()),
        "runs": len(passed),
        "diverged": sum(result.notes["diverged"]),
        "bits": {name: round(bits, 3) for name, bits in windows.items() if bits is not None},
        "seconds": round(result.notes["seconds"], 1),
    }


def table(folder: Path, out: Path) -> dict[str, Any]:
    """Both counts of every cohort that has been trained both ways."""
    rows: dict[str, Any] = {}
    for item in read_job(folder).train_jobs:
        job = TrainJob.from_dict(item)
        both = {way: counted(out / way, replace(job, low=low)) for way, low in WAYS.items()}
        if None in both.values():
            continue
        named = "bf16" if job.learner.endswith("+bfs") else preset(job.preset).low
        title = f"{job.recording}, {job.learner}, {job.preset}"
        p = import_optional("scipy.stats", "measure").fisher_exact(_odds(both)).pvalue
        rows[title] = {named: both["low"], "fp32": both["fp32"], "p": float(p)}
        first, second = (f"{one['sufficient']}/{one['runs']}" for one in both.values() if one is not None)
        print(f"{title}: {first} in {named}, {second} in fp32, p {p:.3f}", flush=True)
    return rows


def _odds(both: Mapping[str, Any]) -> list[list[int]]:
    """Runs that pass and runs that fail, one way and the other."""
    return [[one["sufficient"], one["runs"] - one["sufficient"]] for one in both.values()]


def main() -> int:
    """Bad input ends with one line on standard error and status 2."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("--only", default="", help="cohorts whose names hold all these words")
    parser.add_argument("--together", type=int, default=1, help="cohorts that train in turns")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--table", type=Path, help="where the counts go")
    given = parser.parse_args()
    if given.out is None or (given.device == "cuda" and not torch.cuda.is_available()):
        print("needs CUDA, an exported folder and one for results")
        return 0
    try:
        trained(given.folder, given.out, given.only, given.device, given.together)
        rows = table(given.folder, given.out)
    except UserError as problem:
        print(f"diacritic: {problem}", file=sys.stderr)
        return 2
    if given.table is not None:
        where = torch.cuda.get_device_name() if given.device == "cuda" else given.device
        write_text(
            given.table, json.dumps({"device": where, "torch": torch.__version__, "cohorts": rows}, indent=1) + "\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
