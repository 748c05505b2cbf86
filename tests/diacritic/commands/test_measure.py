"""Verdicts from the command line, on a symbolic task and on a recording, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from expert_carrier import short_task
from measure_twin import store_run

from certify import certify
from certify.certificate import certificate_json
from certify.zoo import build
from diacritic.cli import main
from diacritic.demos.record import record
from diacritic.files.demos import load, save
from diacritic.measure import interventions_recorded
from diacritic.measure.interventions_closed_loop import attribute_closed_loop
from diacritic.rollout.run_loading import groups
from diacritic.tasks.protocol import Simulation
from diacritic.tasks.registry import make as make_task

CHAIN = ["memory-chain", "bits=1", "delay=2"]
SMALL = ["--seeds", "2", "--device", "cpu", "--codes", "4"]


@pytest.fixture(autouse=True)
def few_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The carrier by hand is wide and slow."""
    monkeypatch.setattr(interventions_recorded, "PAIRS", 48)


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording without noise, and two runs by hand: the expert's copy, and one that swaps the slots."""
    folder = tmp_path_factory.mktemp("measure")
    demos, _ = record(short_task(), 64, seed=2)
    save(demos, folder / "short")
    for swapped in (False, True):
        store_run(folder / "runs" / f"swapped-{swapped}", demos, 24, swapped)
    return folder


