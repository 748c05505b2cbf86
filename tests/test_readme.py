"""The results that the front page tells are those of the ledgers."""

from pathlib import Path
from statistics import mean

import pytest

from diacritic.studies.results import Results
from reproduction.catalogue import STUDIES
from reproduction.paper import paper_count

ROOT = Path(__file__).parents[1]
TOLD = {
    "robot arm, two cues, gap 20": ("learning-targets", "two-cues gap=20"),
    "robot arm, all of 32 modes shown, two bits needed": ("learning-targets", "full-reveal modes=32"),
    "memory chain, three bits, delay 100": ("community", "memory-chain bits=3 delay=100"),
    "passive T-maze, length 100": ("community", "passive-t-maze L=100"),
}


@pytest.mark.parametrize("told", TOLD)
def test_the_front_page_tells_what_the_ledgers_hold(told: str) -> None:
    study, task = TOLD[told]
    kind = ("plain", "carousel", task)
    (cell,) = [c for c in STUDIES[study].cells if (c.learner, c.preset, c.task.title) == kind]
    rows = Results.read(ROOT / "results").complete(cell)
    assert len(rows) == 8
    count = paper_count(cell)
    assert count is not None
    counts = "{}/{}".format(*count), f"{sum(row['sufficient'] for row in rows)}/8"
    line = f"| {told} | {' | '.join(counts)} | {mean(row['success'] for row in rows):.2f} |"
    assert line in (ROOT / "README.md").read_text(encoding="utf-8")
