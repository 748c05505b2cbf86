"""The command: files, report and exit status."""

import pytest

from certify import Model, certify
from certify.errors import UserError
from diacritic.demos.binner import Binner
from diacritic.demos.command import RecordOptions, run
from diacritic.demos.minari import import_minari
from diacritic.files.demos import load


def test_everything_at_once(stand_in, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    options = RecordOptions(
        episodes=96,
        seed=4,
        out=tmp_path / "one",
        model=True,
        minari="diacritic/stand-in-v0",
        lerobot=tmp_path / "lerobot",
    )
    assert run(stand_in(), options) == 0
    said = capsys.readouterr().out
    assert "96 episodes of 16 steps" in said
    assert "ok      fresh recording: 0 differences to seed 5" in said
    demos = load(tmp_path / "one", task="stand-in")
    assert demos.acceptance is not None
    assert demos.acceptance["passed"]
    answer = certify(Model.load(tmp_path / "one.model.json"))
    assert [step.upper for step in answer.steps] == demos.acceptance["checks"]["certificate"]["data"]["requirement"]
    binner = Binner.load(tmp_path / "one.binner.json")
    assert (binner.symbols(demos.observations, demos.latents) == demos.symbols).all()
    assert import_minari("diacritic/stand-in-v0").acceptance == demos.acceptance
    assert (tmp_path / "lerobot/meta/info.json").exists()


def test_status_tells_a_failed_check(stand_in, tmp_path, capsys):
    options = RecordOptions(episodes=64, out=tmp_path / "one", fresh=False)
    assert run(stand_in(failures=1), options) == 1
    assert "FAILED  expert success: 63/64" in capsys.readouterr().out
    assert run(stand_in(failures=1), RecordOptions(episodes=8, out=tmp_path / "two", checks=False)) == 0
    assert load(tmp_path / "two").acceptance is None


def test_where_it_goes():
    assert RecordOptions(seed=3).stem("two-cues").as_posix() == "out/demos/two-cues-3"


def test_a_folder_that_exists_stops_before_recording(stand_in, tmp_path):
    with pytest.raises(UserError, match="exists already"):
        run(stand_in(), RecordOptions(episodes=8, out=tmp_path / "one", lerobot=tmp_path))
    assert list(tmp_path.iterdir()) == []
