"""Wall-clock per run of the table of learning targets, end to end: training, measuring, closed loop.

`python benchmarks/studies.py` trains one cohort of the table (two cues, gap 6, the default learner) for a few updates
on the CPU, measures it, plays it, and prints the split. `--results FOLDER` reads the split of what was really trained
from the ledger: training on its device, forecasters, and closed loop where they were imported. Trainings of the table
shared their device with one another. What each costs that has it to itself is timed by `--exchange FOLDER --device
cuda`, where FOLDER is what `python -m reproduction export learning-targets` wrote: some updates of every cohort,
extrapolated to all of them, with the first ones and what they compile in full.
"""

import argparse
import json
import sys
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

import torch

# certify.py beside this file has the package's name, so this folder must not be searched
sys.path[:] = [p for p in sys.path if Path(p) != Path(__file__).parent]

from diacritic.files.job import read_job  # noqa: E402
from diacritic.training.cohort_batching import RUNS  # noqa: E402
from diacritic.training.train_job import TrainJob  # noqa: E402
from diacritic.training.worker import (  # noqa: E402
    Training,
    read_result,
    train_folder,
    trainings,
)

STUDY, GOAL = "learning-targets", 3.0  # seconds of training per run that the project aims at on an H200
FIRST, TIMED, FORECASTER = 110, 1000, 100  # updates: up to past the first restart, timed, and of forecasters
PARTS = {"training": "seconds", "forecasters": "forecaster_seconds", "closed loop": "rollout_seconds"}


def small(updates: int, episodes: int) -> None:
    """A small part of the table, from demonstrations to rows."""
    from diacritic.files.ledger import read_ledger
    from diacritic.studies.choose import cells_of  # these need the simulator, the rest does not
    from diacritic.studies.collect import StudySettings, import_results
    from diacritic.studies.job_manifest import export, pack
    from diacritic.studies.recordings import recording
    from reproduction.catalogue import STUDIES

    wanted = cells_of([STUDIES[STUDY]], "gap=6 event-agnostic carousel", seeds=2)
    cells = [replace(cell, steps=updates) for cell in wanted]
    with TemporaryDirectory() as name:
        folder = Path(name)
        marks = [time.perf_counter()]
        train_jobs, placed = pack(cells, folder / "demos", forecaster_steps=updates)
        recording(cells[0], folder / "demos", fresh=True)
        export(train_jobs, placed, folder / "x", folder / "demos")
        marks.append(time.perf_counter())
        train_folder(folder / "x", folder / "back")
        marks.append(time.perf_counter())
        folders = folder / "results", folder / "back", folder / "demos", folder / "runs"
        import_results(StudySettings(*folders, episodes=episodes))
        marks.append(time.perf_counter())
        result = read_result(train_jobs[0], folder / "back")
        rows = read_ledger(folder / "results" / f"{STUDY}.jsonl")
        assert result is not None
        size = sum(path.stat().st_size for path in (folder / "back").iterdir()) / len(rows)
    runs, updated = len(rows), result.notes["seconds"]
    spent = [after - before for before, after in pairwise(marks)]
    played = mean(row["rollout_seconds"] for row in rows)
    print(f"{runs} runs of {updates} updates on the CPU, {episodes} episodes each, recordings {spent[0]:.1f} s:")
    print(f"  training     {1000 * updated / runs / updates:8.1f} ms a run and update")
    print(f"  forecasters  {1000 * result.notes['supervising'] / runs / updates:8.1f} ms a run and update")
    print(f"  closed loop  {played:8.2f} s a run, {played / episodes:.3f} s an episode")
    print(f"  measuring    {spent[2] / runs - played:8.2f} s a run, fresh episodes and run folders included")
    print(f"  exchange     {size / 1e6:8.2f} MB a run in full precision")


