"""What learners regress: forecasts or teachers' states of networks that are trained once and found again."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from diacritic.demos.record import record
from diacritic.tasks.registry import make as make_task
from diacritic.training import forecaster
from diacritic.training.demonstrations import Prepared, prepare
from diacritic.training.learner import learner
from diacritic.training.supervision import supervise, supervised

TASK = make_task("two-cues", gap=1, first_gap=1)


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return prepare(*record(TASK, 12, seed=4)[0].split(8), TASK)


def test_forecasts_are_made_for_the_terms_that_ask(prepared: Prepared) -> None:
    data, T = prepared.data, TASK.horizon
    agnostic = supervise(data, learner("event-agnostic"), (0, 1), steps=2)
    assert agnostic.forecast is not None
    assert agnostic.forecast.shape == (2, T, 8, T - 1, 4)
    assert not torch.equal(agnostic.forecast[0], agnostic.forecast[1])
    informed = supervise(data, learner("task-informed"), (0, 1), steps=2)
    assert informed.pending is not None
    assert informed.pending.shape == (2, T, 8, 2, 4)
    assert informed.forecast is None
    for name in ("plain", "event-agnostic-recorded", "task-informed-recorded"):
        assert supervise(data, learner(name), (0,), steps=2) is data


def test_trained_forecasters_are_found_again(
    prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = prepared.data, learner("task-informed"), (0, 1)
    first = supervise(*asked, steps=2, folder=tmp_path).pending
    calls = []
    monkeypatch.setattr(forecaster, "Forecasters", lambda *a, **k: calls.append(a))
    again = supervise(*asked, steps=2, folder=tmp_path).pending
    assert not calls
    assert first is not None
    assert again is not None
    torch.testing.assert_close(again, first, rtol=0, atol=0)
    other = replace(prepared.data, target=prepared.data.target + 1)
    with pytest.raises((TypeError, AttributeError)):  # trained again, which the stand-in cannot
        supervise(other, *asked[1:], steps=2, folder=tmp_path)
    assert calls


def test_a_teacher_state_learner_gets_the_states_of_one_teacher_a_seed(prepared: Prepared) -> None:
    data = supervise(prepared.data, learner("teacher-state"), [0, 5], teacher_steps=1)
    assert data.teacher is not None
    assert data.teacher.shape == (2, TASK.horizon, 8, 32)


def test_learners_that_need_networks_are_told_apart() -> None:
    assert [supervised(learner(name)) for name in ("plain", "task-informed-recorded", "join")] == [False] * 3
    assert all(supervised(learner(name)) for name in ("event-agnostic", "task-informed", "teacher-state"))
