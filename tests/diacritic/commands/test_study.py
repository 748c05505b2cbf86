"""`diacritic study` from end to end, on tiny cells."""

import json
from pathlib import Path

import pytest
from own_study import FILE

from diacritic.cli import main
from diacritic.files.ledger import read_ledger
from diacritic.files.lock import locked
from diacritic.training.worker import train_folder

OWN = ("--studies", str(FILE))
CHOSEN = ("arm", *OWN, "--only", "gap=6 plain", "--quick", "--seeds", "1")


def options(folder: Path) -> list[str]:
    return ["--results", str(folder / "results"), "--demos", str(folder / "demos"), "--runs", str(folder / "runs")]


def test_list_show_and_status_say_what_is_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    nothing = ["--results", str(tmp_path)]
    assert main(["study", "list", *OWN, *nothing]) == 0
    assert "The arm" in capsys.readouterr().out
    assert main(["study", "show", "arm", *OWN, "--only", "gap=20 event-agnostic"]) == 0
    assert "elsewhere 7/8" in capsys.readouterr().out
    assert main(["study", "status", "toys", *OWN, *nothing]) == 0
    assert "toys: 0 of 2 cells complete" in capsys.readouterr().out


def test_a_file_of_ones_own_is_run_and_its_ledger_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    words = ["toys", *OWN, "--quick", "--together", "2", "--work", str(tmp_path / "work"), *options(tmp_path)]
    assert main(["study", "run", *words]) == 0
    assert "2 cells, 2 cohorts to run" in capsys.readouterr().out
    assert len(read_ledger(tmp_path / "results" / "toys.jsonl")) == 4
    sql = "SELECT learner, count(*) FROM ledger GROUP BY 1 ORDER BY 1"
    assert main(["ledger", "query", sql, "--results", str(tmp_path / "results")]) == 0
    assert "2 rows" in capsys.readouterr().out


def test_what_is_exported_trained_and_imported_is_in_the_ledger(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = str(tmp_path / "x")
    assert main(["study", "export", *CHOSEN, "-o", folder, *options(tmp_path)]) == 0
    assert "1 cells, 1 cohorts, 1 runs" in capsys.readouterr().out
    train_folder(tmp_path / "x", tmp_path / "back")
    assert main(["study", "import", str(tmp_path / "back"), *options(tmp_path), "--episodes", "2"]) == 0
    assert "1 cells got new rows" in capsys.readouterr().out
    (row,) = read_ledger(tmp_path / "results" / "arm.jsonl")
    assert (row["steps"], row["seed"], row["episodes"]) == (20, 0, 2)
    manifest = json.loads((tmp_path / "runs" / row["run"] / "run.json").read_text())
    assert manifest["demos_sha256"] == row["demos_sha256"]
    assert main(["study", "export", *CHOSEN, "-o", folder, *options(tmp_path)]) == 2
    assert "nothing to export" in capsys.readouterr().err
    assert main(["study", "run", *CHOSEN, "--work", str(tmp_path / "work"), *options(tmp_path)]) == 0
    assert "1 cells, 0 cohorts to run" in capsys.readouterr().out


def test_a_dry_run_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert main(["study", "run", "toys", *OWN, "--only", "plain+bfs", "--dry-run"]) == 0
    assert "gap gap2=2 β=0.03" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_a_second_runner_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with locked(tmp_path / "results"):
        assert main(["study", "run", *CHOSEN, "--work", str(tmp_path / "work"), *options(tmp_path)]) == 2
    assert "another runner is at work" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run"], "--studies: give a Python file"),
        (["run", "toy", *OWN], "did you mean toys"),
        (["run", "toys", *OWN, "--engine", "slurm"], "no engine is called 'slurm'"),
        (["run", "nothing", *OWN], "nothing: trains nothing"),
        (["import", "nowhere", "--results", "nowhere/results"], "cannot be read"),
        (["export", "toys", *OWN, "-o", "x"], "has no recorded cells"),
    ],
)
def test_bad_words_are_one_line(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    assert main(["study", *words]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert said in lines[0]
