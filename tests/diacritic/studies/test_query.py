"""Ledgers in SQL: typed columns, nested fields as JSON, no other file, one line for a bad question."""

from pathlib import Path

import duckdb
import pytest
from report_inputs import ledger_row

from certify.errors import UserError
from diacritic.files.ledger import write_ledger
from diacritic.studies.query import export_parquet, query


@pytest.fixture
def results(tmp_path: Path) -> Path:
    base = ledger_row("x", 0, True)
    first = {**base, "study": "a", "cell": "x", "rate": {"gap 1": 1.5}, "success": None, "beta": 0}
    second = {**base, "study": "a", "cell": "y", "rate": {"gap 1": 0.5}, "success": 0.25, "beta": 0.5}
    write_ledger(tmp_path / "a.jsonl", [first, second])
    write_ledger(tmp_path / "b.jsonl", [{**first, "study": "b", "extra": "only here"}])
    (tmp_path / "other.jsonl").write_text('{"cell": "no ledger"}\n')
    return tmp_path


def test_all_studies_are_one_table(results: Path):
    columns, rows = query(results, "SELECT study, count(*) AS runs, sum(beta) AS b FROM ledger GROUP BY 1 ORDER BY 1")
    assert columns == ["study", "runs", "b"]
    assert rows == [("a", 2, 0.5), ("b", 1, 0.0)]
    assert query(results, "SELECT avg((rate->>'gap 1')::double) FROM ledger WHERE study = 'a'")[1] == [(1.0,)]
    assert query(results, "SELECT count(*) FROM ledger WHERE sufficient AND success IS NULL")[1] == [(2,)]
    assert query(results, "SELECT extra FROM ledger ORDER BY study DESC LIMIT 1")[1] == [("only here",)]


def test_a_bad_question_and_other_files_are_refused_in_one_line(results: Path):
    with pytest.raises(UserError, match="query: Parser Error"):
        query(results, "SELEKT 1")
    with pytest.raises(UserError, match="query: Permission Error"):
        query(results, f"SELECT * FROM read_text('{results / 'other.jsonl'}')")
    for empty in ("", " ; ", "-- a remark"):
        with pytest.raises(UserError, match="query: is empty; give a SELECT"):
            query(results, empty)
    with pytest.raises(UserError, match="holds no ledger"):
        query(results / "nowhere", "SELECT 1")


def test_parquet_holds_every_run(results: Path):
    target = results / "new" / "it's.parquet"
    assert export_parquet(results, target) == 3
    with duckdb.connect() as connection:
        assert connection.execute("SELECT count(*), sum(beta) FROM read_parquet(?)", [str(target)]).fetchall() == [
            (3, 0.5)
        ]
    assert [path.name for path in target.parent.iterdir()] == ["it's.parquet"]
