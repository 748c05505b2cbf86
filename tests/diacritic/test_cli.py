"""The command line as a process: what it says when it is stopped, and when nobody listens any more."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from diacritic import cli
from diacritic.commands.report import Report


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_leaves_early_ends_it_quietly(unbuffered: str):
    reading, writing = os.pipe()
    os.close(reading)  # as `diacritic train gap --learner help | head -0` does
    try:
        done = subprocess.run(
            [sys.executable, "-m", "diacritic.cli", "train", "gap", "--learner", "help"],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_interrupt_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(Report, "run", interrupted)
    assert cli.main(["report", "gap"]) == 130
    assert capsys.readouterr().err == "diacritic: interrupted; run the same command again to continue\n"


def test_bad_input_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert cli.main(["report", str(tmp_path / "nothing.json")]) == 2
    said = capsys.readouterr().err
    assert said.startswith("diacritic: ")
    assert said.count("\n") == 1


def test_certify_is_a_command_of_its_own(capsys: pytest.CaptureFixture[str]):
    assert cli.main(["certify", "gap", "--gap2", "2"]) == 0
    assert "gap" in capsys.readouterr().out
    assert cli.main(["certify", "no-such-task"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (OSError(28, "No space left on device", "runs/x"), "diacritic: runs/x: No space left on device\n"),
        (
            ModuleNotFoundError("No module named 'mujoco'", name="mujoco"),
            'diacritic: mujoco: is not installed; run: pip install "diacritic[robot]"\n',
        ),
    ],
)
def test_what_the_machine_lacks_is_one_line(
    problem: Exception, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def failing(*_: object) -> int:
        raise problem

    monkeypatch.setattr(Report, "run", failing)
    assert cli.main(["report", "gap"]) == 2
    assert capsys.readouterr().err == said
