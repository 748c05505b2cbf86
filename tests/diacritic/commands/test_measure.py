"""Verdicts from the command line, on a symbolic task and on a recording, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from expert_carrier import short_task
from measure_twin import store_run

from diacritic.cli import main
from diacritic.demos.franka import FrankaRecorder
from diacritic.demos.record import record
from diacritic.demos.storage import save
from diacritic.measure import recorded_run
from diacritic.tasks.franka.tasks import make_task

CHAIN = ["memory-chain", "bits=1", "delay=2"]
SMALL = ["--seeds", "2", "--device", "cpu", "--codes", "4"]


@pytest.fixture(autouse=True)
def few_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The carrier by hand is wide and slow."""
    monkeypatch.setattr(recorded_run, "PAIRS", 48)


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording without noise, and two runs by hand: the expert's copy, and one that swaps the slots."""
    folder = tmp_path_factory.mktemp("measure")
    demos, _ = record(FrankaRecorder(short_task(), threads=1), 64, seed=2)
    save(demos, folder / "short")
    for swapped in (False, True):
        store_run(folder / "runs" / f"swapped-{swapped}", demos, 24, swapped)
    return folder


def test_runs_on_a_symbolic_task(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", *CHAIN, *SMALL, "--steps", "150", "--out", str(tmp_path)]) == 0
    capsys.readouterr()
    assert main(["measure", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert said.index("plain · seed 0") < said.index("plain · seed 1")
    assert "Carried by the code alone?" in said
    assert "/2 sufficient; " in said
    for manifest in tmp_path.glob("*/run.json"):
        trained = json.loads(manifest.read_text())
        found = json.loads((manifest.parent / "verdict.json").read_text())
        assert (found["sufficient"]["answer"] == "yes") == trained["sufficient"]
        np.testing.assert_allclose(found["steps"]["rate"], trained["rate"])
        assert (found["task"], found["seed"]) == ("memory-chain bits=1 delay=2", trained["run"]["seed"])
        assert (manifest.parent / "staircase.png").exists()
    assert main(["measure", str(tmp_path), "--task", "memory-chain bits=1 delay=3"]) == 2
    assert "learned another model than 'memory-chain bits=1 delay=3'" in capsys.readouterr().err


def test_a_run_that_does_not_say_its_task_needs_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = ["--learner", "bypass", "--steps", "2", "--out", str(tmp_path)]
    assert main(["train", *CHAIN, *SMALL, *few]) == 0
    for manifest in tmp_path.glob("*/run.json"):
        document = json.loads(manifest.read_text())
        document.pop("task", None)
        manifest.write_text(json.dumps(document))
    assert main(["measure", str(tmp_path), "--no-figure"]) == 2
    assert "does not say what it learned; give the task with --task" in capsys.readouterr().err
    assert main(["measure", str(tmp_path), "--no-figure", "--task", " ".join(CHAIN)]) == 0
    said = capsys.readouterr().out
    assert said.count("a continuous state persists beside the code") >= 2
    assert not list(tmp_path.glob("*/staircase.png"))


def test_a_run_on_a_recording(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = copied / "runs" / "swapped-False"
    small = ["--episodes", "16", "--interventions", "4", "--seed", "1", "--threads", "1"]
    assert main(["measure", str(run), "--task", str(copied / "short"), *small]) == 0
    found = json.loads((run / "verdict.json").read_text())
    assert [found[name]["answer"] for name in ("sufficient", "surplus", "sole")] == ["yes", "yes", "yes"]
    controls = {control["name"]: control["passed"] for control in found["controls"]}
    assert not [name for name, passed in controls.items() if passed is False]
    assert controls["code swap, expert occupancy"] is controls["code swap, closed loop"] is True
    assert controls["body memory, slot in gap2"] is controls["previous actions"] is controls["own occupancy"] is True
    assert controls["raw observations"] is None
    assert found["occupancy"] == "codes on 40 held-out episodes, expert occupancy"
    assert found["excess"]["gap1"] == pytest.approx(0, abs=1e-9)  # hover is seen there, and the copy holds nothing else
    assert found["excess"]["gap2"] == pytest.approx(2, abs=0.2)  # the copy never forgets side and hover
    assert "Impression: The code suffices and alone carries the memory" in capsys.readouterr().out


def test_swapped_slots_are_a_decision_error_and_no_lack_of_memory(copied: Path) -> None:
    run = copied / "runs" / "swapped-True"
    arguments = ["--task", str(copied / "short"), "--episodes", "0", "--interventions", "0", "--no-figure"]
    assert main(["measure", str(run), *arguments]) == 0
    found = json.loads((run / "verdict.json").read_text())
    controls = {control["name"]: control for control in found["controls"]}
    assert found["sufficient"]["answer"] == "yes"
    assert controls["decision errors"]["data"] == {"side": 0.0, "slot": 1.0}
    assert controls["decision errors"]["passed"] is False
    assert "body memory, slot in gap2" not in controls
    assert found["impression"].endswith("Look at what failed besides: decision errors.")


def test_recordings_that_do_not_fit_are_refused(
    copied: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = str(copied / "runs" / "swapped-True")
    assert main(["measure", run]) == 2
    assert "learned from a recording; give its path with --task" in capsys.readouterr().err
    other, _ = record(FrankaRecorder(make_task("two-cues", gap=2, first_gap=1), threads=1), 4, seed=0)
    save(other, tmp_path / "other")
    assert main(["measure", run, "--task", str(tmp_path / "other")]) == 2
    said = capsys.readouterr().err
    assert "--task: is a recording of two-cues" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "line"), [([], "at least one run"), (["x", "--episodes", "3"], "--episodes is 0")]
)
def test_bad_options_are_refused(arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", *arguments]) == 2
    assert line in capsys.readouterr().err
