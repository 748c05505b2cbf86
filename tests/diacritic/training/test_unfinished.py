"""A killed worker goes on with its cohorts to the same bits, and says so when it cannot."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from exchanged import PLAIN, exported

from diacritic.studies.tasks import task
from diacritic.training import job_training, unfinished
from diacritic.training.cohort import Cohort
from diacritic.training.preset import PRESETS
from diacritic.training.worker import read_result, train_folder

CAROUSEL = replace(PLAIN, steps=40)
OTHER = replace(CAROUSEL, task=task("two-cues", gap=1, first_gap=1, episodes=40, recording=1))
RELEASE, INFORMED = replace(CAROUSEL, preset="release"), replace(CAROUSEL, learner="task-informed")


@pytest.fixture(scope="module")
def demos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demos")


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """States are kept at every turn, turns are short, and codes move often."""
    monkeypatch.setattr(unfinished, "EVERY", 0.0)
    monkeypatch.setattr(job_training, "CHUNK", 5)
    for name in ("carousel", "release"):
        monkeypatch.setitem(PRESETS, name, replace(PRESETS[name], restarts=3))


def killed(folder: Path, out: Path, monkeypatch: pytest.MonkeyPatch, at: int, together: int = 2, most: int = 0) -> None:
    """Train until a cohort would go on from step `at`."""
    advance = Cohort.advance

    def interrupted(cohort: Cohort, steps: int) -> None:
        if cohort.step >= at:
            raise KeyboardInterrupt
        advance(cohort, steps)

    with monkeypatch.context() as patched:
        patched.setattr(Cohort, "advance", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train_folder(folder, out, together=together, most=most)


def first_steps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The steps from which cohorts advance, from now on."""
    seen: list[int] = []
    advance = Cohort.advance
    monkeypatch.setattr(Cohort, "advance", lambda self, steps: (seen.append(self.step), advance(self, steps)))
    return seen


CASES = {
    "carousel": ([CAROUSEL], 0),
    "release": ([RELEASE], 0),
    "informed": ([INFORMED], 0),
    "in turns": ([CAROUSEL, INFORMED], 0),
    "packed": ([CAROUSEL, OTHER], 8),
}


@pytest.mark.parametrize("case", CASES)
def test_a_killed_cohort_goes_on_to_the_same_bits(
    tmp_path: Path, demos: Path, monkeypatch: pytest.MonkeyPatch, case: str
):
    cells, most = CASES[case]
    train_jobs, _ = exported(cells, tmp_path / "x", demos)
    train_folder(tmp_path / "x", tmp_path / "whole", most=most)
    killed(tmp_path / "x", tmp_path / "out", monkeypatch, 13, most=most)
    assert list((tmp_path / "out" / "unfinished").glob("pack-*" if case == "packed" else "two-cues*"))
    steps = first_steps(monkeypatch)
    train_folder(tmp_path / "x", tmp_path / "out", together=2, most=most)
    assert min(steps) > 0
    for train_job in train_jobs:
        one, two = (read_result(train_job, tmp_path / name) for name in ("whole", "out"))
        assert one is not None
        assert two is not None
        assert one.steps == two.steps
        assert np.array_equal(one.codes, two.codes)
        assert all(torch.equal(value, two.weights[name]) for name, value in one.weights.items())
    assert not (tmp_path / "out" / "unfinished").exists()


def test_time_goes_on_too(tmp_path: Path, demos: Path, monkeypatch: pytest.MonkeyPatch):
    (train_job,), _ = exported([INFORMED], tmp_path / "x", demos)
    killed(tmp_path / "x", tmp_path / "out", monkeypatch, 13)
    path = unfinished.unfinished_path(tmp_path / "out", [train_job.name])
    tensors, notes = unfinished.read_tensors(path)
    assert float(notes["supervising"]) > 0
    unfinished.write_tensors(path, tensors, notes | {"seconds": "1000.0", "supervising": "2000.0"})
    train_folder(tmp_path / "x", tmp_path / "out")
    result = read_result(train_job, tmp_path / "out")
    assert result is not None
    assert 1000 < result.notes["seconds"] < 1100
    assert 2000 < result.notes["supervising"] < 2100


@pytest.mark.parametrize("change", ["cut", "version", "job", "state", "step"])
def test_a_state_that_does_not_fit_is_ignored_in_one_line(
    tmp_path: Path, demos: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], change: str
):
    (train_job,), _ = exported([CAROUSEL], tmp_path / "x", demos)
    killed(tmp_path / "x", tmp_path / "out", monkeypatch, 13)
    path = unfinished.unfinished_path(tmp_path / "out", [train_job.name])
    spoil(path, change, monkeypatch)
    capsys.readouterr()
    steps = first_steps(monkeypatch)
    train_folder(tmp_path / "x", tmp_path / "out")
    assert steps[0] == 0
    said = [line for line in capsys.readouterr().out.splitlines() if "its training starts again" in line]
    assert len(said) == 1
    assert path.name in said[0]


def spoil(path: Path, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tensors, notes = unfinished.read_tensors(path)
    if change == "cut":
        path.write_bytes(path.read_bytes()[:-9])
    elif change == "version":
        monkeypatch.setattr(unfinished, "code_version", lambda: "another")
    elif change == "job":
        unfinished.write_tensors(path, tensors, notes | {"job": "another"})
    elif change == "state":
        unfinished.write_tensors(path, tensors | {"mean": tensors["mean"][:1]}, notes)
    else:
        del notes["step"]
        unfinished.write_tensors(path, tensors, notes)


def test_states_of_others_stay_while_theirs_are_missing(tmp_path: Path, demos: Path, monkeypatch: pytest.MonkeyPatch):
    (plain, other), _ = exported([CAROUSEL, RELEASE], tmp_path / "x", demos)
    killed(tmp_path / "x", tmp_path / "out", monkeypatch, 13)
    paths = [unfinished.unfinished_path(tmp_path / "out", [train_job.name]) for train_job in (plain, other)]
    assert all(path.exists() for path in paths)
    train_folder(tmp_path / "x", tmp_path / "out", only="plain-release")
    assert [path.exists() for path in paths] == [True, False]
