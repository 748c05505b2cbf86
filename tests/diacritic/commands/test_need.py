"""`diacritic need` from a file to its documents."""

from pathlib import Path

import numpy as np
import pytest
from need_data import recorded

import diacritic as dia
from diacritic.cli import main
from diacritic.files.demos import load, save


def test_from_a_recording_to_verified_witnesses(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    save(recorded("cues-1-of-2"), tmp_path / "demos")
    out = tmp_path / "out"
    assert main(["need", str(tmp_path / "demos"), "--plants", "0", "--card", "-o", str(out)]) == 0
    assert "MEMORY NEEDED   0.98 bit at steps 4–12" in capsys.readouterr().out
    assert {path.name for path in out.iterdir()} == {"need.json", "witnesses.json", "need.md", "need.html"}
    page = (out / "need.html").read_text(encoding="utf-8")
    assert "D1 is shown at step 2" in page
    assert "bits required at each of 15 steps" in page
    assert main(["report", str(out), "-o", str(tmp_path / "report.html")]) == 0
    assert "left out" not in capsys.readouterr().out
    assert main(["need", str(tmp_path / "demos"), "--check", str(out / "witnesses.json")]) == 0
    assert "3 pairs verified" in capsys.readouterr().out


def test_bad_input_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    save(recorded("cues-1-of-2"), tmp_path / "demos")
    for bad in (
        ["nowhere"],
        [str(tmp_path / "demos"), "--align", "dawn"],
        [str(tmp_path / "demos"), "--embedding", "none.npy"],
        [str(tmp_path / "demos"), "--embedding", "no.such:thing"],
    ):
        assert main(["need", *bad, "-o", str(tmp_path / "out")]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "out").exists()


class FollowsTheCue:
    """Reads the cue in the second frame and moves by it when it is asked."""

    def reset(self) -> None:
        self.step, self.cue = 0, 0.0

    def act(self, observation: np.ndarray) -> np.ndarray:
        if self.step == 1:
            self.cue = float(np.sign(observation[2])) / 2
        self.step += 1
        return np.array([self.cue if self.step == USED else 0.0, 0.0])


USED = 12  # the step that uses the cue of this world


def test_from_need_to_policy(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """What was found is a convention of the recording, so every other command takes it."""
    save(recorded("cues-1-of-2"), tmp_path / "demos")
    labelled, out = str(tmp_path / "labelled"), str(tmp_path / "runs")
    assert main(["need", str(tmp_path / "demos"), "--plants", "0", "-o", str(tmp_path), "--labelled", labelled]) == 0
    assert [round(step.upper) for step in dia.requirement(load(labelled)).steps] == [0] * 3 + [1] * 9 + [0] * 3
    capsys.readouterr()
    small = ("--demonstrations", "48", "--seeds", "1", "--steps", "2", "--codes", "4", "--device", "cpu")
    assert main(["train", labelled, *small, "--out", out]) == 0
    assert "0/1 sufficient on 16 held-out episodes" in capsys.readouterr().out
    (run,) = (path.parent for path in Path(out).glob("*/run.json"))
    assert main(["measure", str(run), "--task", labelled, "--no-figure"]) == 0
    assert main(["probe", labelled]) in (0, 1)
    assert "cues-1-of-2" in capsys.readouterr().out
    audit = dia.audit(FollowsTheCue(), load(labelled), episodes=0)
    assert audit.sufficient.answer == "yes"
    assert main(["report", labelled, out, str(tmp_path / "need.json"), "-o", str(tmp_path / "all.html")]) == 0
    assert "needs-title" in (tmp_path / "all.html").read_text(encoding="utf-8")
