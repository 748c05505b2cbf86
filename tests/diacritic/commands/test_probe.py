"""Probing recordings from the command line: a clean one passes, an injected leak ends with status 1."""

import json
from pathlib import Path

import pytest

from diacritic.cli import main
from diacritic.demos.record import record
from diacritic.files.demos import save
from diacritic.tasks.registry import make as make_task


@pytest.mark.parametrize(("leak", "status"), [(0.0, 0), (8.0, 1)])
def test_an_injected_leak_is_caught(
    leak: float, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task = make_task("two-cues", gap=2, first_gap=1, leak=leak)
    save(record(task, 128, seed=3)[0], tmp_path / "demos")
    assert main(["probe", str(tmp_path / "demos.npz")]) == status
    said = capsys.readouterr().out
    assert ("FAILED  raw observations" in said) == bool(status)
    assert "ok      previous actions: 6 of 6" in said
    document = json.loads((tmp_path / "demos.probe.json").read_text())
    assert document["passed"] is not bool(status)
    wrong = {(c["phase"], c["variable"]) for c in document["probes"]["raw observations"]["cells"] if not c["passed"]}
    shown = {("scan", "side")}  # at one step of the phase; not every probe of the others finds it
    assert wrong - shown == ({("gap2", "slot")} if status else set())
    assert document["held_out"] == 32


def test_what_is_no_recording_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["probe"]) == 2
    assert "probe: give at least one recording" in capsys.readouterr().err
