"""Files that are whole or not there, checkpoints that go on, and those that do not belong."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from carrier_twin import vectors

from certify.errors import UserError
from diacritic.memory.module import Carrier, one_run
from diacritic.memory.shape import Architecture
from diacritic.training.checkpoint import (
    fingerprint,
    load_weights,
    read_tensors,
    resume,
    save_checkpoint,
    save_weights,
    write_tensors,
)
from diacritic.training.cohort import Cohort, Plan, Run
from diacritic.training.learner import learner
from diacritic.training.preset import preset

SMALL = Architecture(codes=6, code_size=4, width=8)
PLAN = Plan(learner("event-agnostic"), replace(preset("carousel"), restarts=5), (Run(1), Run(2)), 30, SMALL, batch=4)
DATA = vectors(6, 5)


def test_tensors_and_notes_come_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "x.safetensors"
    tensors = {"a": torch.randn(2, 3).T, "b": torch.tensor([True, False]), "c": torch.tensor(3.0)}
    write_tensors(path, tensors, {"step": "7"})
    found, notes = read_tensors(path)
    assert notes == {"step": "7"}
    assert set(found) == {"a", "b", "c"}
    assert all(torch.equal(found[name], value) for name, value in tensors.items())
    assert [other.name for other in path.parent.iterdir()] == ["x.safetensors"]


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.safetensors"
    write_tensors(path, {"a": torch.zeros(3)}, {})

    def die(file: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", die)
    with pytest.raises(KeyboardInterrupt):
        write_tensors(path, {"a": torch.ones(3)}, {})
    assert torch.equal(read_tensors(path)[0]["a"], torch.zeros(3))


@pytest.mark.parametrize("kept", [0, 4, 40, -1])
def test_a_truncated_file_is_refused_in_one_line(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "checkpoint.safetensors"
    save_checkpoint(Cohort(PLAN, DATA), path)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(
        UserError, match=r"checkpoint\.safetensors: not a whole safetensors file \(.*\); delete it"
    ) as found:
        resume(Cohort(PLAN, DATA), path)
    assert "\n" not in str(found.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nothing\.safetensors: no such file$"):
        read_tensors(tmp_path / "nothing.safetensors")


def test_a_checkpoint_goes_on_bit_by_bit(tmp_path: Path) -> None:
    whole = Cohort(PLAN, DATA)
    whole.advance(7)
    save_checkpoint(whole, tmp_path / "c.safetensors")
    whole.advance(12)
    again = Cohort(PLAN, DATA)
    resume(again, tmp_path / "c.safetensors")
    assert again.step == int(again.clock.step) == 7
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


def test_weights_are_no_checkpoint(tmp_path: Path) -> None:
    save_weights(Cohort(PLAN, DATA), tmp_path / "w.safetensors")
    with pytest.raises(UserError, match="another configuration or dataset"):
        resume(Cohort(PLAN, DATA), tmp_path / "w.safetensors")


def test_saved_weights_make_the_same_carrier(tmp_path: Path) -> None:
    cohort = Cohort(PLAN, DATA)
    cohort.advance(2)
    save_weights(cohort, tmp_path / "w.safetensors")
    parameters, notes = load_weights(tmp_path / "w.safetensors")
    assert notes["learner"] == "event-agnostic"
    assert notes["step"] == "2"
    assert set(parameters) == set(cohort.parameters)
    seen, did = torch.zeros(3, 3), torch.zeros(3, 2)
    made = [Carrier(DATA.shape, SMALL, one_run(given, 1)) for given in (parameters, cohort.parameters)]
    answers = [carrier.step(carrier.begin(3), seen, did) for carrier in made]
    assert torch.equal(answers[0][1], answers[1][1])
    assert torch.equal(answers[0][2], answers[1][2])
