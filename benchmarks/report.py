"""How long a report about 1,000 runs takes, against reading the same runs and checking their digests alone.

Run as ``python benchmarks/report.py``. The runs are of the gap toy, with verdicts; their weights are links to one file
of the usual size.
"""

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

# certify.py beside this file has the package's name, so this folder must not be searched; the runs are a test's
sys.path[:] = [p for p in sys.path if Path(p) != Path(__file__).parent]
sys.path.append(str(Path(__file__).parents[1] / "tests"))

from report_inputs import add_verdict, make_run  # noqa: E402

from diacritic.report.inputs import collect  # noqa: E402
from diacritic.report.page import LIMIT, report  # noqa: E402

RUNS, TARGET, WEIGHTS = 1000, 20.0, 470_000


def make_runs(folder: Path) -> None:
    """One run in three fails, by four learners."""
    weights = folder / "weights"
    weights.write_bytes(bytes(WEIGHTS))
    for seed in range(RUNS):
        path = make_run(folder / "runs", seed, seed % 3 != 0, learner=f"learner-{seed % 4}", weights=weights)
        add_verdict(path)


def main() -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        make_runs(folder)
        runs = str(folder / "runs")
        began = time.perf_counter()
        found = collect([runs])
        alone = time.perf_counter() - began
        began = time.perf_counter()
        report(runs, out=folder / "report.html", film=False)
        whole = time.perf_counter() - began
        size = os.path.getsize(folder / "report.html")
    finally:
        shutil.rmtree(folder)
    print(f"{len(found.runs)} runs: {whole:.1f} s (target {TARGET:g}), {size / 1e6:.1f} MB (limit {LIMIT / 1e6:g})")
    print(f"reading the runs and checking their digests alone: {alone:.1f} s; ratio {whole / alone:.1f}")


if __name__ == "__main__":
    main()
