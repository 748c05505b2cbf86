"""The closed loop on the page: shares with intervals, exact successes, and a film that is given or made."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from report_inputs import make_run

from diacritic.report import closed_loop, video
from diacritic.report.inputs import Inputs, collect
from diacritic.rollout import run_loading


def test_without_anything_to_show_there_is_neither_chart_nor_film():
    assert closed_loop.chart([]) is None
    assert closed_loop.film(Inputs()) is None


def test_every_policy_is_a_dot_with_its_interval(inputs: Inputs):
    drawn = closed_loop.chart(inputs.runs)
    assert drawn is not None
    assert [row["name"] for row in drawn["rows"]] == [f"gap · plain · {name}" for name in ("success", "side", "slot")]
    success, side, _ = (row["marks"] for row in drawn["rows"])
    assert [mark["x"] for mark in success] == [0.5] * 4
    low, high = success[0]["ends"]
    assert 0.5 - low == pytest.approx(high - 0.5)
    assert [mark["x"] for mark in side] == [1.0] * 4
    assert [mark["run"] for mark in success] == [run.id for run in inputs.runs]
    assert [drawn["series"][mark["series"]]["name"] for mark in success] == ["sufficient"] * 2 + [
        "failed",
        "sufficient",
    ]


def test_symbolic_success_is_exact(tmp_path: Path):
    make_run(tmp_path, 0, sufficient=False)
    (run,) = collect([str(tmp_path)]).runs
    assert closed_loop.shares(run) == {"success": (0.25, 0.25, 0.25, "exact, every history")}


def test_a_film_that_is_given_is_embedded(tmp_path: Path):
    (tmp_path / "a film.gif").write_bytes(b"GIF89a")
    shown = closed_loop.film(collect([str(tmp_path)]))
    expected = {"kind": "image/gif", "title": "a film", "task": "", "times": []}
    assert shown == expected | {"url": "data:image/gif;base64,R0lGODlh"}


def test_a_film_that_cannot_be_made_is_said(tmp_path: Path):
    make_run(tmp_path, 0, task="two-cues", task_version=1, parameters={})
    inputs = collect([str(tmp_path)])
    closed_loop.film(inputs)
    assert inputs.left_out[-1].where == "film"
    assert "could not be made" in inputs.left_out[-1].reason


def test_the_first_sufficient_policy_is_filmed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for seed in range(3):
        make_run(tmp_path, seed, sufficient=seed == 1, task="two-cues", task_version=1, parameters={})
    asked: list[Path] = []

    def groups(paths: list[Path]) -> Iterator[SimpleNamespace]:
        asked.extend(paths)
        yield SimpleNamespace(task=None, policies=lambda: None, binner=None)

    monkeypatch.setattr(run_loading, "groups", groups)
    frames = [np.full((64, 64, 3), 40 * k, np.uint8) for k in range(4)]
    monkeypatch.setattr(video, "film", lambda *_, form: video.Film(frames, [0.0, 0.1], form.rate))
    inputs = collect([str(tmp_path)])
    shown = closed_loop.film(inputs)
    assert shown is not None
    assert [path.name[:4] for path in asked] == ["0001"]
    assert shown["title"] == "two-cues: plain, seed 1"
    assert shown["url"].startswith("data:video/mp4;base64,")
    assert inputs.left_out == []
