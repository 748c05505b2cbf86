"""Runs from disk in closed loop: a folder that holds the expert's copy succeeds, in table, JSON and arrays."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from expert_carrier import code_of, short_task
from measure_twin import store_run

from diacritic.cli import main
from diacritic.files.demos import load
from diacritic.rollout.run_loading import find_runs, groups


def store(folder: Path, recording: Path, swapped: bool = False, changes: dict[str, object] | None = None) -> Path:
    """The hand-made carrier as a run on disk."""
    return store_run(folder, load(recording), 0, swapped, changes)


@pytest.fixture
def runs(recording: Path, tmp_path: Path) -> Path:
    for swapped in (False, True):
        store(tmp_path / "runs" / f"swapped-{swapped}", recording, swapped)
    return tmp_path / "runs"


def test_a_folder_of_runs_is_played_together(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rollout", str(runs), "--episodes", "4", "--seed", "1", "--threads", "1"]) == 0
    said = capsys.readouterr().out
    assert "action error (cm)" in said
    assert "2 × 4 episodes" in said
    for name, share in (("swapped-False", 1.0), ("swapped-True", 0.0)):
        document = json.loads((runs / name / "rollout.json").read_text())
        assert (document["success"], document["slot"], document["side"]) == (share, share, 1.0)
        assert document["by_episode"]["success"] == [bool(share)] * 4
        assert (document["episodes"], document["seed"], document["until"]) == (4, 1, None)
        assert len(document["own_rate"]) == short_task().horizon
        with np.load(runs / name / "rollout.npz", allow_pickle=False) as arrays:
            cues = arrays["latent:theta"] % 4 ^ (0 if share else 2)
            expected = [code_of(5, cue) for cue in cues]
            assert arrays["codes"][5].tolist() == expected


def test_the_expert_can_drive_first(runs: Path) -> None:
    arguments = ["--episodes", "2", "--until", "place", "--threads", "1"]
    assert main(["rollout", str(runs / "swapped-True"), *arguments]) == 0
    document = json.loads((runs / "swapped-True" / "rollout.json").read_text())
    assert (document["until"], document["takeover"], document["slot"]) == (
        "place",
        short_task().phase_steps("place")[0],
        0.0,
    )


def test_runs_of_other_tasks_play_apart(runs: Path, recording: Path) -> None:
    longer = {**short_task().parameters, "gap": 2}
    store(runs / "longer", recording, changes={"parameters": longer})
    sizes = {group.task.parameters["gap"]: len(group.runs) for group in groups([runs])}
    assert sizes == {1: 2, 2: 1}
    assert find_runs([runs / "longer", runs])[0] == runs / "longer"
    assert len(find_runs([runs / "longer", runs])) == 3


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"task_version": 99}, "was trained on version 99 of two-cues, but this is version"),
        ({"parameters": {"gap": 0}}, "two-cues.gap: 0 steps are not a gap"),
        (
            {"sha256": {"weights.safetensors": "0", "codes.npz": "0"}},
            "does not match the run's manifest; train the run again",
        ),
    ],
)
def test_a_run_that_does_not_fit_is_refused(
    changes: dict[str, object], line: str, recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = store(tmp_path / "run", recording, changes=changes)
    assert main(["rollout", str(run)]) == 2
    said = capsys.readouterr().err
    assert line in said
    assert said.count("\n") == 1


def test_what_is_no_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rollout", str(tmp_path)]) == 2
    assert "is not a run and holds none" in capsys.readouterr().err
    zoo = ["train", "memory-chain", "bits=1", "delay=2", "--seeds", "1", "--steps", "1", "--device", "cpu"]
    assert main([*zoo, "--out", str(tmp_path)]) == 0
    capsys.readouterr()
    assert main(["rollout", str(tmp_path)]) == 2
    assert "is not a run of a recorded task; train one with `diacritic train DEMOS`" in capsys.readouterr().err


def test_weights_are_stacked_in_the_order_of_the_runs(runs: Path) -> None:
    (group,) = groups([runs])
    stacked = group.policies().parameters["residual.out.weight"]
    for k, run in enumerate(group.runs):
        torch.testing.assert_close(stacked[k], run.weights["residual.out.weight"])
    assert not torch.equal(stacked[0], stacked[1])
