"""How long `need` takes: 256 episodes × 50 steps × 30 channels on two cores, and the network that reads camera frames.

Run with ``make bench``, or with `--frames 100000 --cores 2 --out FILE.json` as it was for results/benchmarks.
"""

import argparse
import json
import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

# certify.py beside this file has the package's name, so this folder must not be searched
sys.path[:] = [p for p in sys.path if Path(p) != Path(__file__).parent]

from diacritic.demos.readers import from_arrays  # noqa: E402
from diacritic.files.demos import Demos  # noqa: E402
from diacritic.need.answer import need  # noqa: E402

EPISODES, STEPS, CHANNELS = 256, 50, 30
TARGETS = {"states": 60.0, "states, every step open": 60.0, "frames": 600.0, "memory": 4.0}
PIXELS, FILMED = 64, 50  # of a frame's side; steps of a filmed episode


def states(busy: bool) -> Demos:
    """Three cues among drifting channels; `busy`: noise in every action, so that no step can be passed over."""
    from reproduction.need_study.worlds import cues

    rng = np.random.default_rng(0)
    world = cues(3, gap=STEPS - 19)
    demos = world.record(world.draw(EPISODES, rng), rng)
    more = CHANNELS - demos.observations.shape[2]
    drift = np.cumsum(0.3 * rng.standard_normal((STEPS, EPISODES, more)), 0)
    noise = 0.2 * demos.actions.std() * rng.standard_normal(demos.actions.shape) if busy else 0.0
    return from_arrays(np.concatenate([demos.observations, drift], 2), demos.actions + noise, task="benchmark")


def filmed(frames: int) -> Demos:
    """A lamp that is green or blue in two frames of an episode, and one action that follows it, in noisy pictures."""
    rng = np.random.default_rng(0)
    episodes = frames // FILMED
    cue = rng.integers(2, size=episodes)
    pictures = rng.integers(100, 130, size=(FILMED, episodes, PIXELS, PIXELS, 3), dtype=np.uint8)
    pictures[3:5, :, 10:30, 10:30] = np.where(cue[:, None, None, None], [0, 255, 0], [0, 0, 255])
    acted = 0.02 * rng.standard_normal((FILMED, episodes, 2))
    acted[40, :, 0] += cue
    return from_arrays(np.zeros((FILMED, episodes, 1)), acted, frames=pictures, task="filmed")


def answer_frames(frames: int) -> str:
    from diacritic.need.embedding import with_embedding

    return need(with_embedding(filmed(frames), None), plants=0).kind


def timed(work: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    """Seconds, peak memory and the answer of one job, in a process of its own."""
    began = time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        answer, memory = pool.apply(_measured, (work, *arguments))
    return {"seconds": round(time.perf_counter() - began, 1), "memory_gb": round(memory, 2), "answer": answer}


def _measured(work: Callable[..., Any], *arguments: Any) -> tuple[str, float]:
    return work(*arguments), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def answer_states(busy: bool) -> str:
    return need(states(busy)).kind


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=2_000)
    parser.add_argument("--cores", type=int, default=0, help="use so many cores; 0 for all")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.cores:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: given.cores])
        os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(given.cores)))
    results: dict[str, Any] = {"cores": len(os.sched_getaffinity(0)), "frames_read": given.frames}
    for name, work, argument in (
        ("states", answer_states, False),
        ("states, every step open", answer_states, True),
        ("frames", answer_frames, given.frames),
    ):
        results[name] = timed(work, argument)
        print(f"{name}: {results[name]} (at most {TARGETS[name]:g} s, {TARGETS['memory']:g} GB)", flush=True)
        if given.out is not None:
            given.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
