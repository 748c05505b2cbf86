"""The cohort in the package: whole, small, of the declared cell, and ready to play."""

import json
import shutil
from pathlib import Path

import pytest

from certify.errors import UserError
from diacritic.cli import main
from diacritic.files.run import CodedEpisodes, read_codes
from diacritic.memory.saved import load_run
from diacritic.shipped import FOLDER, PROVENANCE, cohort, provenance
from reproduction.ship import CELL, LARGEST


def test_every_run_is_whole_and_comes_from_the_recording_that_is_named():
    origin = provenance()
    for run in origin["runs"]:
        saved = load_run(FOLDER / run["run"])
        assert saved.manifest.seed == run["seed"]
        assert saved.manifest.name == run["run"]
        assert saved.manifest.demos_sha256 == origin["recording"]["sha256"]
        assert saved.manifest.code_version == origin["trained"]["code_version"]
        assert saved.weights["codebook"].shape[0] == saved.architecture.codes == 16
        assert saved.manifest.sufficient == run["sufficient"]
        (_, last), *_ = saved.manifest.episodes.ranges
        assert saved.manifest.episodes == CodedEpisodes("held-out", ((448, last),))
        assert read_codes(saved.path, saved.manifest).shape == (saved.shape.horizon, last - 448)
    assert sum(path.stat().st_size for path in FOLDER.rglob("*")) < LARGEST


def test_it_is_the_declared_cell_with_eight_seeds():
    order = provenance()["order"]
    assert [run["seed"] for run in provenance()["runs"]] == list(CELL.run_seeds) == list(range(8))
    actual = [order[key] for key in ("learner", "preset", "steps", "codes", "demonstrations")]
    assert actual == ["event-agnostic", "carousel", CELL.steps, 16, CELL.demonstrations]
    assert {run["beta"] for run in order["runs"]} == {CELL.beta}


def test_copies_play_in_closed_loop_and_the_package_stays_as_it_is(tmp_path: Path):
    """Those of an earlier version of the task are refused."""
    before = sorted(FOLDER.rglob("*"))
    paths = cohort(tmp_path / "arm")
    runs = [json.loads((path / "run.json").read_text()) for path in paths]
    assert [run["run"]["seed"] for run in runs] == list(range(8))
    present = {run["task_version"] for run in runs} == {CELL.task.version}
    assert main(["rollout", str(tmp_path / "arm"), "--episodes", "2", "--threads", "1"]) == (0 if present else 2)
    assert [path.parent for path in sorted(tmp_path.rglob("rollout.json"))] == (sorted(paths) if present else [])
    assert sorted(FOLDER.rglob("*")) == before


def test_a_damaged_package_says_so(tmp_path: Path):
    shutil.copy(FOLDER / PROVENANCE, tmp_path)
    with pytest.raises(UserError, match="lacks the run"):
        cohort(tmp_path / "arm", tmp_path)
    with pytest.raises(UserError, match="cannot be read"):
        provenance(tmp_path / "nowhere")
