"""Recordings on disk: back bit for bit, or refused in one line."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from certify.errors import UserError
from diacritic.demos.record import record
from diacritic.files.demos import Demos, load, save


@pytest.fixture
def demos(stand_in):
    return record(stand_in(), 16, 5)[0]


def test_round_trip(demos, tmp_path):
    manifest = save(demos, tmp_path / "deep" / "one")
    again = load(tmp_path / "deep" / "one")
    assert manifest == tmp_path / "deep" / "one.json"
    assert again.digest == demos.digest
    for name, array in demos.arrays.items():
        np.testing.assert_array_equal(again.arrays[name], array)
        assert again.arrays[name].dtype == array.dtype
    for name in (
        "task",
        "parameters",
        "seed",
        "convention",
        "symbol_names",
        "choice_names",
        "versions",
        "task_version",
    ):
        assert getattr(again, name) == getattr(demos, name)
    assert sorted(path.name for path in manifest.parent.iterdir()) == ["one.json", "one.npz"]


def test_the_stem_may_carry_a_suffix_or_dots(demos, tmp_path):
    save(demos, tmp_path / "gap.20.json")
    assert load(tmp_path / "gap.20.npz").digest == load(tmp_path / "gap.20").digest


def test_frames_travel(stand_in, tmp_path):
    demos = record(stand_in(pixels=True), 4, 0)[0]
    save(demos, tmp_path / "pixels")
    np.testing.assert_array_equal(load(tmp_path / "pixels").frames, demos.frames)


def test_digest_names_the_content(stand_in, demos):
    assert record(stand_in(), 16, 5)[0].digest == demos.digest
    assert record(stand_in(), 16, 6)[0].digest != demos.digest
    touched = demos.actions.copy()
    touched[3, 2, 1] = np.nextafter(touched[3, 2, 1], np.float32(9))
    assert replace(demos, actions=touched).digest != demos.digest


def test_no_manifest_no_recording(demos, tmp_path):
    save(demos, tmp_path / "one")
    (tmp_path / "one.json").unlink()
    with pytest.raises(UserError, match=r"one\.json: cannot be read: No such file"):
        load(tmp_path / "one")


def test_a_crash_between_arrays_and_manifest_leaves_no_recording(demos, tmp_path, monkeypatch):
    save(demos, tmp_path / "one")
    monkeypatch.setattr("diacritic.files.demos.write_json", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        save(replace(demos, seed=9), tmp_path / "one")
    with pytest.raises(UserError, match="No such file"):
        load(tmp_path / "one")


def _cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 0xFF
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("damage", [_cut, _flip])
def test_damaged_arrays_are_refused(demos, tmp_path, damage):
    save(demos, tmp_path / "one")
    damage(tmp_path / "one.npz")
    with pytest.raises(UserError, match=r"one\.npz: .*record again") as caught:
        load(tmp_path / "one")
    assert "\n" not in str(caught.value)


def test_exchanged_arrays_are_refused(demos, stand_in, tmp_path):
    save(demos, tmp_path / "one")
    save(record(stand_in(), 16, 6)[0], tmp_path / "two")
    (tmp_path / "two.npz").replace(tmp_path / "one.npz")
    with pytest.raises(UserError, match="is not the one that was recorded"):
        load(tmp_path / "one")


def test_missing_array_is_refused(demos, tmp_path):
    save(demos, tmp_path / "one")
    np.savez(tmp_path / "one.npz", allow_pickle=False, observations=demos.observations)
    with pytest.raises(UserError, match="holds other arrays than its manifest says"):
        load(tmp_path / "one")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda document: document.update(format="diacritic-demos/9"), "is of format 'diacritic-demos/9'"),
        (lambda document: document.pop("task"), "lacks 'task'"),
        (lambda document: document.update(seed="many"), "seed is 'many', but an integer"),
        (lambda document: document.update(symbol_names=["only one"]), "outside the 1 names"),
    ],
)
def test_other_manifests_are_refused(demos, tmp_path, change, said):
    manifest = save(demos, tmp_path / "one")
    document = json.loads(manifest.read_text())
    change(document)
    manifest.write_text(json.dumps(document))
    with pytest.raises(UserError, match=said):
        load(tmp_path / "one")


def test_truncated_manifest_is_refused(demos, tmp_path):
    _cut(save(demos, tmp_path / "one"))
    with pytest.raises(UserError, match="is truncated or not JSON; record again"):
        load(tmp_path / "one")


def test_another_task_or_version_is_refused(demos, tmp_path):
    save(demos, tmp_path / "one")
    assert load(tmp_path / "one", task="stand-in", task_version=3).seed == 5
    with pytest.raises(UserError, match="holds task 'stand-in', but 'readout' is asked for"):
        load(tmp_path / "one", task="readout")
    with pytest.raises(UserError, match="holds task version 3, but 4 is asked for"):
        load(tmp_path / "one", task_version=4)


def test_split_takes_the_first_to_train(demos):
    train, test = demos.split(12)
    assert (train.episodes, test.episodes) == (12, 4)
    np.testing.assert_array_equal(train.observations, demos.observations[:, :12])
    np.testing.assert_array_equal(test.latents["mass"], demos.latents["mass"][12:])
    with pytest.raises(UserError, match="expected 1 to 15 of the 16 episodes, not 16"):
        demos.split(16)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: {"observations": d.observations[..., :20]}, "convention: names a column beyond the 20"),
        (lambda d: {"observations": d.observations.astype(np.float64)}, "observations: expected"),
        (lambda d: {"actions": d.actions[:-1]}, "actions: expected axes"),
        (lambda d: {"success": d.success[:-1]}, "success: expected axes"),
        (lambda d: {"symbols": d.symbols - 1}, "symbols: an index lies outside"),
        (lambda d: {"latents": {"mass": d.latents["mass"][:3]}}, "latent:mass: expected axes"),
        (
            lambda d: {"actions": np.where(np.arange(4) == 2, np.nan, d.actions)},
            r"actions\[0, 0\]: the value is not fin",
        ),
    ],
)
def test_arrays_that_do_not_fit(demos, change, said):
    with pytest.raises(UserError, match=said):
        replace(demos, **change(demos))


def plain(**more: Any) -> Demos:
    """Any array recording: three channels, no convention."""
    observations = np.arange(4 * 5 * 3, dtype=np.float32).reshape(4, 5, 3)
    arrays: dict[str, Any] = {"observations": observations, "actions": np.zeros((4, 5, 2), np.float32)}
    return Demos("mine", **(arrays | more))


def test_a_recording_needs_observations_and_actions_alone(tmp_path):
    save(plain(), tmp_path / "one")
    again = load(tmp_path / "one")
    assert again.digest == plain().digest
    assert again.arrays.keys() == {"observations", "actions", "phase", "success"}
    assert (again.symbols.size, again.choices.size, again.latents) == (0, 0, {})
    assert again.take(slice(1, 3)).episodes == 2
    assert again.lengths.tolist() == [4] * 5


@pytest.mark.parametrize("shape", [(4, 5), (4, 5, 2)])
def test_actions_may_be_integers(tmp_path, shape):
    save(plain(actions=np.ones(shape, np.int32)), tmp_path / "one")
    assert load(tmp_path / "one").actions.dtype == np.int32


def test_a_mask_says_where_episodes_end(tmp_path):
    mask = np.arange(4)[:, None] < np.array([4, 1, 2, 3, 4])
    observations = np.where(mask[..., None], np.float32(1), np.float32("nan")).repeat(3, 2)
    save(replace(plain(), observations=observations, mask=mask), tmp_path / "one")
    assert load(tmp_path / "one").lengths.tolist() == [4, 1, 2, 3, 4]
    with pytest.raises(UserError, match="mask: an episode runs from the first step"):
        plain(mask=~mask)
    with pytest.raises(UserError, match=r"observations\[1, 1\]: the value is not finite"):
        replace(plain(), observations=observations)


def test_a_manifest_with_other_names_is_refused(demos, tmp_path):
    manifest = save(demos, tmp_path / "one")
    document = json.loads(manifest.read_text())
    document["symbol_names"][0] += "!"
    manifest.write_text(json.dumps(document))
    with pytest.raises(UserError, match="its digest differs"):
        load(tmp_path / "one")
