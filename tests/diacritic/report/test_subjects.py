"""Tasks of a report: robots first, models found or designed, curves of every seed, strips of so many."""

from pathlib import Path

import pytest
from report_inputs import make_run

from diacritic.report import subjects as module
from diacritic.report.design import designed
from diacritic.report.inputs import Inputs, collect
from diacritic.report.subjects import subjects, views
from diacritic.tasks.registry import make as make_task


def test_without_anything_to_show_there_is_no_task():
    assert subjects(Inputs()) == []


def test_robots_come_before_toys(recorded: Path):
    listed = subjects(collect(["gap", str(recorded)]))
    assert [(subject.name, subject.robot) for subject in listed] == [
        ("two-cues gap=1 first_gap=1", True),
        ("gap", False),
    ]
    shown, _ = views(listed, Inputs())
    assert shown["full"].startswith("two-cues jitter=")
    assert shown["phases"][0][2] == "home"


def test_a_robot_task_without_a_recording_is_certified_as_designed(tmp_path: Path):
    task = make_task("two-cues", gap=1, first_gap=1)
    make_run(tmp_path, 0, task="two-cues", task_version=task.version, parameters=dict(task.parameters))
    (subject,) = subjects(collect([str(tmp_path)]))
    assert subject.model is not None
    assert subject.model.digest == designed(task).digest


def test_a_run_of_an_earlier_version_is_not_held_against_this_one(tmp_path: Path):
    task = make_task("two-cues", gap=1, first_gap=1)
    make_run(tmp_path, 0, task="two-cues", task_version=task.version - 1, parameters=dict(task.parameters))
    (subject,) = subjects(collect([str(tmp_path)]))
    assert subject.model is None


def test_every_seed_stands_over_the_requirement_and_equal_ones_once(inputs: Inputs):
    (shown,) = views(subjects(inputs), inputs)
    good, failed = shown["rates"]
    assert (good["style"], good["name"], len(good["runs"])) == (
        "good",
        "plain, seed 0, plain, seed 1, plain, seed 3",
        3,
    )
    assert (failed["style"], failed["parts"]) == ("bad", [[0, 11, 0.0]])
    need = next(curve for curve in shown["curves"] if curve["style"] == "need")
    assert need["parts"] == [[0, 2, 0.0], [2, 1, 1.0], [3, 4, 2.0], [7, 4, 1.0]]


def test_strips_are_shown_of_so_many_runs_at_most(inputs: Inputs, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MOST_RUNS", 3)
    (shown,) = views(subjects(inputs), inputs)
    assert (len(shown["strips"]), shown["hidden"]) == (3, 1)


def test_unreadable_codes_leave_a_strip_out(inputs: Inputs):
    (inputs.runs[0].path / "codes.npz").write_bytes(b"not an archive")
    (shown,) = views(subjects(inputs), inputs)
    assert len(shown["strips"]) == 3
    assert "codes.npz" in inputs.left_out[-1].where
