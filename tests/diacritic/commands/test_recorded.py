"""Training on a recording from the command line, the runs that it leaves, and what it refuses."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from certify.errors import UserError
from diacritic.cli import main
from diacritic.demos.binner import Binner
from diacritic.files.demos import is_recording, load
from diacritic.measure.plugin import conditional_entropy
from diacritic.memory.saved import load_run
from diacritic.memory.scale import Scale
from diacritic.rollout.policies import Policies
from diacritic.studies import train as studies_train
from diacritic.tasks.registry import make as make_task
from diacritic.tasks.registry import task_of
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.demonstrations import held_out_codes, prepare
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.supervision import supervise

TASK = make_task("two-cues", gap=1, first_gap=1)
SMALL = ("--demonstrations", "24", "--seeds", "2", "--steps", "2", "--codes", "4", "--device", "cpu")


def trained(recording: Path, out: Path, *more: str) -> list[dict]:
    assert main(["train", str(recording), *SMALL, *more, "--out", str(out)]) == 0
    return [json.loads(path.read_text()) for path in sorted(out.glob("*/run.json"))]


def test_runs_carry_what_a_closed_loop_needs(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifests = trained(recording, tmp_path)
    demos = load(recording)
    waiting = TASK.windows["gap1"][0]
    needed = conditional_entropy(demos.latents["theta"][24:] % 4, demos.symbols[waiting, 24:])
    assert needed > 1
    assert sorted(manifest["run"]["seed"] for manifest in manifests) == [0, 1]
    for manifest in manifests:
        assert manifest["task"] == "two-cues"
        assert manifest["parameters"] == dict(demos.parameters)
        assert (manifest["N"], manifest["held_out"]) == (24, 16)
        assert manifest["demos_sha256"] == demos.digest
        assert manifest["sufficient"] is False
        assert manifest["requirement"][waiting] == pytest.approx(needed)
        assert set(manifest["scores"]) == {"gap1", "gap2", "side decision", "slot decision"}
    path = next(iter(sorted(tmp_path.glob("*/run.json")))).parent
    scale = Scale.from_tensors(load_run(path).weights)
    expected = demos.observations[:, :24].reshape(-1, 27).mean(0)
    np.testing.assert_allclose(scale.observation_mean.numpy(), expected, atol=1e-5)
    assert Binner.load(path / "binner.json").names == demos.symbol_names
    said = capsys.readouterr().out
    assert "0/2 sufficient on 16 held-out episodes" in said
    (path / "binner.json").write_text("{}")
    with pytest.raises(UserError, match="does not match the run's manifest"):
        load_run(path)


@pytest.mark.parametrize("name", ["event-agnostic", "task-informed"])
def test_forecasters_supervise(name: str, recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studies_train, "supervise", partial(supervise, steps=2))
    manifests = trained(recording, tmp_path, "--learner", name)
    assert [manifest["learner"] for manifest in manifests] == [name] * 2
    assert len(list(tmp_path.glob("forecaster-*.safetensors"))) == 1


def test_held_out_codes_are_those_of_the_policies(recording: Path) -> None:
    """The judge sees what a policy would do that watches the held-out episodes."""
    demos = load(recording)
    learned, held_out = demos.split(30)
    prepared = prepare(learned, held_out, task_of(demos))
    plan = Plan(learner("plain"), preset("release"), (Run(0), Run(1)), 5)
    cohort = Cohort(plan, prepared.data)
    cohort.advance(5)
    codes = held_out_codes(cohort, prepared.held_out)
    assert codes.shape == (2, demos.steps, 10)
    policies = Policies({k: v.detach() for k, v in cohort.parameters.items()}, plan.carrier, prepared.scale)
    policies.begin(10)
    for t in range(demos.steps):
        shown, before = (np.repeat(a[None], 2, 0) for a in (held_out.observations[t], held_out.actions[t - 1]))
        np.testing.assert_array_equal(policies.step(shown, before if t else None)[0], codes[:, t])
    torch.testing.assert_close(cohort.parameters["codebook"].shape, torch.Size((2, 16, 32)))


def test_what_is_a_recording(recording: Path, tmp_path: Path) -> None:
    assert is_recording(str(recording))
    assert is_recording(f"{recording}.npz")
    assert is_recording(f"{recording}.json")
    assert not is_recording("memory-chain")
    (tmp_path / "model.json").write_text('{"horizon": 1}')
    assert not is_recording(str(tmp_path / "model.json"))


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["gap=3"], "gap=3: a recording brings its own parameters; record another one instead"),
        (["--demonstrations", "40"], "train: expected 1 to 39 of the 40 episodes, not 40"),
        (["--learner", "plane"], "no learner is called 'plane'; did you mean plain"),
    ],
)
def test_bad_input_ends_with_one_line(
    arguments: list[str], line: str, recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", str(recording), *arguments, "--steps", "1", "--out", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert line in said
    assert said.count("\n") == 1


def test_another_version_of_the_task_is_refused(recording: Path) -> None:
    with pytest.raises(UserError, match="is of version 99 of two-cues, but this is version"):
        task_of(replace(load(recording), task_version=99))


def _truncate(stem: Path) -> None:
    path = stem.with_suffix(".npz")
    path.write_bytes(path.read_bytes()[:1000])


def _age(stem: Path) -> None:
    path = stem.with_suffix(".json")
    path.write_text(path.read_text().replace('"task_version": ', '"task_version": 9'))


def _exchange(stem: Path) -> None:
    path = stem.with_suffix(".json")
    path.write_text(path.read_text().replace('"task": "two-cues"', '"task": "three-cues"'))


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (_truncate, "short.npz: not an npz file of plain arrays"),
        (_age, "recording: is of version 9"),
        (_exchange, "task: 'three-cues' is unknown; there are two-cues"),
    ],
)
def test_a_recording_that_does_not_fit_ends_with_one_line(
    damage: Callable[[Path], None], line: str, recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for suffix in (".npz", ".json"):
        shutil.copy(recording.with_suffix(suffix), tmp_path)
    damage(tmp_path / recording.name)
    assert main(["train", str(tmp_path / recording.name), "--steps", "1", "--out", str(tmp_path / "runs")]) == 2
    said = capsys.readouterr().err
    assert line in said
    assert said.count("\n") == 1


def test_too_few_codes_are_warned_of(recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = [*SMALL[:-4], "--codes", "3", "--device", "cpu", "--out", str(tmp_path)]
    assert main(["train", str(recording), *small]) == 0
    assert "--codes 3 is below the certified bound of 4 codes" in capsys.readouterr().err
