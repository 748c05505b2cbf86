"""Figures of the paper that are not cells of trained runs, and how ours are computed.

A figure is *derived* from the ledgers of the runs, or *measured*: then `python -m reproduction figures-measure NAME…`
computes it once and keeps it in results/figures/NAME.jsonl.
"""

import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from certify.progress import working
from diacritic.studies.results import Results
from reproduction.derive import Derived
from reproduction.figure_lines import enter, line
from reproduction.verdicts import Better, Count, P, Profile, Range, Value, Verdict, judge


@dataclass(frozen=True)
class Figure:
    """One figure of the paper and where ours comes from."""

    name: str
    block: str
    """Section of the reference."""
    paper: Value
    measured: Callable[[], Value | None] | None = None
    derived: Derived | None = None
    within: float = 0.0
    """Largest difference that still agrees."""
    better: Better = None
    tested: bool = True
    """Whether it comes from seeds, so that only a test may call it better."""

    def ours(self, results: Results, study: str) -> Value | None:
        """Our figure, or nothing where it has not been found yet."""
        if self.derived is not None:
            return self.derived(results)
        stored = [row for row in results.files.get(f"figures/{study}", ()) if row["figure"] == self.name]
        return _decoded(stored[0]["value"]) if stored and self.measured is not None else None

    def verdict(self, ours: Value | None, p: P | None = None) -> Verdict:
        return judge(ours, self.paper, self.within, self.better, p, self.tested)


def measure(study: str, figures: Sequence[Figure], results: Path) -> Path | None:
    """Compute the measured figures of a study and keep them; what cannot be computed here stays as it was."""
    lines, path = [], results / "figures" / f"{study}.jsonl"
    for figure in figures:
        if figure.measured is None:
            continue
        begun = time.perf_counter()
        with working(f"{study}: {figure.name}"):
            value = figure.measured()
        if value is not None:
            lines.append(line(figure.name, _encoded(value), time.perf_counter() - begun, processor()))
    if not lines:
        return None
    enter(path, lines, [figure.name for figure in figures])
    return path


def processor() -> str:
    """The processor's own name, where the system tells it."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _encoded(value: Value) -> Any:
    if isinstance(value, Count):
        return {"passed": value.passed, "of": value.of}
    return list(value.values) if isinstance(value, Profile) else {"low": value.low, "high": value.high}


def _decoded(stored: Any) -> Value:
    if isinstance(stored, list):
        return Profile(tuple(stored))
    return Count(stored["passed"], stored["of"]) if "of" in stored else Range(stored["low"], stored["high"])
