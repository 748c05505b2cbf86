"""The study of `need`: staircases, false alarms, and power, in many processes; rows are kept as they come."""

import json
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from pathlib import Path
from typing import Any

from reproduction.need_study.arm import DEVELOPED, FAMILIES, JUDGED, RECORDED, path_of
from reproduction.need_study.controls import CONTROLS
from reproduction.need_study.stress import STRESSES
from reproduction.need_study.trials import VERSION, Trial, run_trial
from reproduction.need_study.worlds import WORLDS

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
STAIRCASE_SEEDS, CONTROL_SEEDS, STRESS_SEEDS, POWER_SEEDS = 40, 60, 16, 20
POWER_EPISODES, POWER_STRENGTHS, POWER_NOISES = (24, 32, 48, 64, 128), (0.1, 0.2, 0.4, 1.0), (0.05, 0.2)


def trials(scale: float = 1.0, arm: Path | None = None) -> Iterator[Trial]:
    """Every cell and seed; `scale` multiplies the numbers of seeds; `arm` is a folder of the arm's recordings."""

    def seeds(number: int) -> range:
        return range(max(1, round(scale * number)))

    for episodes in (64, 256):
        for family in WORLDS:
            yield from (Trial("staircase", family, episodes, seed) for seed in seeds(STAIRCASE_SEEDS))
    for family, recording in product(FAMILIES, (*DEVELOPED, *JUDGED)):
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


def run(out: Path, jobs: int, scale: float = 1.0, only: str = "", arm: Path | None = None) -> Path:
    """Run what the ledger OUT/need.jsonl lacks, or has of older code; rows are kept as they come, and sorted last."""
    path = out / "need.jsonl"
    rows = {_key(row): row for row in read(path)}
    done = {key for key, row in rows.items() if row.get("version", 1) == VERSION}
    todo = [
        trial
        for trial in trials(scale, arm)
        if only in f"{trial.part} {trial.family}" and _key(vars(trial)) not in done
    ]
    todo.sort(key=lambda trial: -trial.episodes)
    os.environ.update(dict.fromkeys(THREADS, "1"))  # before the workers import numpy
    out.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file, ProcessPoolExecutor(jobs) as pool:
        for number, future in enumerate(as_completed([pool.submit(run_trial, trial, arm) for trial in todo]), 1):
            row = future.result()
            rows[_key(row)] = row
            file.write(json.dumps(row) + "\n")
            file.flush()
            print(f"{number}/{len(todo)} {row['part']} {row['family']} {row['answer']}", flush=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in sorted(rows.values(), key=_key)), encoding="utf-8")
    return path


def read(path: Path) -> list[dict[str, Any]]:
    """The rows that are there."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.endswith("}")]


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("part", "family", "episodes", "stress", "noise", "strength", "seed"))
