"""`diacritic need` from a file to its documents."""

from pathlib import Path

import pytest
from need_data import recorded

from diacritic.cli import main
from diacritic.files.demos import save


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
