"""Recordings of others: arrays, bare files, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

import diacritic
from certify.errors import UserError
from diacritic.demos import certify_recording, from_arrays, load, record, save
from diacritic.demos.readers import is_recording
from diacritic.files.arrays import write_npz
from diacritic.tasks.pointmass import PointMass

# a cue of one bit at step 0, a wait, and the action that it asks for
CUE = np.array([0, 1] * 4)
SYMBOLS = np.stack([CUE, np.full(8, 2), np.full(8, 3)])
CHOICES = np.stack([np.zeros(8, int), np.zeros(8, int), 1 + CUE])


def test_symbols_alone_are_a_recording() -> None:
    demos = from_arrays(SYMBOLS, CHOICES, latents={"cue": CUE})
    assert demos.observations.shape == (3, 8, 4)
    assert demos.symbol_names == ("0", "1", "2", "3")
    assert [step.rate for step in certify_recording(demos).steps] == [0, 1, 1]


def test_a_bare_file_is_read_as_its_arrays(tmp_path: Path) -> None:
    observations, actions = np.random.default_rng(0).random((3, 8, 5)), np.zeros((3, 8, 2))
    shown = np.array(["cue 0", "cue 1", "wait", "fork"])
    arrays = {"observations": observations, "actions": actions, "symbols": SYMBOLS, "choices": CHOICES}
    write_npz(tmp_path / "mine.npz", **arrays, **{"symbol_names": shown, "latent:cue": CUE})
    demos = load(tmp_path / "mine.npz")
    assert (demos.task, demos.symbol_names[3], demos.latents["cue"].tolist()) == ("mine", "fork", CUE.tolist())
    assert demos.success.all()
    assert [step.rate for step in certify_recording(demos).steps] == [0, 1, 1]
    save(demos, tmp_path / "again")
    assert load(tmp_path / "again").digest == demos.digest


def test_our_own_recordings_are_read_as_before(tmp_path: Path) -> None:
    demos, _ = record(PointMass(), 8)
    save(demos, tmp_path / "own")
    for source in ("own", "own.npz", "own.json"):
        assert load(tmp_path / source, task="point-mass").digest == demos.digest


@pytest.mark.parametrize(
    ("arrays", "line"),
    [
        ({"actions": np.zeros((3, 8, 2))}, "has no array 'observations'; give arrays named observations, actions"),
        ({"observations": SYMBOLS, "actions": CHOICES, "rewards": CHOICES}, "has an unknown array 'rewards'"),
        ({"observations": SYMBOLS, "actions": CHOICES[:2]}, "actions: expected axes"),
        ({"observations": SYMBOLS, "actions": CHOICES, "symbols": SYMBOLS / 2}, "symbols: expected integers"),
        ({"observations": np.full((3, 8, 1), np.nan), "actions": CHOICES}, r"observations\[0, 0\]: the value is not"),
    ],
)
def test_what_is_not_a_recording_is_refused(arrays: dict[str, np.ndarray], line: str, tmp_path: Path) -> None:
    write_npz(tmp_path / "odd.npz", **arrays)
    with pytest.raises(UserError, match=line):
        load(tmp_path / "odd")


def test_a_name_is_a_recording_or_is_not(tmp_path: Path) -> None:
    write_npz(tmp_path / "mine.npz", observations=SYMBOLS, actions=CHOICES)
    write_npz(tmp_path / "model.npz", graph=SYMBOLS)
    (tmp_path / "cut.npz").write_bytes(b"PK")
    save(from_arrays(SYMBOLS, CHOICES), tmp_path / "own")
    for name in ("mine", "mine.npz", "own", "own.json"):
        assert is_recording(str(tmp_path / name)), name
    for name in ("model.npz", "cut.npz", "none"):
        assert not is_recording(str(tmp_path / name)), name
    assert is_recording("minari:some/dataset-v0")
    assert not is_recording("memory-chain")


def test_another_task_than_asked_for_is_refused(tmp_path: Path) -> None:
    write_npz(tmp_path / "mine.npz", observations=SYMBOLS, actions=CHOICES)
    with pytest.raises(UserError, match="holds 'mine', but 'theirs' is asked for"):
        load(tmp_path / "mine", task="theirs")


def test_the_package_loads_every_kind(tmp_path: Path) -> None:
    write_npz(tmp_path / "mine.npz", observations=SYMBOLS, actions=CHOICES)
    assert diacritic.load(tmp_path / "mine").task == "mine"
