"""Cohorts that train side by side on CUDA: does each captured graph keep to itself?

    python benchmarks/workspaces.py FOLDER [--learners "intent hierarchical"] [--updates 600] [--out FILE.json]

FOLDER is what `python -m reproduction export` wrote; its first six cohorts of these learners take part. One of them
trains alone, then all of them in turns: with a workspace of cuBLAS for each graph, as `training.captured` has it, and
with the one that PyTorch gives to all graphs of a process. Which runs diverge must not depend on who else trains.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

import torch  # noqa: E402

from diacritic.files.atomic import write_text  # noqa: E402
from diacritic.files.job import read_job  # noqa: E402
from diacritic.training import cohort  # noqa: E402
from diacritic.training.captured import captured  # noqa: E402
from diacritic.training.cohort import Cohort  # noqa: E402
from diacritic.training.cohort_batching import one_cohort  # noqa: E402
from diacritic.training.scheduler import Part, round_robin  # noqa: E402
from diacritic.training.train_job import TrainJob  # noqa: E402
from diacritic.training.worker import trainings  # noqa: E402

COHORTS = 6


def shared(update: Callable[[], None]) -> torch.cuda.CUDAGraph:
    """A captured update as PyTorch has it: its workspace is that of all other graphs."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        update()
    return graph


def cohort_of(folder: Path, train_job: TrainJob) -> Cohort:
    """A training job's cohort at its start."""
    [training] = trainings(folder, [train_job], "cuda", 0, False, {train_job.name: train_job}, folder)
    return one_cohort([part.share for part in training.parts], "cuda")


def diverged(folder: Path, train_jobs: Sequence[TrainJob], updates: int) -> list[list[int]]:
    """The runs of each training job whose numbers are no longer finite after so many updates side by side."""
    parts = [Part(cohort_of(folder, train_job), updates) for train_job in train_jobs]
    for _ in round_robin(iter(parts), len(parts)):
        pass
    return [part.cohort.optimiser.diverged.nonzero().flatten().tolist() for part in parts]


def measured(folder: Path, learners: Sequence[str], updates: int) -> dict[str, Any]:
    """Which runs diverge when the first cohort trains alone, and when all train side by side."""
    every = [TrainJob.from_dict(item) for item in read_job(folder).train_jobs]
    chosen = [train_job for train_job in every if train_job.learner in learners][:COHORTS]
    if not chosen:
        raise SystemExit(f"{folder} has no cohort of {', '.join(learners)}")
    result: dict[str, Any] = {"torch": torch.__version__, "device": torch.cuda.get_device_name(), "updates": updates}
    result |= {"cohorts": [one.name for one in chosen], "alone": diverged(folder, chosen[:1], updates)}
    for name, way in (("own workspaces", captured), ("one workspace", shared)):
        cohort.captured = way
        result[name] = diverged(folder, chosen, updates)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--learners", default="intent hierarchical hierarchical-10 hierarchical-30")
    parser.add_argument("--updates", type=int, default=600)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.folder is None or not torch.cuda.is_available():
        print("needs CUDA and an exported folder")
        return
    text = json.dumps(measured(given.folder, given.learners.split(), given.updates), indent=1)
    print(text)
    if given.out is not None:
        write_text(given.out, text + "\n")


if __name__ == "__main__":
    main()
