"""Supervision takes turns with other cohorts, changes no result, and fails alone."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from exchanged import PLAIN

from certify.errors import UserError
from diacritic.studies.cell import Cell
from diacritic.studies.job_manifest import export, pack
from diacritic.training import networks, worker
from diacritic.training.cohort import Cohort
from diacritic.training.forecaster import Forecasters
from diacritic.training.job_training import Training
from diacritic.training.supervision import supervise
from diacritic.training.teacher import BETA
from diacritic.training.train_job import TrainJob
from diacritic.training.worker import finished, read_result, train_folder

INFORMED, TEACHER = (replace(PLAIN, learner=name) for name in ("task-informed", "teacher-state"))
FULL = replace(PLAIN, learner="full-history", preset="release", beta=BETA)


@pytest.fixture(scope="module")
def demos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demos")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks, "CHUNK", 2)


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Who advances, in order."""
    seen: list[str] = []
    cohort, forecasters = Cohort.advance, Forecasters.advance
    monkeypatch.setattr(Cohort, "advance", lambda self, n: (seen.append(self.plan.learner.name), cohort(self, n)))
    monkeypatch.setattr(Forecasters, "advance", lambda self, n: (seen.append("forecasters"), forecasters(self, n)))
    return seen


def shipped(cells: list[Cell], folder: Path, demos: Path) -> list[TrainJob]:
    train_jobs, placed = pack(cells, demos, forecaster_steps=5)
    export(train_jobs, placed, folder, demos)
    return train_jobs


def one_after_another(train_job: TrainJob, folder: Path) -> Cohort:
    """All of its supervision, then all of its updates."""
    stem = folder / "demos" / train_job.recording
    task, prepared = worker._prepared(stem, train_job.demonstrations, train_job.demos_sha256)
    plan, seeds = train_job.plan(len(task.decisions), "cpu"), train_job.seeds
    updates = train_job.forecaster_steps, None, train_job.steps
    data = supervise(prepared.data, plan.learner, seeds, "cpu", *updates, how=plan.preset)
    cohort = Cohort(plan, data)
    cohort.advance(plan.steps)
    return cohort


def test_other_cohorts_advance_between_the_chunks_of_supervision(tmp_path: Path, demos: Path, log: list[str]):
    train_jobs = shipped([INFORMED, TEACHER, PLAIN], tmp_path / "x", demos)
    train_folder(tmp_path / "x", tmp_path / "out", together=3)
    assert log[:8] == ["forecasters", "full-history", "plain"] * 2 + ["forecasters", "plain"]
    assert log.count("forecasters") == 3
    assert log.index("task-informed") > 6
    for train_job in train_jobs:
        result, wanted = read_result(train_job, tmp_path / "out"), one_after_another(train_job, tmp_path / "x")
        assert result is not None
        assert (result.notes["supervising"] > 0) == (train_job.learner != "plain")
        for name, value in result.weights.items():
            assert name.startswith("scale.") or torch.equal(value, wanted.parameters[name]), name


def test_cohorts_in_turns_share_their_forecasters(tmp_path: Path, demos: Path, log: list[str]):
    shipped([INFORMED, replace(INFORMED, misled=0.5)], tmp_path / "x", demos)
    train_folder(tmp_path / "x", tmp_path / "out", together=2)
    assert log.count("forecasters") == 3
    assert len(list((tmp_path / "x" / "networks").iterdir())) == 1


def test_a_full_history_study_of_the_same_plan_is_the_teacher(tmp_path: Path, demos: Path, log: list[str]):
    shipped([FULL], tmp_path / "alone", demos)
    train_folder(tmp_path / "alone", tmp_path / "alone-out")
    alone = log.copy()
    log.clear()
    train_jobs = shipped([TEACHER, FULL], tmp_path / "x", demos)
    train_folder(tmp_path / "x", tmp_path / "out", together=2)
    assert log[: log.index("teacher-state")] == alone
    assert "full-history" not in log[len(alone) :]
    for train_job in train_jobs:
        result, wanted = read_result(train_job, tmp_path / "out"), one_after_another(train_job, tmp_path / "x")
        assert result is not None
        for name, value in result.weights.items():
            assert name.startswith("scale.") or torch.equal(value, wanted.parameters[name]), name


@pytest.mark.parametrize("beta", [BETA, 1e-3])
def test_a_teacher_trains_alone_where_the_study_fails_or_has_another_plan(
    tmp_path: Path, demos: Path, log: list[str], monkeypatch: pytest.MonkeyPatch, beta: float
):
    taught, _ = shipped([TEACHER, replace(FULL, beta=beta)], tmp_path / "x", demos)
    if beta == BETA:
        monkeypatch.setattr(Training, "begin", _without(Training.begin, "full-history"))
        with pytest.raises(UserError, match=r"full-history.*no memory; 1 of 2 cohorts"):
            train_folder(tmp_path / "x", tmp_path / "out", together=2)
    else:
        train_folder(tmp_path / "x", tmp_path / "out", together=2)
    result, wanted = read_result(taught, tmp_path / "out"), one_after_another(taught, tmp_path / "x")
    assert result is not None
    assert torch.equal(result.weights["codebook"], wanted.parameters["codebook"])


def _without(begin: Callable[[Training], None], name: str) -> Callable[[Training], None]:
    def changed(training: Training) -> None:
        if training.train_jobs[0].learner == name:
            raise RuntimeError("no memory")
        begin(training)

    return changed


@pytest.mark.parametrize("error", [RuntimeError, UserError])
def test_supervision_that_fails_does_not_stop_the_others(
    tmp_path: Path, demos: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
):
    failing, other = shipped([INFORMED, PLAIN], tmp_path / "x", demos)
    advance, begun = Forecasters.advance, list[Forecasters]()

    def broken(forecasters: Forecasters, steps: int) -> None:
        begun.append(forecasters)
        if len(begun) > 1:
            raise UserError("disk", "is full") if error is UserError else RuntimeError("out of memory\nand more")
        advance(forecasters, steps)

    monkeypatch.setattr(Forecasters, "advance", broken)
    reason = "disk: is full" if error is UserError else r"task-informed.*RuntimeError: out of memory; 1 of 2 cohorts"
    with pytest.raises(UserError, match=reason):
        train_folder(tmp_path / "x", tmp_path / "out", together=2)
    assert finished(other, tmp_path / "out") == (error is RuntimeError)
    assert not finished(failing, tmp_path / "out")
