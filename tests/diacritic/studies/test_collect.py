"""Results become run folders that every command reads, and rows that say what ran; what is done is left alone."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from exchanged import FREE, PLAIN, exported

from certify.errors import UserError
from diacritic.files.archive import ResultArchives
from diacritic.files.job import EXCHANGE
from diacritic.files.ledger import REQUIRED, read_ledger
from diacritic.rollout.run_loading import groups
from diacritic.studies.collect import StudySettings, import_results
from diacritic.studies.recorded import measure, reported
from diacritic.studies.recordings import recording
from diacritic.tasks.registry import make as make_task
from diacritic.training.worker import read_result, train_folder


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with trained results of two cells that share a cohort, a third, and one judged by another gate."""
    folder = tmp_path_factory.mktemp("home")
    cells = [PLAIN, FREE, replace(PLAIN, gate="relaxed"), replace(PLAIN, learner="gru-8", preset="release")]
    exported(cells, folder / "x", folder / "demos")
    train_folder(folder / "x", folder / "back", archives=ResultArchives(folder / "archives"))
    return folder


def bring(home: Path, out: Path, folder: str = "back", episodes: int = 2) -> tuple[int, list[str]]:
    said: list[str] = []
    return import_results(settings(home / folder, home, out, episodes), said.append), said


def settings(folder: Path, home: Path, out: Path, episodes: int = 0) -> StudySettings:
    return StudySettings(out / "results", folder, home / "demos", out / "runs", episodes=episodes, threads=1)


def test_rows_runs_and_going_on(home: Path, tmp_path: Path):
    number, said = bring(home, tmp_path)
    assert number == 4
    assert len(said) == 4
    assert "/2 sufficient" in said[0]
    rows = read_ledger(tmp_path / "results" / "tiny.jsonl")
    assert len(rows) == 8
    for row in rows:
        assert set(REQUIRED) <= set(row)
        assert (
            row["rate"].keys()
            == row["requirement"].keys()
            == row["scores"].keys()
            == {"gap1", "gap2", "grasp", "place"}
        )
        assert row["same_codes"] == 1.0
        assert row["hybrid"] is None  # there is a display
        assert "kl_bits" not in row  # a code has a rate
        assert row["N"] == 24
        assert row["episodes"] == 2
        assert 0 <= row["success"] <= 1
        assert len(row["profile"]) == len(row["required_profile"]) == 27
        assert (tmp_path / "runs" / row["run"] / "run.json").exists()
    assert {(row["beta"], row["learner"], row["gate"]) for row in rows} == {
        (1e-3, "plain", "task"),
        (0.0, "plain", "task"),
        (1e-3, "plain", "relaxed"),
        (1e-3, "gru-8", "task"),
    }
    before = (tmp_path / "results" / "tiny.jsonl").stat().st_mtime_ns
    assert bring(home, tmp_path) == (0, [])
    assert (tmp_path / "results" / "tiny.jsonl").stat().st_mtime_ns == before


def test_archives_give_the_same_rows_and_a_lost_row_comes_back(home: Path, tmp_path: Path):
    bring(home, tmp_path / "a")
    bring(home, tmp_path / "b", "archives")
    ledgers = [tmp_path / name / "results" / "tiny.jsonl" for name in "ab"]
    first, second = ([{**row, "rollout_seconds": 0} for row in read_ledger(path)] for path in ledgers)
    assert first == second
    lines = ledgers[0].read_text().splitlines(keepends=True)
    ledgers[0].write_text("".join(lines[1:]))
    assert bring(home, tmp_path / "a")[0] == 1
    assert [{**row, "rollout_seconds": 0} for row in read_ledger(ledgers[0])] == first


def test_the_runs_play_as_the_stacked_policies_do(home: Path, tmp_path: Path):
    bring(home, tmp_path, episodes=0)
    rows = read_ledger(tmp_path / "results" / "tiny.jsonl")
    assert {row["success"] for row in rows} == {None}
    actual = list(groups([tmp_path / "runs"]))
    assert sorted(len(group.runs) for group in actual) == [2, 4]
    plain = next(group for group in actual if len(group.runs) == 4)
    train_jobs = json.loads((home / "back" / EXCHANGE).read_text())["orders"]
    assert {run.manifest.demos_sha256 for run in plain.runs} == {train_jobs[0]["demos_sha256"]}
    for run in plain.runs:
        with np.load(run.path / "codes.npz") as arrays:
            assert arrays["codes"].shape == (27, 16)
        assert run.manifest.episodes.which == "held-out"
        assert run.manifest.episodes.indices.tolist() == list(range(24, 40))


def test_a_gaussian_bottleneck_brings_its_bound_home(home: Path, tmp_path: Path):
    (train_job,), _ = exported([replace(PLAIN, learner="gaussian", preset="release")], tmp_path / "x", home / "demos")
    train_folder(tmp_path / "x", tmp_path / "back")
    result = read_result(train_job, tmp_path / "back")
    assert result is not None
    profiles = result.notes["kl_profile"]
    assert [len(profile) for profile in profiles] == [27, 27]
    import_results(settings(tmp_path / "back", home, tmp_path), lambda line: None)
    rows = read_ledger(tmp_path / "results" / "tiny.jsonl")
    steps = reported(make_task("two-cues", gap=1, first_gap=1), rows[0]["required_profile"])
    assert len(steps["gap1"]) > 1
    for row, profile in zip(rows, profiles, strict=True):
        assert row["kl_bits"].keys() == row["rate"].keys()
        assert row["kl_bits"]["gap1"] == pytest.approx(np.mean([profile[t] for t in steps["gap1"]]), rel=1e-5)
        assert row["kl_bits"]["gap1"] > 0


def test_results_of_another_recording_are_refused(home: Path, tmp_path: Path):
    train_jobs, _ = exported([PLAIN], tmp_path / "x", home / "demos")
    train_folder(tmp_path / "x", tmp_path / "back")
    result = read_result(train_jobs[0], tmp_path / "back")
    assert result is not None
    fresh = recording(PLAIN, home / "demos", fresh=True)
    with pytest.raises(UserError, match="not the recording that these runs learned from"):
        measure(result, fresh, fresh, 0)


@pytest.mark.parametrize("study", ["../elsewhere", "/elsewhere", "a/b", "", ".hidden"])
def test_a_cell_cannot_name_a_ledger_outside_the_results(study: str, home: Path, tmp_path: Path):
    shutil.copytree(home / "back", tmp_path / "back")
    document = json.loads((tmp_path / "back" / EXCHANGE).read_text())
    for entry in document["cells"]:
        entry.get("cell", entry)["study"] = study
    (tmp_path / "back" / EXCHANGE).write_text(json.dumps(document))
    with pytest.raises(UserError, match="cannot name a file"):
        import_results(settings(tmp_path / "back", home, tmp_path))
    assert {path.name for path in tmp_path.iterdir()} <= {"back", "results", "runs"}
    assert not list(tmp_path.rglob("*.jsonl"))
