"""`diacritic ledger` on the ledgers of the repository."""

from pathlib import Path

import pytest

from diacritic.cli import main

RESULTS = str(Path(__file__).parents[3] / "results")


def test_a_question_is_answered_as_a_table(capsys: pytest.CaptureFixture[str]):
    sql = "SELECT study, count(*) > 0 AS [any] FROM ledger GROUP BY 1".replace("[any]", '"[any]"')
    assert main(["ledger", "query", sql, "--results", RESULTS]) == 0
    shown = capsys.readouterr().out
    assert "[any]" in shown
    assert "community" in shown


def test_a_bad_question_is_one_line(capsys: pytest.CaptureFixture[str]):
    assert main(["ledger", "query", "SELECT nothing FROM ledger", "--results", RESULTS]) == 2
    assert capsys.readouterr().err.startswith("diacritic: query: Binder Error")


def test_parquet(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["ledger", "export", "--parquet", str(tmp_path / "all.parquet"), "--results", RESULTS]) == 0
    assert (tmp_path / "all.parquet").stat().st_size > 10_000
    assert "runs" in capsys.readouterr().out
