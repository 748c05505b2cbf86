"""HDF5, Zarr and parquet of others, of unequal lengths."""

from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest
import zarr

from certify.errors import UserError
from diacritic.demos.episodes import from_episodes
from diacritic.demos.readers import is_recording, load

RNG = np.random.default_rng(0)
LENGTHS = (4, 3)
SEEN = [RNG.random((length, 3)).astype(np.float32) for length in LENGTHS]
ACTED = [RNG.random((length, 2)).astype(np.float32) for length in LENGTHS]
PICTURES = [RNG.integers(256, size=(length, 8, 9, 3)).astype(np.uint8) for length in LENGTHS]
EXPECTED = from_episodes(SEEN, ACTED)


def robomimic(path: Path) -> Path:
    with h5py.File(path, "w") as file:
        for n in (1, 0):
            group = file.create_group(f"data/demo_{n}")
            group["actions"] = ACTED[n]
            group["obs/joints"], group["obs/tool"] = SEEN[n][:, :2], SEEN[n][:, 2]
            group["obs/camera"] = PICTURES[n]
    return path


def one_file_each(folder: Path) -> Path:
    folder.mkdir()
    for n in range(2):
        with h5py.File(folder / f"episode_{n}.hdf5", "w") as file:
            file["action"], file["observations/qpos"] = ACTED[n], SEEN[n]
    return folder


def replay_buffer(path: Path) -> Path:
    group = zarr.open_group(str(path), mode="w")
    data = {"action": ACTED, "state": SEEN, "img": PICTURES}
    for name, parts in data.items():
        group.create_array(f"data/{name}", data=np.concatenate(parts))
    group.create_array("meta/episode_ends", data=np.cumsum(LENGTHS))
    return path


def table(path: Path) -> Path:
    rows = {"episode_index": np.repeat([0, 1], LENGTHS), "frame_index": np.concatenate([np.arange(4), np.arange(3)])}
    rows |= {"observation.state": list(np.concatenate(SEEN)[:, :2]), "state_z": np.concatenate(SEEN)[:, 2]}
    rows |= {f"action_{k}": np.concatenate(ACTED)[:, k] for k in range(2)}
    pd.DataFrame(rows).sample(frac=1, random_state=0).to_parquet(path)
    return path


@pytest.mark.parametrize(
    ("make", "name"),
    [(robomimic, "a.hdf5"), (one_file_each, "folder"), (replay_buffer, "a.zarr"), (table, "a.parquet")],
)
def test_every_format_gives_the_same_recording(make, name: str, tmp_path: Path):
    path = make(tmp_path / name)
    assert is_recording(str(path))
    demos = load(path)
    assert demos.lengths.tolist() == [4, 3]
    assert demos.frames is None
    np.testing.assert_array_equal(demos.observations, EXPECTED.observations)
    np.testing.assert_array_equal(demos.actions, EXPECTED.actions)


@pytest.mark.parametrize(
    ("make", "name", "camera"), [(robomimic, "a.hdf5", "camera"), (replay_buffer, "a.zarr", "img")]
)
def test_pictures_are_read_by_name(make, name: str, camera: str, tmp_path: Path):
    path = make(tmp_path / name)
    frames = load(path, camera=camera).frames
    assert frames is not None
    np.testing.assert_array_equal(frames[2, 1], PICTURES[1][2])
    with pytest.raises(UserError, match="'nose' is not"):
        load(path, camera="nose")


def test_episodes_must_agree():
    with pytest.raises(UserError, match="has 2 columns, but the first episode has 3"):
        from_episodes([SEEN[0], SEEN[1][:, :2]], ACTED)
    with pytest.raises(UserError, match="episode 1: has 3 observations and 2 actions"):
        from_episodes(SEEN, [ACTED[0], ACTED[1][:2]])
