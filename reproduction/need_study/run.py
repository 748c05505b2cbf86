"""The study of `need`: staircases, false alarms, and power, in many processes; rows are kept as they come."""

import json
import os
import random
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from diacritic.files.atomic import write_text
from reproduction.need_study.arm import FAMILIES, RECORDED, path_of, seeds_of
from reproduction.need_study.controls import CONTROLS
from reproduction.need_study.stress import STRESSES
from reproduction.need_study.trials import VERSION, Trial, run_trial
from reproduction.need_study.worlds import WORLDS

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
STAIRCASE_SEEDS, CONTROL_SEEDS, STRESS_SEEDS, POWER_SEEDS = 40, 60, 32, 20
POWER_EPISODES = (24, 32, 48, 64, 128, 256)
POWER_STRENGTHS, POWER_NOISES = (0.1, 0.2, 0.4, 1.0), (0.05, 0.1, 0.2)


def trials(scale: float = 1.0, arm: Path | None = None) -> Iterator[Trial]:
    """Every cell and seed; `scale` multiplies the numbers of seeds; `arm` is a folder of the arm's recordings."""

    def seeds(number: int) -> range:
        return range(max(1, round(scale * number)))

    for episodes in (64, 256):
        for family in WORLDS:
            yield from (Trial("staircase", family, episodes, seed) for seed in seeds(STAIRCASE_SEEDS))
    recordings = [(family, each) for family in FAMILIES for each in seeds_of(family)]
    for family, recording in recordings:
        if arm is not None and path_of(arm, family, recording).exists():
            yield Trial("arm", family, RECORDED, recording)
            yield from (Trial("arm", family, RECORDED // 4, 4 * recording + k) for k in range(4))
    for family in CONTROLS:
        yield from (Trial("control", family, 64, seed) for seed in seeds(CONTROL_SEEDS))
        yield from (Trial("control", family, 256, seed) for seed in seeds(CONTROL_SEEDS // 5))
        for stress in STRESSES:
            yield from (Trial("control", family, 64, seed, stress) for seed in seeds(STRESS_SEEDS))
    for episodes in POWER_EPISODES:
        for strength in POWER_STRENGTHS:
            for noise in POWER_NOISES:
                for seed in seeds(POWER_SEEDS):
                    yield Trial("power", "cues-1-of-2", episodes, seed, noise=noise, strength=strength)


def run(
    out: Path, jobs: int, scale: float = 1.0, only: str = "", arm: Path | None = None, limit: float | None = None
) -> Path:
    """Run what the ledger OUT/need.jsonl lacks; rows are kept as they come, and sorted last.

    The order is random, so that what is there after `limit` seconds, or when the study is killed, is a fair sample.
    """
    path = out / "need.jsonl"
    rows = {_key(row): row for row in read(path)}
    todo = [
        trial
        for trial in trials(scale, arm)
        if only in f"{trial.part} {trial.family}" and _key(vars(trial)) not in rows
    ]
    random.Random(0).shuffle(todo)
    os.environ.update(dict.fromkeys(THREADS, "1"))  # before the workers import numpy
    out.mkdir(parents=True, exist_ok=True)
    _end_last_line(path)
    end = time.monotonic() + limit if limit is not None else float("inf")
    with path.open("a", encoding="utf-8") as file, ProcessPoolExecutor(jobs) as pool:
        for number, future in enumerate(as_completed([pool.submit(run_trial, trial, arm) for trial in todo]), 1):
            row = future.result()
            rows[_key(row)] = row
            file.write(json.dumps(row) + "\n")
            file.flush()
            print(f"{number}/{len(todo)} {row['part']} {row['family']} {row['answer']}", flush=True)
            if time.monotonic() > end:
                pool.shutdown(cancel_futures=True)
                break
    write_text(path, "".join(json.dumps(row) + "\n" for row in sorted(rows.values(), key=_key)))
    return path


def read(path: Path) -> list[dict[str, Any]]:
    """The whole rows of the present code that are there."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]
    return [row for row in rows if row.get("version") == VERSION]


def _end_last_line(path: Path) -> None:
    """A row that was cut off gets a line of its own, which is then passed over."""
    if path.exists() and path.stat().st_size and not path.read_bytes().endswith(b"\n"):
        with path.open("a", encoding="utf-8") as file:
            file.write("\n")


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("part", "family", "episodes", "stress", "noise", "strength", "seed"))
