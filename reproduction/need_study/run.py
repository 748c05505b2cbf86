"""The study of `need`: staircases, false alarms, and power, in many processes; rows are kept as they come."""

import json
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from reproduction.need_study.controls import CONTROLS
from reproduction.need_study.stress import STRESSES
from reproduction.need_study.trials import Trial, run_trial
from reproduction.need_study.worlds import WORLDS

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
STAIRCASE_SEEDS, CONTROL_SEEDS, STRESS_SEEDS, POWER_SEEDS = 40, 60, 16, 20
POWER_EPISODES, POWER_STRENGTHS, POWER_NOISES = (24, 32, 48, 64, 128), (0.1, 0.2, 0.4, 1.0), (0.05, 0.2)


def trials(scale: float = 1.0) -> Iterator[Trial]:
    """Every cell and seed; `scale` multiplies the numbers of seeds."""

    def seeds(number: int) -> range:
        return range(max(1, round(scale * number)))

    for episodes in (64, 256):
        for family in WORLDS:
            yield from (Trial("staircase", family, episodes, seed) for seed in seeds(STAIRCASE_SEEDS))
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


def run(out: Path, jobs: int, scale: float = 1.0, only: str = "") -> Path:
    """Run what the ledger OUT/need.jsonl lacks; each row is appended as it comes, and the file is sorted at the end."""
    path = out / "need.jsonl"
    rows = read(path)
    done = {_key(row) for row in rows}
    todo = [
        trial for trial in trials(scale) if only in f"{trial.part} {trial.family}" and _key(vars(trial)) not in done
    ]
    todo.sort(key=lambda trial: -trial.episodes)
    os.environ.update(dict.fromkeys(THREADS, "1"))  # before the workers import numpy
    out.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file, ProcessPoolExecutor(jobs) as pool:
        for number, future in enumerate(as_completed([pool.submit(run_trial, trial) for trial in todo]), 1):
            row = future.result()
            rows.append(row)
            file.write(json.dumps(row) + "\n")
            file.flush()
            print(f"{number}/{len(todo)} {row['part']} {row['family']} {row['answer']}", flush=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in sorted(rows, key=_key)), encoding="utf-8")
    return path


def read(path: Path) -> list[dict[str, Any]]:
    """The rows that are there."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.endswith("}")]


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("part", "family", "episodes", "stress", "noise", "strength", "seed"))
