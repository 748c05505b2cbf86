"""`diacritic export` and `diacritic play`: a run becomes a machine with a certificate that the checker verifies."""

from pathlib import Path

import pytest
from counting_tables import counting_table

from certify.check import main as check
from certify.errors import UserError
from certify.zoo import build
from diacritic.cli import main
from diacritic.commands.export import Export, Play
from diacritic.files.run import find_runs
from diacritic.memory.certified_codes import certified_labels
from diacritic.memory.shape import Architecture
from diacritic.rollout.machine_file import minimal_machine
from diacritic.tasks.named import model_in_one_word
from diacritic.training.certified import CERTIFIED, train_certified
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.preset import preset
from diacritic.training.runs import save_runs
from diacritic.training.symbolic import from_model

MODEL = build("memory-chain", bits=1, delay=4)
PLAN = Plan(CERTIFIED, preset("carousel"), (Run(0),), 5, Architecture(codes=4, code_size=6, width=24))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run that has learned, `good`, and one that has not, `bad`."""
    path = tmp_path_factory.mktemp("runs")
    facts = [{"kind": "symbolic", "task": MODEL.name, "model_sha256": MODEL.digest}]
    good, _ = train_certified(PLAN, from_model(MODEL), certified_labels(MODEL))
    for name, cohort in (("good", good), ("bad", Cohort(PLAN, from_model(MODEL)))):
        save_runs(cohort, path / name, facts)[0].rename(path / name / "run")
    return path


def test_a_run_becomes_a_machine_and_a_verified_certificate(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "machine.json"
    assert Export(folder / "good" / "run", out).run() == 0
    said = capsys.readouterr().out
    assert "2 codes, at most 1.000 bits, the minimum at every step; equal to the expert on all 10 histories" in said
    assert "verified: R_1" in said
    assert check([str(tmp_path / "machine.certificate.json"), str(tmp_path / "machine.model.json")]) == 0
    assert len(list(tmp_path.iterdir())) == 3


def test_the_machine_plays_its_task_and_longer_ones(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "machine.json"
    Export(folder / "good" / "run", out).run()
    for task in ((), ("memory-chain", "bits=1", "delay=30")):
        assert Play(out, task, episodes=10).run() == 0
        said = capsys.readouterr().out
        assert "100.0% of 10 episodes succeed" in said
        assert "proved: after every history" in said
    Play(out, ("memory-chain", "bits=2", "delay=4"), episodes=10).run()
    assert "errs at step 1, after context 00: a random action" in capsys.readouterr().out


def test_an_untrained_run_is_refused_with_a_history_and_nothing_is_written(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"step \d: after context \d.* the machine does \d, the expert \d"):
        Export(folder / "bad" / "run", tmp_path / "machine.json").run()
    assert not list(tmp_path.iterdir())


def test_bad_input_is_one_line(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="learned another model than"):
        Export(folder / "good" / "run", tmp_path / "machine.json", "memory-chain bits=1 delay=5").run()
    with pytest.raises(UserError, match="is not a run"):
        Export(tmp_path, tmp_path / "machine.json").run()
    with pytest.raises(UserError, match="--episodes is at least 1"):
        Play(tmp_path / "machine.json", episodes=0).run()
    with pytest.raises(UserError, match="cannot be read"):
        Play(tmp_path / "machine.json").run()


def test_a_run_of_a_model_file_needs_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The run brings its model along, and so does the machine that is exported from it."""
    file, out = tmp_path / "mine.json", tmp_path / "machine.json"
    file.write_text(MODEL.to_json())
    few = ["--learner", "certified", "--seeds", "1", "--codes", "4", "--out", str(tmp_path / "runs")]
    assert main(["train", str(file), *few]) == 0
    file.unlink()
    (run,) = find_runs([tmp_path / "runs"])
    assert main(["export", str(run), "--out", str(out)]) == 0
    assert main(["play", str(out), "--episodes", "10"]) == 0
    assert "mine: 100.0% of 10 episodes succeed" in capsys.readouterr().out
    (tmp_path / "machine.model.json").write_text(build("gap").to_json())
    assert main(["play", str(out)]) == 2
    assert "is not the model that the machine was exported from" in capsys.readouterr().err


def test_a_machine_is_proved_at_every_horizon_of_a_task_without_an_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    task = "forever:counter horizon=5 modulus=2"
    model = model_in_one_word(task)
    facts = [{"kind": "symbolic", "task": task, "model_sha256": model.digest}]
    run = save_runs(Cohort(PLAN, from_model(model, 50)), tmp_path / "runs", facts)[0]
    out = tmp_path / "machine.json"
    with pytest.raises(UserError, match="wrong at step"):
        Export(run, out, forever=True).run()
    assert not out.exists()
    monkeypatch.setattr("diacritic.rollout.export.machines", lambda *_: [counting_table(model, 8)])
    assert Export(run, out, forever=True).run() == 0
    assert "2 codes, right at every horizon" in capsys.readouterr().out
    assert main(["certify", "counter", "--modulus", "2", "--forever", "--check", str(out)]) == 0
    assert main(["certify", "counter", "--modulus", "3", "--forever", "--check", str(out)]) == 1
    minimal_machine(counting_table(model, 4), model).save(tmp_path / "file.json")
    capsys.readouterr()
    status = Play(tmp_path / "file.json", forever=True).run()
    assert (status == 0) == ("right at every horizon" in capsys.readouterr().out)
    with pytest.raises(UserError, match="has a last step"):
        Play(tmp_path / "file.json", ("counter",), forever=True).run()
