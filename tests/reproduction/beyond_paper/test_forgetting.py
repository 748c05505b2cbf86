"""The study of forgetting, small."""

from pathlib import Path

from diacritic.files.ledger import merge_ledger, read_ledger
from reproduction.beyond_paper import page
from reproduction.beyond_paper.forgetting import DEVELOPMENT, HELD_OUT, KINDS, line, run_task

ROOT = Path(__file__).parents[3]


def test_development_and_held_out_cells_do_not_meet() -> None:
    assert not set(DEVELOPMENT) & set(HELD_OUT)
    assert set(KINDS) == set(page.KINDS)
    sketch = DEVELOPMENT["readout-3 M=32"]()
    need = [[round(sketch.requirement.bits[t - 1] or 0, 6) for t in window] for window in sketch.windows.values()]
    assert need == [[3, 3, 3], [3] * 7]


def test_rows_hold_both_verdicts(tmp_path: Path) -> None:
    rows = run_task(DEVELOPMENT["passive-t-maze L=10"](), steps=4, seeds=2)
    merge_ledger(tmp_path / "beyond-paper.jsonl", rows)
    kept = read_ledger(tmp_path / "beyond-paper.jsonl")
    assert [row["seed"] for row in kept] == [0, 1]
    assert {row["learner"] for row in kept} == {"plain+forgetting"}
    assert all(set(row["before"]["rate"]) == set(row["rate"]) for row in kept)
    assert "of 2; largest surplus" in line(rows)


def test_the_page_counts_the_revised_seeds_as_the_ledger_does() -> None:
    rows = [row for row in read_ledger(ROOT / "results" / "forgetting.jsonl") if row["kind"] == "revised"]
    assert all(row["sufficient"] and row["largest_surplus"] <= 1e-9 for row in rows)
    before = sum(row["before"]["sufficient"] for row in rows)
    said = (
        f"every one of the {len(rows)} seeds is sufficient and without surplus once it is revised; before, {before} are"
    )
    assert said in " ".join((ROOT / "docs" / "beyond_paper.md").read_text().split())
