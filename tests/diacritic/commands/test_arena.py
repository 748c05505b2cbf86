"""`diacritic arena` from the command line."""

from pathlib import Path

import pytest

from diacritic.cli import main
from diacritic.studies import arena
from diacritic.studies.tasks import task


def test_run_and_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(arena, "TASKS", (task("passive-t-maze", L=2),))
    chosen = ["--memory", "frames 4", "--memory", "GRU", "--steps", "40", "--seeds", "1"]
    assert main(["arena", "run", *chosen, "--device", "cpu"]) == 0
    assert "1/1" in capsys.readouterr().out
    assert main(["arena", "show", *chosen]) == 0
    shown = capsys.readouterr().out
    assert "frames" in shown
    assert "passive-t-maze" in shown


def test_an_unknown_memory_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["arena", "show", "--memory", "elephant"]) == 2
    assert "no memory is called 'elephant'" in capsys.readouterr().err
