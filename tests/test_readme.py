"""The results that the front page tells are those of the ledgers, and the citation is that of this version."""

from collections.abc import Sequence
from pathlib import Path
from statistics import mean

import pytest

from diacritic._version import __version__
from diacritic.files.ledger import Row
from diacritic.studies.cell import Cell
from diacritic.studies.results import Results
from reproduction.catalogue import STUDIES
from reproduction.paper import paper_count

ROOT = Path(__file__).parents[1]
TOLD = {
    "robot arm, two cues, gap 6": ("learning-targets", "two-cues gap=6"),
    "robot arm, two cues, gap 20": ("learning-targets", "two-cues gap=20"),
    "robot arm, all of 32 modes shown, two bits needed": ("learning-targets", "full-reveal modes=32"),
    "memory chain, three bits, delay 100": ("community", "memory-chain bits=3 delay=100"),
    "passive T-maze, length 100": ("community", "passive-t-maze L=100"),
}


BEST = {"learning-targets": ("event-agnostic", "task-informed")}
"""Learners of the paper that are told more than plain ones."""


def _shows(cell: Cell, title: str) -> bool:
    """As symbols, or as the environment's own numbers."""
    return cell.task.title in (title, f"{title} raw=1")


def _cell(study: str, task: str, learner: str, preset: str) -> Cell | None:
    cells = STUDIES[study].cells
    return next((c for c in cells if c.learner == learner and c.preset.startswith(preset) and _shows(c, task)), None)


def _counted(results: Results, cell: Cell | None) -> str:
    rows = [] if cell is None else results.complete(cell)
    if cell is None or not rows:
        return "—"
    version = "" if rows[0].get("task_version", 1) == cell.task.version else " *v1*"
    return f"{sum(row['sufficient'] for row in rows)}/{len(rows)}{version}"


def _beyond_and_success(rows: Sequence[Row]) -> list[str]:
    """Bits beyond the requirement where sufficient runs carry most, and success in closed loop."""
    good = [row for row in rows if row["sufficient"]]
    windows = good[0]["surplus"] if good else ()
    surplus = [mean(max(0.0, row["surplus"][window] or 0.0) for row in good) for window in windows]
    return [f"{max(surplus):.2f}" if surplus else "—", f"{mean(row['success'] for row in rows):.2f}"]


def line_of(told: str) -> str:
    """One line of the table, from the ledgers and the paper's figures."""
    study, task = TOLD[told]
    results = Results.read(ROOT / "results")
    ours = _cell(study, task, "plain", "carousel")
    revised = [_cell("revision", task, f"plain+{name}", "carousel") for name in ("robust-revision", "revision")]
    after = next(cell for cell in revised if cell is not None)
    assert ours is not None
    count = paper_count(ours)
    assert count is not None
    others = [_cell(study, task, learner, "carousel") for learner in BEST.get(study, ())]
    counts = [paper_count(cell) for cell in others if cell is not None]
    best = max((c for c in counts if c is not None), default=None)
    columns = [
        "{}/{}".format(*count),
        "—" if best is None else "{}/{}".format(*best),
        _counted(results, _cell(study, task, "plain", "release")),
        _counted(results, ours),
        *_beyond_and_success(results.complete(ours)),
        _counted(results, after),
        *_beyond_and_success(results.complete(after)),
    ]
    return f"| {told} | {' | '.join(columns)} |"


@pytest.mark.parametrize("told", TOLD)
def test_the_front_page_tells_what_the_ledgers_hold(told: str) -> None:
    assert line_of(told) in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_citation_is_of_this_version_and_names_the_paper():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {__version__}\n" in text
    assert "2609.25757" in text
    assert all(f"family-names: {name}}}" in text for name in ("Li", "Xu", "Min", "Tian", "Du"))
