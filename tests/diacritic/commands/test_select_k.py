"""`diacritic select-k` starts at the certified bound and resumes from its ledger."""

from pathlib import Path

import pytest
from exchanged import PLAIN

from diacritic.cli import main
from diacritic.commands.select_k import fewest_codes
from diacritic.files.ledger import read_ledger
from diacritic.studies.cell import Cell
from diacritic.studies.tasks import task


def test_a_cue_of_one_bit_takes_two_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    words = ["select-k", "memory-chain", "bits=1", "delay=3", "--seeds", "2", "--steps", "600", "--out", str(tmp_path)]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "the certified bound is 2 codes" in said
    assert said.splitlines()[-1] == "K = 2"
    before = (tmp_path / "select-k.jsonl").read_text()
    assert main(words) == 0
    assert (tmp_path / "select-k.jsonl").read_text() == before
    assert {row["K"] for row in read_ledger(tmp_path / "select-k.jsonl")} == {2, 3}


def test_no_size_is_status_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    words = ["select-k", "memory-chain", "bits=1", "delay=3", "--seeds", "1", "--steps", "1", "--out", str(tmp_path)]
    assert main(words) == 1
    assert "no K up to 16" in capsys.readouterr().err


def test_the_bound_of_a_recording_is_that_of_its_classes(tmp_path: Path):
    assert fewest_codes(PLAIN, tmp_path) == 4
    assert fewest_codes(Cell("x", task("reveal"), "plain", "carousel", "full", 0.0, 1), tmp_path) == 4


def test_bad_words_are_one_line(capsys: pytest.CaptureFixture[str]):
    assert main(["select-k", "memory-chain", "bits=1", "--learner", "plan"]) == 2
    assert "no learner is called 'plan'" in capsys.readouterr().err
    assert main(["select-k", "two-cues", "gap=much"]) == 2
    assert "'much' is not of type int" in capsys.readouterr().err
