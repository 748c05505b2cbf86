"""`diacritic train`: what it prints, what it leaves behind, and how it refuses."""

import json
from pathlib import Path

import pytest
import torch

from diacritic.cli import main


def train(out: Path, *more: str, steps: int = 6) -> int:
    return main(["train", *more, "--seeds", "2", "--steps", str(steps), "--device", "cpu", "--out", str(out)])


def test_training_leaves_runs_with_verdicts(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert train(tmp_path, "memory-chain", "bits=1", "delay=3") == 0
    said = capsys.readouterr().out
    assert "memory-chain bits=1 delay=3: plain+revision, carousel" in said
    assert "/2 sufficient" in said
    manifests = [json.loads(path.read_text()) for path in tmp_path.glob("*/run.json")]
    assert sorted(manifest["run"]["seed"] for manifest in manifests) == [0, 1]
    assert all(len(manifest["rate"]) == 4 for manifest in manifests)
    (metrics,) = tmp_path.glob("cohort-*/metrics.jsonl")
    assert json.loads(metrics.read_text().splitlines()[-1])["step"] == 6


def test_without_updates_codes_are_revised_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert train(tmp_path, "memory-chain", "bits=1", "delay=3", steps=0) == 0
    assert "2/2 sufficient" in capsys.readouterr().out
    for learner, steps, line in (("plain", 0, "0 of them leave plain as it starts"), ("auto", -1, "at least 0")):
        assert train(tmp_path / "none", "gap", "--learner", learner, steps=steps) == 2
        assert line in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_the_same_command_again_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    train(tmp_path, "passive-t-maze", "L=2")
    before = {path: path.read_bytes() for path in tmp_path.glob("*/weights.safetensors")}
    train(tmp_path, "passive-t-maze", "L=2")
    assert {path: path.read_bytes() for path in tmp_path.glob("*/weights.safetensors")} == before


def test_the_release_draws_the_batch_of_its_preset(tmp_path: Path):
    """Two distinct episodes, 64 draws of them an update, as in a study."""
    from safetensors.torch import load_file

    from diacritic.studies.cell import Cell
    from diacritic.studies.symbolic import start
    from diacritic.studies.tasks import task

    given = ("memory-chain", "bits=1", "delay=3", "--learner", "plain", "--preset", "release-external")
    assert train(tmp_path, *given) == 0
    cell = Cell(
        "mine", task("memory-chain", bits=1, delay=3), "plain", "release-external", "external", 1e-3, 6, seeds=2
    )
    cohort = start(cell, "cpu")
    assert cohort.batch == 64
    cohort.advance(6)
    for manifest in tmp_path.glob("*/run.json"):
        run = json.loads(manifest.read_text())["run"]["seed"]
        weights = load_file(manifest.with_name("weights.safetensors"))
        torch.testing.assert_close(weights["codebook"].squeeze(), cohort.parameters["codebook"][run].detach())


def test_a_model_file_is_a_task(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    from certify.zoo import build

    (tmp_path / "mine.json").write_text(build("passive-t-maze", L=2).to_json())
    assert train(tmp_path / "runs", str(tmp_path / "mine.json")) == 0
    assert "mine: plain" in capsys.readouterr().out


def test_too_few_codes_are_announced_with_the_bound(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert train(tmp_path, "memory-chain", "bits=2", "delay=3", "--codes", "3") == 0
    assert "--codes 3 is below the certified bound of 4 codes" in capsys.readouterr().err


def test_learners_are_listed(capsys: pytest.CaptureFixture[str]):
    assert main(["train", "gap", "--learner", "help"]) == 0
    assert "event-agnostic" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("gap", "--learner", "event-agnostc"), "did you mean event-agnostic"),
        (("gap", "--preset", "classic"), "known: carousel, release"),
        (("nowhere",), "no instance is called 'nowhere'"),
        (("gap", "gap2"), "expected KEY=VALUE"),
        (("gap", "gap2=-1"), "gaps are at least 0"),
        (("gap", "--codes", "0"), "at least 1"),
        (("gap", "--warm-start", "absent"), "one for each"),
        (("missing.json",), "missing.json"),
    ],
)
def test_bad_input_is_one_line_and_status_2(arguments, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert train(tmp_path / "runs", *arguments) == 2
    said = capsys.readouterr().err
    assert line in said
    assert said.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def test_the_certified_learner_is_taught_what_is_required_and_no_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    arguments = ["memory-chain", "bits=1", "delay=3", "--learner", "certified", "--seeds", "2"]
    assert main(["train", *arguments, "--out", str(tmp_path)]) == 0
    assert "2/2 sufficient" in capsys.readouterr().out
    for manifest in tmp_path.glob("*/run.json"):
        document = json.loads(manifest.read_text())
        assert document["rate"] == pytest.approx([bits or 0.0 for bits in document["requirement"]])