def test_runs_on_a_symbolic_task(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", *CHAIN, *SMALL, "--steps", "150", "--out", str(tmp_path)]) == 0
    capsys.readouterr()
    assert main(["measure", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert said.index("plain+revision · seed 0") < said.index("plain+revision · seed 1")
    assert "Carried by the code alone?" in said
    assert "/2 sufficient; " in said
    for manifest in tmp_path.glob("*/run.json"):
        trained = json.loads(manifest.read_text())
        document = json.loads((manifest.parent / "verdict.json").read_text())
        assert (document["sufficient"]["answer"] == "yes") == trained["sufficient"]
        np.testing.assert_allclose(document["steps"]["rate"], trained["rate"])
        assert (document["task"], document["seed"]) == ("memory-chain bits=1 delay=2", trained["run"]["seed"])
        assert (manifest.parent / "staircase.png").exists()
    assert main(["measure", str(tmp_path), "--task", "memory-chain bits=1 delay=3"]) == 2
    assert "learned another model than 'memory-chain bits=1 delay=3'" in capsys.readouterr().err


def test_what_persists_beside_the_code_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = ["--learner", "bypass", "--steps", "2", "--out", str(tmp_path)]
    assert main(["train", *CHAIN, *SMALL, *few]) == 0
    assert main(["measure", str(tmp_path), "--no-figure", "--task", " ".join(CHAIN)]) == 0
    said = capsys.readouterr().out
    assert said.count("a continuous state persists beside the code") >= 2
    assert not list(tmp_path.glob("*/staircase.png"))


def test_a_run_on_a_recording(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = copied / "runs" / "swapped-False"
    small = ["--episodes", "16", "--interventions", "8", "--seed", "1", "--threads", "1"]
    assert main(["measure", str(run), "--task", str(copied / "short"), *small]) == 0
    document = json.loads((run / "verdict.json").read_text())
    assert [document[name]["answer"] for name in ("sufficient", "surplus", "sole")] == ["yes", "yes", "yes"]
    controls = {control["name"]: control["passed"] for control in document["controls"]}
    assert not [name for name, passed in controls.items() if passed is False]
    assert controls["code swap, expert occupancy"] is controls["code swap, closed loop"] is True
    assert controls["body memory, slot in gap2"] is controls["previous actions"] is controls["own occupancy"] is True
    assert controls["raw observations"] is None
    assert document["occupancy"] == "codes on 40 held-out episodes, expert occupancy"
    assert document["excess"]["gap1"] == pytest.approx(0, abs=1e-9)  # the copy holds nothing else
    assert document["excess"]["gap2"] == pytest.approx(1, abs=0.1)  # the copy never forgets the side
    assert "Impression: The code suffices and alone carries the memory" in capsys.readouterr().out


def test_swapped_slots_are_a_decision_error_and_no_lack_of_memory(copied: Path) -> None:
    run = copied / "runs" / "swapped-True"
    arguments = ["--task", str(copied / "short"), "--episodes", "0", "--interventions", "0", "--no-figure"]
    assert main(["measure", str(run), *arguments]) == 0
    document = json.loads((run / "verdict.json").read_text())
    controls = {control["name"]: control for control in document["controls"]}
    assert document["sufficient"]["answer"] == "yes"
    assert controls["decision errors"]["data"] == {"side": 0.0, "slot": 1.0}
    assert controls["decision errors"]["passed"] is False
    assert "body memory, slot in gap2" not in controls
    assert document["impression"].endswith("Look at what failed besides: decision errors.")


def test_recordings_that_do_not_fit_are_refused(
    copied: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = str(copied / "runs" / "swapped-True")
    assert main(["measure", run]) == 2
    assert "learned from a recording; give its path with --task" in capsys.readouterr().err
    other, _ = record(make_task("two-cues", gap=2, first_gap=1), 4, seed=0)
    save(other, tmp_path / "other")
    assert main(["measure", run, "--task", str(tmp_path / "other")]) == 2
    said = capsys.readouterr().err
    assert "--task: is a recording of two-cues" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([], "at least one run"),
        (["x", "--episodes", "3"], "--episodes: 3 are too few"),
        (["x", "--interventions", "2"], "--interventions: 2 are"),
    ],
)
def test_bad_options_are_refused(arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", *arguments]) == 2
    assert line in capsys.readouterr().err


def test_a_certificate_of_the_task_is_checked_and_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = ["--seeds", "1", "--device", "cpu", "--codes", "4", "--steps", "2", "--out", str(tmp_path / "runs")]
    assert main(["train", *CHAIN, *few]) == 0
    for delay, status in ((2, 0), (3, 2)):
        proof = tmp_path / f"{delay}.json"
        proof.write_text(certificate_json(certify(build("memory-chain", bits=1, delay=delay))))
        capsys.readouterr()
        assert main(["measure", str(tmp_path / "runs"), "--no-figure", "--certificate", str(proof)]) == status
    said = capsys.readouterr().err
    assert "3.json: is not a certificate of memory-chain bits=1 delay=2: the certificate is of another model" in said
    assert said.count("\n") == 1


def test_what_the_probe_of_a_recording_found_is_part_of_the_verdict(
    copied: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    demos = load(copied / "short")
    save(demos, tmp_path / "short")
    hidden = {"phase": "gap2", "variable": "slot", "status": "hidden", "accuracy": 0.97, "chance": 0.5}
    seen = {"phase": "scan", "variable": "slot", "status": "visible", "accuracy": 0.6, "chance": 0.5, "passed": False}
    arguments = ["--task", str(tmp_path / "short"), "--episodes", "0", "--interventions", "0", "--no-figure"]
    run = copied / "runs" / "swapped-False"
    for leaks in (False, True):
        cells = [{**hidden, "passed": not leaks}, seen]
        probe = {
            "format": "diacritic-probe/1",
            "demos_sha256": demos.digest,
            "probes": {"observations": {"cells": cells}},
        }
        (tmp_path / "short.probe.json").write_text(json.dumps(probe))
        assert main(["measure", str(run), *arguments]) == 0
        document = json.loads((run / "verdict.json").read_text())
        (control,) = (control for control in document["controls"] if control["name"] == "raw observations")
        assert control["passed"] is not leaks
        assert ("slot in gap2 from observations (0.97, chance 0.50)" in control["text"]) == leaks
        assert document["sole"]["answer"] == ("no" if leaks else "yes")
    capsys.readouterr()
    probe["demos_sha256"] = "0"
    (tmp_path / "short.probe.json").write_text(json.dumps(probe))
    assert main(["measure", str(run), *arguments]) == 2
    assert "short.probe.json: is of another recording; run `diacritic probe` again" in capsys.readouterr().err


def test_a_run_that_sees_pixels(tmp_path: Path) -> None:
    """Trained for a moment, it is measured on held-out frames, and intervened on in closed loop with a camera."""
    task = make_task("two-cues", gap=1, first_gap=1)
    save(record(task, 8, seed=0, simulation=Simulation(frames=True))[0], tmp_path / "pixels")
    few = ["--seeds", "1", "--steps", "2", "--demonstrations", "4", "--codes", "4", "--device", "cpu"]
    assert main(["train", str(tmp_path / "pixels"), *few, "--out", str(tmp_path / "runs")]) == 0
    small = ["--episodes", "0", "--interventions", "0"]
    assert main(["measure", str(tmp_path / "runs"), "--task", str(tmp_path / "pixels"), *small]) == 0
    (path,) = tmp_path.glob("runs/*/verdict.json")
    document = json.loads(path.read_text())
    assert document["occupancy"] == "codes on 4 held-out episodes, expert occupancy"
    assert document["sufficient"]["answer"] == "no"
    controls = {control["name"]: control for control in document["controls"]}
    assert controls["episode boundary"]["passed"] is True
    assert controls["interventions, expert occupancy"]["data"]
    assert (path.parent / "staircase.png").exists()
    (group,) = groups([path.parent])
    (run,) = group.runs
    played = attribute_closed_loop(task, run.policies(), group.binner, 1, threads=1)
    assert [trial.name for trial in played.trials] == ["side", "slot"]
