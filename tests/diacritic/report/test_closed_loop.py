"""The closed loop on the page: shares with intervals, exact successes, and a film that is given or made."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from report_inputs import make_run

from diacritic.report import closed_loop, video
from diacritic.report.inputs import Inputs, collect
from diacritic.report.page import build
from diacritic.rollout import run_loading


def test_without_anything_to_show_there_is_no_section():
    assert closed_loop.view(Inputs()) is None


def test_shares_have_intervals_over_the_episodes(inputs: Inputs):
    shown = closed_loop.view(inputs, filmed=False)
    assert shown is not None
    success, side, _ = shown["chart"]["data"]
    assert success["y"] == [0.5] * 4
    assert success["error_y"]["array"][0] == pytest.approx(success["error_y"]["arrayminus"][0])
    assert side["y"] == [1.0] * 4
    row = shown["table"][0]
    assert (row["success"], row["how"], row["action_error_cm"]) == (0.5, "8 episodes", 1.25)
    assert row["low"] < 0.5 < row["high"]


def test_played_and_exact_policies_stand_in_one_table(inputs: Inputs, tmp_path: Path):
    make_run(tmp_path / "exact", 7)
    both = collect([str(tmp_path)])
    shown = closed_loop.view(both, filmed=False)
    assert shown is not None
    assert [row["classes"] for row in shown["table"]] == [{"side": 1.0, "slot": 0.5}] * 4 + [{}]
    assert "exact, every history" in build(both, filmed=False)


def test_names_say_what_differs_and_the_axis_what_does_not(tmp_path: Path):
    for seed in range(2):
        make_run(tmp_path / "one", seed)
    runs = collect([str(tmp_path)]).runs
    assert closed_loop.names(runs) == (["seed 0", "seed 1"], "gap, plain")
    make_run(tmp_path / "two", 1, learner="<gru>")
    runs = collect([str(tmp_path)]).runs
    assert closed_loop.names(runs) == (["&lt;gru&gt;, seed 1", "plain, seed 0", "plain, seed 1"], "gap")
    alike = [runs[1], runs[1]]
    assert closed_loop.names(alike)[0] == [f"seed 0 ({runs[1].path.name[:4]})"] * 2


def test_symbolic_success_is_exact(tmp_path: Path):
    make_run(tmp_path, 0, sufficient=False)
    shown = closed_loop.view(collect([str(tmp_path)]))
    assert shown is not None
    assert (shown["chart"], shown["film"]) == (None, None)
    assert (shown["table"][0]["success"], shown["table"][0]["how"]) == (0.25, "exact, every history")


def test_a_film_that_is_given_is_embedded(tmp_path: Path):
    (tmp_path / "a film.gif").write_bytes(b"GIF89a")
    shown = closed_loop.view(collect([str(tmp_path)]))
    assert shown is not None
    assert shown["film"] == {"kind": "image/gif", "title": "a film", "url": "data:image/gif;base64,R0lGODlh"}


def test_a_film_that_cannot_be_made_is_said(tmp_path: Path):
    make_run(tmp_path, 0, task="two-cues", task_version=1, parameters={})
    found = collect([str(tmp_path)])
    closed_loop.view(found)
    assert found.left_out[-1].place == "film"
    assert "could not be made" in found.left_out[-1].reason


def test_the_first_sufficient_policy_is_filmed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for seed in range(3):
        make_run(tmp_path, seed, sufficient=seed == 1, task="two-cues", task_version=1, parameters={})
    asked: list[Path] = []

    def groups(paths: list[Path]) -> Iterator[SimpleNamespace]:
        asked.extend(paths)
        yield SimpleNamespace(task=None, policies=lambda: None, binner=None)

    monkeypatch.setattr(run_loading, "groups", groups)
    monkeypatch.setattr(video, "film", lambda *_: (np.full((64, 64, 3), 40 * k, np.uint8) for k in range(4)))
    found = collect([str(tmp_path)])
    shown = closed_loop.view(found)
    assert shown is not None
    assert [path.name[:4] for path in asked] == ["0001"]
    assert shown["film"]["title"] == "two-cues: plain, seed 1"
    assert shown["film"]["url"].startswith("data:video/mp4;base64,")
    assert found.left_out == []
