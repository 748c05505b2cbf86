"""Checkpoints that go on, and those that do not belong."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from carrier_twin import vectors

from certify.errors import UserError
from diacritic.files.checkpoint import write_checkpoint
from diacritic.files.tensors import write_tensors
from diacritic.memory.shape import Architecture
from diacritic.training.checkpoint import fingerprint, resume, save_checkpoint
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.learner import learner
from diacritic.training.preset import preset

SMALL = Architecture(codes=6, code_size=4, width=8)
PLAN = Plan(learner("event-agnostic"), replace(preset("carousel"), restarts=5), (Run(1), Run(2)), 30, SMALL, batch=4)
DATA = vectors(6, 5)


@pytest.mark.parametrize("kept", [0, 4, 40, -1])
def test_a_truncated_file_is_refused_in_one_line(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "checkpoint.safetensors"
    save_checkpoint(Cohort(PLAN, DATA), path)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(
        UserError, match=r"checkpoint\.safetensors: not a whole safetensors file \(.*\); delete it"
    ) as refusal:
        resume(Cohort(PLAN, DATA), path)
    assert "\n" not in str(refusal.value)


def test_a_checkpoint_goes_on_bit_by_bit(tmp_path: Path) -> None:
    whole = Cohort(PLAN, DATA)
    whole.advance(7)
    save_checkpoint(whole, tmp_path / "c.safetensors")
    whole.advance(12)
    again = Cohort(PLAN, DATA)
    resume(again, tmp_path / "c.safetensors")
    assert again.step == int(again.schedule.step) == 7
    again.advance(12)
    for key, value in whole.optimiser.state().items():
        assert torch.equal(again.optimiser.state()[key], value), key


def test_a_diverged_run_stays_diverged(tmp_path: Path) -> None:
    plan = replace(PLAN, runs=(Run(1), Run(2, code_scale=float("nan"))))
    one = Cohort(plan, DATA)
    one.advance(2)
    save_checkpoint(one, tmp_path / "c.safetensors")
    two = Cohort(plan, DATA)
    resume(two, tmp_path / "c.safetensors")
    assert two.optimiser.diverged.tolist() == [False, True]


OTHER_PLANS = {
    "learner": replace(PLAN, learner=learner("plain")),
    "preset": replace(PLAN, preset=preset("carousel")),
    "seed": replace(PLAN, runs=(Run(1), Run(3))),
    "beta": replace(PLAN, runs=(Run(1), Run(2, beta=0.5))),
    "steps": replace(PLAN, steps=31),
    "architecture": replace(PLAN, architecture=replace(SMALL, bound="tanh")),
    "batch": replace(PLAN, batch=5),
    "precision": replace(PLAN, precision=torch.float64),
}


@pytest.mark.parametrize("what", OTHER_PLANS)
def test_a_checkpoint_of_another_configuration_is_refused(tmp_path: Path, what: str) -> None:
    path = tmp_path / "c.safetensors"
    save_checkpoint(Cohort(PLAN, DATA), path)
    message = r"c\.safetensors: the checkpoint is of another configuration or dataset; train in another folder$"
    with pytest.raises(UserError, match=message):
        resume(Cohort(OTHER_PLANS[what], DATA), path)


@pytest.mark.parametrize("name", ["observation", "target", "weight", "forecast", "observation_index", "decisions"])
def test_a_checkpoint_of_other_data_is_refused(tmp_path: Path, name: str) -> None:
    value = getattr(DATA, name)
    change: dict[str, object] = {name: (0, 1) if isinstance(value, tuple) else value.flip(-1)}
    other = replace(DATA, **change)
    assert fingerprint(PLAN, other) != fingerprint(PLAN, DATA)
    path = tmp_path / "c.safetensors"
    save_checkpoint(Cohort(PLAN, DATA), path)
    with pytest.raises(UserError, match="another configuration or dataset"):
        resume(Cohort(PLAN, other), path)


def test_tensors_of_something_else_are_not_a_checkpoint(tmp_path: Path) -> None:
    write_tensors(tmp_path / "w.safetensors", Cohort(PLAN, DATA).parameters, {"plan": fingerprint(PLAN, DATA)})
    with pytest.raises(UserError, match="is not a checkpoint of format"):
        resume(Cohort(PLAN, DATA), tmp_path / "w.safetensors")


def test_a_flipped_bit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.safetensors"
    save_checkpoint(Cohort(PLAN, DATA), path)
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    with pytest.raises(UserError, match="was changed after it had been written; delete it, and training starts again"):
        resume(Cohort(PLAN, DATA), path)


@pytest.mark.parametrize("step", [5, 31, -1])
def test_a_forged_step_is_refused(tmp_path: Path, step: int) -> None:
    cohort = Cohort(PLAN, DATA)
    write_checkpoint(tmp_path / "c.safetensors", fingerprint(PLAN, DATA), step, cohort.optimiser.state())
    with pytest.raises(UserError, match="stops at step"):
        resume(Cohort(PLAN, DATA), tmp_path / "c.safetensors")


@pytest.mark.parametrize("change", ["name", "shape", "type"])
def test_a_state_of_other_names_or_sizes_is_refused(tmp_path: Path, change: str) -> None:
    state = dict(Cohort(PLAN, DATA).optimiser.state())
    if change == "name":
        state["means"] = state.pop("mean")
    else:
        state["mean"] = state["mean"][:, :-1] if change == "shape" else state["mean"].double()
    write_checkpoint(tmp_path / "c.safetensors", fingerprint(PLAN, DATA), 0, state)
    with pytest.raises(UserError, match=r"of this training|this training needs"):
        resume(Cohort(PLAN, DATA), tmp_path / "c.safetensors")
