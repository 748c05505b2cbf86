"""The command line as a process: what it says when it is stopped, and when nobody listens any more."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from diacritic import cli


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_leaves_early_ends_it_quietly(unbuffered: str):
    reading, writing = os.pipe()
    os.close(reading)  # as `diacritic figure list | head -0` does
    try:
        done = subprocess.run(
            [sys.executable, "-m", "diacritic.cli", "figure", "list"],
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

    monkeypatch.setattr(cli.Report, "run", interrupted)
    assert cli.main(["report", "gap"]) == 130
    assert capsys.readouterr().err == "diacritic: interrupted; run the same command again to go on\n"


def test_bad_input_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert cli.main(["report", str(tmp_path / "nothing.json")]) == 2
    said = capsys.readouterr().err
    assert said.startswith("diacritic: ")
    assert said.count("\n") == 1
