"""The table of what `carousel` gains from choices of the release is that of the ledgers."""

from collections import defaultdict
from pathlib import Path

from diacritic.files.ledger import read_ledger
from reproduction.ingredients import PRESETS, RECORDED, STUDIES, SYMBOLIC

ROOT = Path(__file__).parents[2]


def test_the_page_shows_the_ledgers():
    passed: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for study in STUDIES:
        for row in read_ledger(ROOT / "results" / f"{study.name}.jsonl"):
            passed[row["preset"], row["task"]].append(row["sufficient"])
    tasks = [*(task.title for task, _ in SYMBOLIC), *(task.title for task in RECORDED)]
    page = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    assert {len(seeds) for seeds in passed.values()} == {8}
    for preset in PRESETS:
        counts = [str(sum(passed[preset, task])) if (preset, task) in passed else "–" for task in tasks]
        assert f"| {preset} | {' | '.join(counts)} |" in page
