"""The page past the paper shows what the ledgers hold."""

from pathlib import Path

import pytest

from certify.errors import ModelError
from diacritic.studies.ledger import read_ledger
from diacritic.studies.past.page import TABLES, by_task, filled, forgetting

ROOT = Path(__file__).parents[4]


def test_the_tables_are_those_of_the_ledgers() -> None:
    page = (ROOT / "docs" / "past.md").read_text(encoding="utf-8")
    assert filled(page, ROOT / "results") == page


def test_sufficient_seeds_alone_have_a_surplus() -> None:
    rows = read_ledger(ROOT / "results" / "past-forgetting.jsonl")
    cell = next(iter(by_task(rows).values()))
    failed = [row | {"sufficient": False} for row in cell]
    assert forgetting(failed).endswith("| 0/8 | — | — |")


def test_numbers_in_names_are_sorted_as_numbers() -> None:
    assert list(by_task([{"task": "x 100"}, {"task": "x 9"}])) == ["x 9", "x 100"]


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(ModelError, match="the page has no marks"):
        filled("nothing here", ROOT / "results")


def test_empty_marks_are_filled_and_what_stands_around_them_stays() -> None:
    marks = "".join(f"<!-- {name} -->\n<!-- end of {name} -->\nafter {name}\n" for name in TABLES)
    page = filled(f"before\n{marks}", ROOT / "results")
    assert page.startswith("before\n")
    assert all(f"\n<!-- end of {name} -->\nafter {name}\n" in page for name in TABLES)
    assert filled(page, ROOT / "results") == page
