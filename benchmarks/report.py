"""How long a report about 1,000 runs takes to write and to open, against reading the runs and checking their digests.

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

from playwright.sync_api import sync_playwright  # noqa: E402
from report_inputs import add_verdict, make_run  # noqa: E402

from diacritic.report.inputs import collect  # noqa: E402
from diacritic.report.page import LIMIT, report  # noqa: E402

RUNS, TARGET, OPEN, WEIGHTS = 1000, 20.0, 5.0, 470_000
CHROMIUM = Path("/usr/bin/chromium")


def make_runs(folder: Path) -> None:
    """One run in three fails, by four learners."""
    weights = folder / "weights"
    weights.write_bytes(bytes(WEIGHTS))
    for seed in range(RUNS):
        path = make_run(folder / "runs", seed, seed % 3 != 0, learner=f"learner-{seed % 4}", weights=weights)
        add_verdict(path)


def seconds_to_open(page: Path) -> float | None:
    """How long a browser takes until every chart stands, where Debian's Chromium is installed."""
    if not CHROMIUM.exists():
        return None
    with sync_playwright() as playwright:
        tab = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"]).new_page()
        began = time.perf_counter()
        tab.goto(page.as_uri())
        tab.wait_for_selector("html[data-ready=yes]", timeout=60_000)
        return time.perf_counter() - began


def main() -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        make_runs(folder)
        runs = str(folder / "runs")
        began = time.perf_counter()
        inputs = collect([runs])
        alone = time.perf_counter() - began
        began = time.perf_counter()
        report(runs, out=folder / "report.html", film=False)
        whole = time.perf_counter() - began
        size = os.path.getsize(folder / "report.html")
        ready = seconds_to_open(folder / "report.html")
    finally:
        shutil.rmtree(folder)
    print(f"{len(inputs.runs)} runs: {whole:.1f} s (target {TARGET:g}), {size / 1e6:.1f} MB (limit {LIMIT / 1e6:g})")
    print(f"reading the runs and checking their digests alone: {alone:.1f} s; ratio {whole / alone:.1f}")
    opening = "no Chromium to open it" if ready is None else f"open and ready in Chromium after {ready:.1f} s"
    print(f"{opening} (target {OPEN:g})")


if __name__ == "__main__":
    main()
