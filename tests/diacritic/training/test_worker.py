"""Training jobs run without a simulator, resume, survive damage, and give the same results however they are packed."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from exchanged import FREE, PLAIN, exported

import certify
import diacritic
from certify.errors import UserError
from diacritic.files.archive import ResultArchives
from diacritic.files.job import EXCHANGE, read_job
from diacritic.studies.tasks import task
from diacritic.training import compress_recorded, job_training, worker
from diacritic.training.cohort import Cohort
from diacritic.training.cohort_batching import CohortPart
from diacritic.training.fit_transition import Effort
from diacritic.training.worker import finished, read_result, train_folder

LEAN = ("torch", "torchgen", "functorch", "numpy", "numpy.libs", "safetensors", "sympy", "mpmath", "networkx")
SUPERVISED = [replace(PLAIN, learner=name) for name in ("event-agnostic", "task-informed", "teacher-state", "join")]


@pytest.fixture(scope="module")
def demos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demos")


def lean(folder: Path) -> dict[str, str]:
    """An environment in which nothing is installed but torch, numpy and safetensors."""
    site = Path(torch.__file__).parents[1]
    folder.mkdir()
    for name in (*LEAN, "typing_extensions.py"):
        if (site / name).exists():
            (folder / name).symlink_to(site / name)
    sources = {str(Path(package.__path__[0]).parent) for package in (certify, diacritic)}
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sources]), "PYTHONWARNINGS": "error"}


def test_nothing_but_torch_numpy_and_safetensors_is_needed(tmp_path: Path, demos: Path):
    train_jobs, _ = exported([PLAIN, *SUPERVISED], tmp_path / "x", demos)
    environment = lean(tmp_path / "lean")
    absent = "import importlib.util as i; print([n for n in ('mujoco', 'tyro', 'rich', 'scipy') if i.find_spec(n)])"
    bare = [sys.executable, "-S"]
    assert subprocess.check_output([*bare, "-c", absent], env=environment, text=True).strip() == "[]"
    command = [*bare, "-m", "diacritic.training", str(tmp_path / "x"), "--together", "2"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    results = tmp_path / "x" / "results"
    times = json.loads((results / "times.json").read_text())
    assert times.keys() == {train_job.name for train_job in train_jobs}
    for train_job in train_jobs:
        result = read_result(train_job, results)
        assert result is not None
        assert result.codes.dtype == np.uint8
        assert result.codes.shape[1:] == (2, 27, 16)
        assert result.steps[-1] == train_job.steps
        heads = {name.split(".")[0] for name in result.weights}
        assert heads == {"observe", "previous", "residual", "codebook", "act", "scale"}
        assert times[train_job.name]["training"] > 0
    supervised = next(train_job for train_job in train_jobs if train_job.learner == "teacher-state")
    assert times[supervised.name]["forecasters"] > 0


def test_a_run_is_the_same_in_whatever_cohort_it_is_packed(tmp_path: Path, demos: Path):
    cells = [replace(cell, learner="event-agnostic") for cell in (PLAIN, FREE)]
    (together,), placed = exported(cells, tmp_path / "both", demos)
    assert len(together.runs) == 4
    (alone,), _ = exported(cells[1:], tmp_path / "one", demos)
    for name in ("both", "one"):
        train_folder(tmp_path / name, tmp_path / name / "results")
    first, second = read_result(together, tmp_path / "both/results"), read_result(alone, tmp_path / "one/results")
    assert first is not None
    assert second is not None
    where = [k for _, k in placed[1].positions]
    assert where == [2, 3]
    for name, value in second.weights.items():
        mine = first.weights[name] if name.startswith("scale.") else first.weights[name][where]
        torch.testing.assert_close(mine, value)
    assert np.array_equal(first.codes[:, where], second.codes)


def test_orders_of_several_recordings_in_one_cohort_come_out_as_apart(
    tmp_path: Path, demos: Path, monkeypatch: pytest.MonkeyPatch
):
    other = replace(PLAIN, task=task("two-cues", gap=1, first_gap=1, episodes=40, recording=1), seeds=3)
    train_jobs, _ = exported([PLAIN, replace(PLAIN, learner="join"), other], tmp_path / "x", demos)
    sizes: list[int] = []
    made = job_training.one_cohort

    def counted(shares: list[CohortPart], device: str) -> Cohort:
        sizes.append(len(made(shares, device).plan.runs))
        return made(shares, device)

    monkeypatch.setattr(job_training, "one_cohort", counted)
    train_folder(tmp_path / "x", tmp_path / "apart")
    train_folder(tmp_path / "x", tmp_path / "joined", half=True, most=5)
    assert sizes == [2, 2, 3, 2, 5]
    for train_job in train_jobs:
        one, two = (read_result(train_job, tmp_path / name) for name in ("apart", "joined"))
        assert one is not None
        assert two is not None
        assert one.steps == two.steps
        assert np.array_equal(one.codes[:-1], two.codes[:-1])  # the last ones are of rounded weights
        assert one.codes.shape == two.codes.shape
        for name, value in one.weights.items():
            rtol, atol = (0.0, 0.0) if name.startswith("scale.") else (1e-3, 2e-5)
            torch.testing.assert_close(two.weights[name].float(), value, rtol=rtol, atol=atol)
        for key in ("order", "architecture", "shape", "diverged"):
            assert one.notes[key] == two.notes[key]
    seconds = [times["training"] for times in json.loads((tmp_path / "joined/times.json").read_text()).values()]
    assert seconds[2] == pytest.approx(1.5 * seconds[1])  # by runs
    (tmp_path / "joined" / f"{train_jobs[0].name}.npz").unlink()
    train_folder(tmp_path / "x", tmp_path / "joined", half=True, most=5)
    assert sizes[5:] == [2]


def test_a_killed_training_goes_on_with_what_is_missing(tmp_path: Path, demos: Path):
    slow = [replace(PLAIN, steps=steps) for steps in (4, 10**6)]  # the second never ends before the kill
    (first, second), _ = exported(slow, tmp_path / "x", demos)
    results = tmp_path / "x" / "results"
    runner = subprocess.Popen(
        [sys.executable, "-m", "diacritic.training", str(tmp_path / "x")], stdout=subprocess.DEVNULL
    )
    while not (results / f"{first.name}.safetensors").exists():
        assert runner.poll() is None
        time.sleep(0.05)
    runner.send_signal(signal.SIGKILL)
    runner.wait()
    assert finished(first, results)
    assert not finished(second, results)
    written = (results / f"{first.name}.safetensors").stat().st_mtime_ns
    (quick,), _ = exported([replace(PLAIN, steps=4)], tmp_path / "x", demos)
    assert quick == first
    train_folder(tmp_path / "x", results)
    assert (results / f"{first.name}.safetensors").stat().st_mtime_ns == written


def test_only_what_starts_from_another_waits_for_it(tmp_path: Path, demos: Path, capsys: pytest.CaptureFixture[str]):
    former = replace(PLAIN, steps=5)
    later = replace(PLAIN, steps=6, after=former)
    train_jobs, _ = exported([PLAIN, replace(PLAIN, steps=7, after=later)], tmp_path / "x", demos)
    train_folder(tmp_path / "x", tmp_path / "x" / "results")
    steps = {train_job.name: train_job.steps for train_job in train_jobs}
    trained = [line.split()[1].rstrip(":") for line in capsys.readouterr().out.splitlines()[1:]]
    assert [steps[name] for name in trained] == [5, 4, 6, 7]


@pytest.mark.parametrize("together", [1, 2])
def test_a_cohort_that_fails_does_not_stop_the_others(
    tmp_path: Path, demos: Path, monkeypatch: pytest.MonkeyPatch, together: int
):
    (first, second), _ = exported([replace(PLAIN, steps=steps) for steps in (4, 6)], tmp_path / "x", demos)
    advance = Cohort.advance

    def broken(cohort: Cohort, steps: int) -> None:
        if cohort.plan.steps == 4:
            raise RuntimeError("out of shared memory\nand more")
        advance(cohort, steps)

    monkeypatch.setattr(Cohort, "advance", broken)
    results = tmp_path / "x" / "results"
    with pytest.raises(UserError, match=r"RuntimeError: out of shared memory; 1 of 2 cohorts failed so"):
        train_folder(tmp_path / "x", results, together=together)
    assert finished(second, results)
    assert not finished(first, results)


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_a_damaged_result_is_trained_again(tmp_path: Path, demos: Path, suffix: str):
    (train_job,), _ = exported([PLAIN], tmp_path / "x", demos)
    results = tmp_path / "x" / "results"
    train_folder(tmp_path / "x", results)
    path = results / f"{train_job.name}{suffix}"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert not finished(train_job, results)
    with pytest.raises(UserError, match=r"truncated|whole|not an npz file"):
        read_result(train_job, results)
    train_folder(tmp_path / "x", results)
    assert finished(train_job, results)


def test_half_precision_halves_the_file_and_codes_are_those_of_the_rounded_weights(tmp_path: Path, demos: Path):
    (train_job,), _ = exported([PLAIN], tmp_path / "x", demos)
    train_folder(tmp_path / "x", tmp_path / "full")
    train_folder(tmp_path / "x", tmp_path / "half", half=True, archives=ResultArchives(tmp_path / "archives"))
    sizes = [(tmp_path / name / f"{train_job.name}.safetensors").stat().st_size for name in ("full", "half")]
    assert sizes[1] < 0.55 * sizes[0]
    full, half = (read_result(train_job, tmp_path / name) for name in ("full", "half"))
    assert full is not None
    assert half is not None
    for name, value in full.weights.items():
        expected = value if name.startswith("scale.") else value.half()
        assert torch.equal(half.weights[name], expected)
    assert [path.name for path in (tmp_path / "archives").iterdir()] == ["results-1.zip"]


def test_words_choose_orders_and_bad_folders_are_named(tmp_path: Path, demos: Path):
    train_jobs, _ = exported([PLAIN, replace(PLAIN, learner="join")], tmp_path / "x", demos)
    train_folder(tmp_path / "x", tmp_path / "out", only="join carousel")
    assert [finished(train_job, tmp_path / "out") for train_job in train_jobs] == [False, True]
    with pytest.raises(UserError, match="no training job's name holds 'absent'"):
        train_folder(tmp_path / "x", tmp_path / "out", only="absent")
    with pytest.raises(UserError, match="cannot be read"):
        read_job(tmp_path / "nowhere")
    document = json.loads((tmp_path / "x" / EXCHANGE).read_text())
    (tmp_path / "x" / EXCHANGE).write_text(json.dumps({**document, "orders": [{"learner": "plain", "new": 1}]}))
    with pytest.raises(UserError, match="has an unknown field 'new'"):
        train_folder(tmp_path / "x", tmp_path / "out")


def test_orders_start_from_others_which_are_trained_before(tmp_path: Path, demos: Path):
    easy = replace(PLAIN, task=task("two-cues", gap=2, first_gap=1, episodes=40))
    hard = replace(PLAIN, after=easy, steps=1)
    (former, other, later), _ = exported([PLAIN, hard], tmp_path / "x", demos)
    train_folder(tmp_path / "x", tmp_path / "out", together=2, only=later.name)
    assert [finished(train_job, tmp_path / "out") for train_job in (former, other, later)] == [True, False, True]
    first, second = (read_result(train_job, tmp_path / "out") for train_job in (former, later))
    assert first is not None
    assert second is not None
    moved = (second.weights["residual.out.weight"] - first.weights["residual.out.weight"]).abs()
    assert 0 < moved.max() < 0.002  # one update from there; two random starts are far apart
    (tmp_path / "out" / f"{former.name}.safetensors").unlink()
    train_folder(tmp_path / "x", tmp_path / "out", only=later.name)
    assert not finished(former, tmp_path / "out")  # nobody needs it any more
    document = json.loads((tmp_path / "x" / EXCHANGE).read_text())
    document["orders"] = [item for item in document["orders"] if item["start"]]
    (tmp_path / "x" / EXCHANGE).write_text(json.dumps(document))
    with pytest.raises(UserError, match="which is not a training job of this folder"):
        train_folder(tmp_path / "x", tmp_path / "new")


def test_misled_forecasts_change_what_is_learned_and_need_forecasts(tmp_path: Path, demos: Path):
    informed = replace(PLAIN, learner="task-informed")
    train_jobs, _ = exported([informed, replace(informed, misled=0.5)], tmp_path / "x", demos)
    train_folder(tmp_path / "x", tmp_path / "out")
    right, wrong = (read_result(train_job, tmp_path / "out") for train_job in train_jobs)
    assert right is not None
    assert wrong is not None
    assert not torch.equal(right.weights["residual.out.weight"], wrong.weights["residual.out.weight"])
    exported([replace(PLAIN, misled=0.5)], tmp_path / "y", demos)
    with pytest.raises(UserError, match="plain regresses no forecast"):
        train_folder(tmp_path / "y", tmp_path / "out")


def test_another_recording_under_the_same_name_is_refused(tmp_path: Path, demos: Path):
    exported([PLAIN], tmp_path / "x", demos)
    path = tmp_path / "x" / EXCHANGE
    document = json.loads(path.read_text())
    document["orders"][0]["demos_sha256"] = "0" * 64
    path.write_text(json.dumps(document))
    with pytest.raises(UserError, match="another recording"):
        train_folder(tmp_path / "x", tmp_path / "out")


def test_a_learner_that_forgets_says_what_came_of_it(
    tmp_path: Path, demos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compress_recorded, "EFFORT", Effort(steps=2, batch=32))
    train_jobs, _ = exported([PLAIN, replace(PLAIN, learner="plain+forgetting")], tmp_path / "x", demos)
    train_folder(tmp_path / "x", tmp_path / "results", together=2)
    plain, after = (read_result(train_job, tmp_path / "results") for train_job in train_jobs)
    assert plain is not None
    assert after is not None
    assert plain.notes["forgetting"] is None
    assert after.notes["forgetting"]["updates"] == 2
    for k, changed in enumerate(after.notes["forgetting"]["changed"]):
        assert changed or all(torch.equal(value, plain.weights[name][k]) for name, value in per_run(after, k))


def test_a_job_without_updates_is_what_follows_training(tmp_path: Path, demos: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(compress_recorded, "LONGER", Effort(steps=2, batch=32))
    monkeypatch.setattr(Cohort, "update", lambda _: pytest.fail("an update"))
    [train_job], _ = exported([replace(PLAIN, learner="plain+robust-revision", steps=0)], tmp_path / "x", demos)
    train_folder(tmp_path / "x", tmp_path / "results")
    result = read_result(train_job, tmp_path / "results")
    assert result is not None
    assert result.steps == (0,)
    assert result.notes["forgetting"]["updates"] > 0


def per_run(result: worker.Result, k: int) -> list[tuple[str, torch.Tensor]]:
    return [(name, value[k]) for name, value in result.weights.items() if not name.startswith("scale.")]
