"""The table over the cells past the paper, from rows made here."""

from typing import Any

from study_rows import run_of

from diacritic.files.ledger import Row
from diacritic.studies.results import Results
from reproduction.beyond_paper.cells import CELLS
from reproduction.beyond_paper.reach import first_rows, reach, summary, surplus

PLAIN = next(cell for cell in CELLS if cell.name.startswith("two-cues gap=20") and cell.learner == "plain")
CHAIN = next(cell for cell in CELLS if cell.name.startswith("memory-chain bits=2 delay=100 "))


def made(cell: Any, seed: int, **more: Any) -> Row:
    bits = {"conditional_surplus": {"gap1": 0.01 * seed, "gap2": None}, "surplus": {}}
    fields = {**bits, "seconds": 1.0, "sufficient": seed > 0}
    return run_of(cell, seed, **{**fields, **more})


def last(rows: list[Row], cell: Any = PLAIN, **files: list[Row]) -> list[str]:
    line = reach(Results({"some": rows, **files}), [cell]).splitlines()[-1]
    return line.strip("| ").split(" | ")


def test_a_cell_without_rows_has_not_run_and_still_shows_the_paper() -> None:
    assert last([])[2:] == ["plain, carousel", "not run", "1/8", *"————"]


def test_sufficient_seeds_alone_have_a_surplus_and_missing_seeds_are_told() -> None:
    rows = [made(PLAIN, seed, first_sufficient_step=500 * seed or None, success=seed / 4) for seed in range(4)]
    assert last(rows)[3:] == ["3/4 of 8 seeds so far", "1/8", "gap1 0.03, gap2 –", "0.38", "1000", "1.0 (cpu)"]
    assert surplus([made(PLAIN, 0)]) == {}
    assert last([made(PLAIN, seed, success=None) for seed in range(8)])[3:7] == ["7/8", "1/8", "gap1 0.07, gap2 –", "—"]


def test_without_unique_classes_the_rate_beyond_the_requirement_counts() -> None:
    for beyond, told in ((0.25, 0.25), (-0.0, 0.0), (-1.0, None), (None, None)):
        assert surplus([made(PLAIN, 1, surplus={"gap1": 9.0, "gap2": beyond})]) == {"gap1": 0.01, "gap2": told}


def test_a_time_that_several_cells_share_is_marked() -> None:
    alone, other = made(PLAIN, 0, seconds=2.5), made(CHAIN, 0, seconds=2.5)
    assert last([alone])[-1] == "2.5 (cpu)"
    assert last([alone, other])[-1] == "2.5† (cpu)"
    assert last([alone, other | {"code_version": "def"}])[-1] == "2.5 (cpu)"


def test_symbolic_cells_take_their_first_update_from_runs_that_were_followed() -> None:
    followed = {"cell": CHAIN.name, "preset": "carousel", "learner": "plain, followed", "updates": 400}
    followed |= {"seconds": 1.0, "device": "cpu", "code_version": "abc"}
    files = {"long-delays-first-sufficient": [followed | {"first_sufficient": step} for step in (200, 300, None)]}
    assert [row["first_sufficient"] for row in first_rows(Results(files), [CHAIN])] == [200, 300, None]
    assert first_rows(Results(files), [PLAIN]) == []
    assert last([], CHAIN, **files)[-2] == "250"


def test_the_goal_asks_for_seeds_and_for_every_window() -> None:
    exact = {"conditional_surplus": {"gap1": 0.05, "gap2": 0.0}}
    whole = [made(PLAIN, seed, **exact) for seed in range(8)]
    loose = [made(CHAIN, seed, surplus={"query": 0.06}) for seed in range(8)]
    assert "2 of 2 cells" in (told := summary(Results({"some": whole + loose}), [PLAIN, CHAIN]))
    assert "sufficient in 2 of these, and in 1 every window" in told
    failed = [row | {"sufficient": row["seed"] > 1} for row in whole]
    assert "sufficient in 0 of these, and in 0 " in summary(Results({"some": failed}), [PLAIN])
    assert "0 of 1 cells" in summary(Results({"some": whole[:7]}), [PLAIN])