def recorded(results: Path) -> None:
    """What the ledger says of the whole table, and what every cohort took alone."""
    from diacritic.files.ledger import read_ledger

    rows = read_ledger(results / f"{STUDY}.jsonl")
    for device in sorted({row["device"] for row in rows}):
        mine = [row for row in rows if row["device"] == device]
        print(f"{len(mine)} runs of the table, trained on {device}, seconds a run:")
        for part, key in PARTS.items():
            values = [row[key] for row in mine if row.get(key) is not None]
            if values:
                goal = f"   goal {GOAL:g}" if part == "training" else ""
                print(f"  {part:12} mean {mean(values):7.2f}   most {max(values):7.2f}{goal}")
    for kept in sorted((results / "benchmarks").glob("studies-*.json")):
        print(told(json.loads(kept.read_text(encoding="utf-8"))))


def clocked(training: Training, updates: int) -> float:
    """Seconds of so many updates, all done."""
    begun = time.perf_counter()
    training.cohort.advance(updates)
    if training.device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - begun


def alone(folder: Path, device: str, out: Path, timed: int = TIMED) -> None:
    """Every cohort of an exported table by itself; the file grows with every one."""
    train_jobs = [TrainJob.from_dict(item) for item in read_job(folder).train_jobs]
    steps = {train_job.steps for train_job in train_jobs}
    assert len(steps) == 1, "the cohorts of the table have as many updates each"
    whole, name = steps.pop(), torch.cuda.get_device_name() if device == "cuda" else device
    short = [replace(train_job, steps=FIRST + timed, forecaster_steps=FORECASTER) for train_job in train_jobs]
    cohorts: list[dict[str, Any]] = []
    timings = {"device": name, "torch": torch.__version__, "updates": whole, "timed": timed, "cohorts": cohorts}
    out.mkdir(parents=True, exist_ok=True)
    partial = out / f"studies-{device}.part"
    with TemporaryDirectory() as empty:
        for training in trainings(folder, short, device, RUNS if device == "cuda" else 0, False, {}, Path(empty)):
            while training.supervision is not None:
                training.supervise()
            training.begin()
            first, rest = clocked(training, FIRST), clocked(training, timed)
            train_job, runs = training.parts[0].train_job, len(training.cohort.plan.runs)
            each = (first + rest / timed * (whole - FIRST)) / runs
            cohorts.append(
                {
                    "recordings": [part.train_job.recording for part in training.parts],
                    "learner": train_job.learner,
                    "preset": train_job.preset,
                    "runs": runs,
                    "first_s": first,
                    "ms_per_update": 1e3 * rest / timed,
                    "s_per_run": each,
                }
            )
            print(f"{train_job.learner}, {train_job.preset}, {runs} runs: {each:.2f} s a run", flush=True)
            partial.write_text(json.dumps(timings, indent=1) + "\n", encoding="utf-8")
            partial.replace(partial.with_suffix(".json"))
    print(told(timings))


def told(timings: dict[str, Any]) -> str:
    """Seconds of training per run of a table whose cohorts were timed alone."""
    cohorts = timings["cohorts"]
    runs = sum(one["runs"] for one in cohorts)
    average = sum(one["runs"] * one["s_per_run"] for one in cohorts) / runs
    most = max(cohorts, key=lambda one: one["s_per_run"])
    return (
        f"{runs} runs of {timings['updates']} updates alone on {timings['device']}, seconds a run:\n"
        f"  training     mean {average:7.2f}   most {most['s_per_run']:7.2f} ({most['learner']})   goal {GOAL:g}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, help="folder of ledgers, results say")
    parser.add_argument("--exchange", type=Path, help="an exported table: time every cohort of it alone")
    parser.add_argument("--device", default="cpu", help="where --exchange trains")
    parser.add_argument("--out", type=Path, default=Path("out"), help="where --exchange writes its JSON")
    parser.add_argument("--updates", type=int, default=5)
    parser.add_argument("--episodes", type=int, default=8, help="a sixteenth of the table's")
    given = parser.parse_args()
    if given.exchange is not None:
        alone(given.exchange, given.device, given.out)
    elif given.results is not None:
        recorded(given.results)
    else:
        small(given.updates, given.episodes)


if __name__ == "__main__":
    main()
