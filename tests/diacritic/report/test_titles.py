"""Titles: short ones leave out what is as usual, and tell different tasks apart."""

import pytest

from diacritic.report.titles import full_title, short_title
from diacritic.tasks.franka.tasks import TASKS, make_task


@pytest.mark.parametrize("name", TASKS)
def test_a_task_as_usual_is_its_name(name: str):
    task = make_task(name)
    assert short_title(task.name, task.parameters) == name


@pytest.mark.parametrize(
    ("name", "changes", "title"),
    [
        ("two-cues", {"gap": 20}, "two-cues gap=20"),
        ("two-cues", {"leak": 8.0, "gap": 10}, "two-cues gap=10 leak=8.0"),
        ("two-cues", {"contact": True}, "two-cues contact=True"),
        ("readout-3", {"modes": 128}, "readout-3 modes=128"),
        ("full-reveal", {"no_noise": True}, "full-reveal no_noise=True"),
    ],
)
def test_what_is_not_as_usual_is_said(name: str, changes: dict, title: str):
    task = make_task(name, **changes)
    assert short_title(task.name, task.parameters) == title
    full = full_title(task.name, task.parameters)
    assert full.startswith(f"{task.name} jitter=0.02")
    assert all(f"{key}={value}" in full for key, value in changes.items())


@pytest.mark.parametrize(
    ("name", "parameters"), [("a task of yours", {"size": 3}), ("two-cues", {"size": 3}), ("two-cues", {"gap": "long"})]
)
def test_a_task_that_is_not_known_keeps_its_words(name: str, parameters: dict):
    assert short_title(name, parameters) == full_title(name, parameters)
