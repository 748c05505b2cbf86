"""The cohort in the package: whole, small, of the declared cell, and ready to play."""

import json
import shutil
from pathlib import Path

import pytest

from certify.errors import UserError
from diacritic.cli import main
from diacritic.shipped import FOLDER, PROVENANCE, cohort, provenance
from diacritic.training.runs import load_run
from reproduction.ship import CELL, LARGEST


def test_every_run_is_whole_and_comes_from_the_recording_that_is_named():
    known = provenance()
    for run in known["runs"]:
        manifest, _, architecture, weights = load_run(FOLDER / run["run"])
        assert manifest["run"]["seed"] == run["seed"]
        assert manifest["demos_sha256"] == known["recording"]["sha256"]
        assert manifest["code_version"] == known["trained"]["code_version"]
        assert weights["codebook"].shape[0] == architecture.codes == 16
        assert bool(manifest["sufficient"]) == run["sufficient"]
    assert sum(path.stat().st_size for path in FOLDER.rglob("*")) < LARGEST


def test_it_is_the_declared_cell_with_eight_seeds():
    order = provenance()["order"]
    assert [run["seed"] for run in provenance()["runs"]] == list(CELL.run_seeds) == list(range(8))
    found = [order[key] for key in ("learner", "preset", "steps", "codes", "demonstrations")]
    assert found == ["event-agnostic", "carousel", CELL.steps, 16, CELL.demonstrations]
    assert {run["beta"] for run in order["runs"]} == {CELL.beta}


def test_copies_play_in_closed_loop_and_the_package_stays_as_it_is(tmp_path: Path):
    before = sorted(FOLDER.rglob("*"))
    paths = cohort(tmp_path / "arm")
    assert main(["rollout", str(tmp_path / "arm"), "--episodes", "2", "--threads", "1"]) == 0
    for seed, path in enumerate(paths):
        assert json.loads((path / "run.json").read_text())["run"]["seed"] == seed
        assert json.loads((path / "rollout.json").read_text())["episodes"] == 2
    assert sorted(FOLDER.rglob("*")) == before


def test_a_damaged_package_says_so(tmp_path: Path):
    shutil.copy(FOLDER / PROVENANCE, tmp_path)
    with pytest.raises(UserError, match="lacks the run"):
        cohort(tmp_path / "arm", tmp_path)
    with pytest.raises(UserError, match="cannot be read"):
        provenance(tmp_path / "nowhere")
