"""How fast a cohort is measured: 32 runs × 47 steps × 2,048 episodes against the loop over runs and steps.

Run as ``python benchmarks/measure.py``. Codes are half random, half carriers of both cues with a spare bit.
"""

import sys
import time
from pathlib import Path

import numpy as np

# certify.py beside this file has the package's name, so this folder must not be searched; the literal twin is a test's
sys.path[:] = [p for p in sys.path if Path(p) != Path(__file__).parent]
sys.path.append(str(Path(__file__).parents[1] / "tests"))

from counting_twin import literal_cohort  # noqa: E402

from diacritic.measure.recorded import Classes, score_cohort  # noqa: E402

STEPS, EPISODES, RUNS, CODES = 47, 2048, 32, 16


def recording(random: np.random.Generator) -> tuple[Classes, np.ndarray]:
    """Two cues shown at steps 3 to 5 and used at steps 8 and 38, with a hover nuisance; and codes for it."""
    first, second, hover = random.integers(0, 2, (3, EPISODES))
    symbols, choices = np.zeros((STEPS, EPISODES), np.int64), np.zeros((STEPS, EPISODES), np.int64)
    for t in range(STEPS):
        symbols[t] = 10 * t + (hover if t < 8 else 0)
        if 3 <= t < 6:
            symbols[t] = 1000 + 8 * t + 4 * hover + 2 * first + second
        if 9 < t < 16:
            symbols[t] = 2000 + 4 * t + first
        if t > 39:
            symbols[t] = 3000 + 4 * t + second
    choices[8:10], choices[38:40] = 1 + first, 3 + second
    codes = random.integers(0, CODES, (RUNS, STEPS, EPISODES)).astype(np.uint16)
    spare = random.integers(0, 2, (RUNS // 2, STEPS, EPISODES))
    codes[: RUNS // 2] = 4 * first + 2 * second + spare
    return Classes.of(symbols, choices), codes


def main() -> None:
    classes, codes = recording(np.random.default_rng(0))
    scores, times = score_cohort(codes, classes), []
    for _ in range(7):
        began = time.perf_counter()
        score_cohort(codes, classes)
        times.append(time.perf_counter() - began)
    fast = float(np.median(times))
    began = time.perf_counter()
    literal = literal_cohort(codes, classes)
    slow = time.perf_counter() - began
    table = np.array(literal, np.float64)
    worst = max(
        float(np.nanmax(np.abs(table[..., k] - getattr(scores, name)))) for k, name in enumerate(literal[0][0]._fields)
    )
    print(f"{RUNS} runs × {STEPS} steps × {EPISODES} episodes: {1e3 * fast:.0f} ms (median of 7)")
    print(
        f"loop over runs and steps: {slow:.1f} s; ratio {slow / fast:.0f} (target 50); largest difference {worst:.1e}"
    )


if __name__ == "__main__":
    main()
