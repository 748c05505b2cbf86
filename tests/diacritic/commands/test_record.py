"""Recording from the command line, and the one line that bad parameters get."""

from pathlib import Path

import pytest

from diacritic.cli import main
from diacritic.demos.binner import Binner
from diacritic.files.demos import load
from diacritic.tasks.franka import pixels


def test_a_recording_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "short"
    small = ["--episodes", "8", "--no-checks", "--threads", "1", "--out", str(out)]
    assert main(["record", "A′", "gap=1", "first_gap=1", "jitter=0.01", "no_noise=true", *small]) == 0
    demos = load(out, task="two-cues")
    assert (demos.episodes, demos.success.all()) == (8, True)
    assert {"gap": 1, "first_gap": 1, "jitter": 0.01, "no_noise": True}.items() <= demos.parameters.items()
    assert Binner.load(tmp_path / "short.binner.json").names == demos.symbol_names
    assert "short.json: 8 episodes of 27 steps" in capsys.readouterr().out.replace("\n", "")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["two-cubes"], "task: 'two-cubes' is unknown; there are two-cues"),
        (["two-cues", "gap"], "gap: expected KEY=VALUE"),
        (["two-cues", "gap=0"], "two-cues.gap: 0 steps are not a gap; give at least 1"),
        (["two-cues", "gap=six"], "two-cues.gap: 'six' is not of type int"),
        (["two-cues", "no_noise=maybe"], "two-cues.no_noise: 'maybe' is neither true nor false"),
        (["two-cues", "length=3"], "two-cues.length: no such parameter; there are"),
        (["readout-2", "modes=33"], "modes: 33 is not a power of two"),
        (["two-cues", "classes=8"], "two-cues.classes: 8 do not fit the sides and slots; 2 and 4 do"),
        (["weighing", "gap=0"], "weighing.gap: 0 steps are not a gap; give at least 1"),
        (["two-cues", "--episodes", "0"], "episodes: expected at least one episode, not 0"),
        (["two-cues", "--batch", "0"], "batch: expected at least one episode, not 0"),
        (["two-cues", "--seed", "-1"], "seed: -1 is negative; give 0 or more"),
    ],
)
def test_bad_parameters_end_with_one_line(
    arguments: list[str], line: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["record", *arguments, "--out", str(tmp_path / "never")]) == 2
    said = capsys.readouterr().err
    assert line in said
    assert said.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_without_opengl_states_are_recorded_and_pixels_name_the_packages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ImportError("no EGL")

    monkeypatch.setattr(pixels.mj, "Renderer", broken)
    short = ["record", "two-cues", "gap=1", "first_gap=1", "--episodes", "2", "--no-checks", "--threads", "1"]
    assert main([*short, "--pixels", "--out", str(tmp_path / "pixels")]) == 2
    said = capsys.readouterr().err
    assert "rendering: no OpenGL without a display; install the Debian package libegl1 or libosmesa6" in said
    assert said.count("\n") == 1
    assert not list(tmp_path.iterdir())
    assert main([*short, "--out", str(tmp_path / "states")]) == 0
