"""From results to a cohort that is shipped: the cell's runs alone, judged and played; whole, or as it was before."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from exchanged import FREE, PLAIN, exported

from certify.errors import UserError
from diacritic.files.tensors import read_tensors
from diacritic.rollout.run_loading import groups
from diacritic.shipped import cohort, provenance
from diacritic.training.worker import train_folder
from reproduction import ship as shipping
from reproduction.__main__ import main


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two cells of one cohort, trained in half precision."""
    folder = tmp_path_factory.mktemp("home")
    exported([PLAIN, FREE], folder / "x", folder / "demos")
    train_folder(folder / "x", folder / "back", half=True)
    return folder


def ship(home: Path, out: Path, results: str = "back", cell=FREE):
    return shipping.ship(home / results, out, home / "demos", cell, episodes=2)


def test_the_runs_of_the_cell_are_shipped_and_nothing_else(home: Path, tmp_path: Path):
    actual = ship(home, tmp_path / "kept")
    assert provenance(tmp_path / "kept") == json.loads(json.dumps(actual))
    assert [run["seed"] for run in actual["runs"]] == [0, 1]
    assert {path.name for path in (tmp_path / "kept").iterdir()} == {
        "provenance.json",
        *(run["run"] for run in actual["runs"]),
    }
    assert all(run["episodes"] == 2 and run["same_codes"] == 1.0 for run in actual["runs"])
    (group,) = groups(cohort(tmp_path / "copy", tmp_path / "kept"))
    assert [run.manifest.run for run in group.runs] == [actual["order"]["runs"][k] for k in (2, 3)]
    assert {run.manifest.demos_sha256 for run in group.runs} == {actual["recording"]["sha256"]}
    weights, _ = read_tensors(tmp_path / "kept" / actual["runs"][0]["run"] / "weights.safetensors")
    assert weights["codebook"].dtype == torch.float16


def test_a_new_cohort_takes_the_place_of_the_old(home: Path, tmp_path: Path):
    before = ship(home, tmp_path / "kept", cell=PLAIN)
    after = ship(home, tmp_path / "kept")
    assert not {run["run"] for run in before["runs"]} & {run["run"] for run in after["runs"]}
    assert len(list((tmp_path / "kept").iterdir())) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_what_is_too_large_leaves_the_old_one_alone(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    before = ship(home, tmp_path / "kept")
    monkeypatch.setattr(shipping, "LARGEST", 1000)
    with pytest.raises(UserError, match="train it with --half"):
        ship(home, tmp_path / "kept", cell=PLAIN)
    assert provenance(tmp_path / "kept")["runs"] == before["runs"]
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_results_without_the_cell_are_refused(home: Path, tmp_path: Path):
    with pytest.raises(UserError, match="no training job here trains two-cues"):
        ship(home, tmp_path / "kept", cell=replace(FREE, steps=5))
    with pytest.raises(UserError, match="train it first"):
        ship(home, tmp_path / "kept", results="x")
    assert not list(tmp_path.iterdir())


def test_the_command_says_what_is_wrong_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["ship", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "exchange.json" in said
    assert said.count("\n") == 1
