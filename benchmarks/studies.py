"""Wall-clock per run of the table of learning targets, end to end: training, measuring, closed loop.

`python benchmarks/studies.py` trains one cohort of the table (two cues, gap 6, the default learner) for a few updates
on the CPU, measures it, plays it, and prints the split. `--results FOLDER` reads the split of what was really trained
from the ledger: training on its device, forecasters, and closed loop where they were imported. Trainings of the table
shared their device with one another; what one costs that has it to itself is told by `benchmarks/training.py --cuda`.
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

# certify.py beside this file has the package's name, so this folder must not be searched
sys.path[:] = [p for p in sys.path if Path(p) != Path(__file__).parent]

from diacritic.rollout.franka import EPISODES  # noqa: E402
from diacritic.studies.choose import cells_of, studies_named  # noqa: E402
from diacritic.studies.exchange import export, pack  # noqa: E402
from diacritic.studies.incoming import import_results  # noqa: E402
from diacritic.studies.ledger import read_ledger  # noqa: E402
from diacritic.studies.recordings import recording  # noqa: E402
from diacritic.training.folder import read_result, train_folder  # noqa: E402

STUDY, GOAL = "learning-targets", 3.0  # seconds of training per run that the project aims at on an H200
PARTS = {"training": "seconds", "forecasters": "forecaster_seconds", "closed loop": "rollout_seconds"}


def small(updates: int, episodes: int) -> None:
    """A small part of the table, from demonstrations to rows."""
    wanted = cells_of(studies_named([STUDY]), "gap=6 event-agnostic carousel", seeds=2)
    cells = [replace(cell, steps=updates) for cell in wanted]
    with TemporaryDirectory() as name:
        folder = Path(name)
        marks = [time.perf_counter()]
        orders, placed = pack(cells, folder / "demos", forecaster_steps=updates)
        recording(cells[0], folder / "demos", fresh=True)
        export(orders, placed, folder / "x", folder / "demos")
        marks.append(time.perf_counter())
        train_folder(folder / "x", folder / "back")
        marks.append(time.perf_counter())
        import_results(folder / "back", folder / "results", folder / "runs", folder / "demos", episodes)
        marks.append(time.perf_counter())
        result = read_result(orders[0], folder / "back")
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
    """What the ledger says of the whole table."""
    rows = read_ledger(results / f"{STUDY}.jsonl")
    for device in sorted({row["device"] for row in rows}):
        mine = [row for row in rows if row["device"] == device]
        print(f"{len(mine)} runs of the table, trained on {device}, seconds a run:")
        for part, key in PARTS.items():
            known = [row[key] for row in mine if row.get(key) is not None]
            if known:
                goal = f"   goal {GOAL:g}" if part == "training" else ""
                print(f"  {part:12} mean {mean(known):7.2f}   most {max(known):7.2f}{goal}")
    kept = results / "benchmarks" / "training-cuda.json"
    if kept.exists():
        alone(kept)


def alone(kept: Path) -> None:
    """The default learner at gap 20, the longest task of the table, when nothing else uses the device."""
    found = json.loads(kept.read_text(encoding="utf-8"))
    each = ", ".join(f"{found[f'carousel_{runs}']['s_per_run']:.2f} in a cohort of {runs}" for runs in (8, 32))
    print(f"alone on {found['device']}, the default learner at gap 20, seconds a run:")
    print(f"  training     {each}   goal {GOAL:g}")
    print(f"  forecasters  {found['forecaster_8_s_per_run']:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, help="folder of ledgers, results say")
    parser.add_argument("--updates", type=int, default=5)
    parser.add_argument("--episodes", type=int, default=EPISODES // 16)
    given = parser.parse_args()
    if given.results is not None:
        recorded(given.results)
    else:
        small(given.updates, given.episodes)


if __name__ == "__main__":
    main()
