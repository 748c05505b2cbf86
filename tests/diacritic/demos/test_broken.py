"""Thirty broken datasets: each is refused by `diacritic need` in one line with status 2, and nothing is written."""

import json
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest
import zarr

from diacritic.cli import main

RNG = np.random.default_rng(0)
OBS, ACT = RNG.random((5, 20, 3)).astype(np.float32), RNG.random((5, 20, 2)).astype(np.float32)
BROKEN: dict[str, Callable[[Path], Path]] = {}


def broken(function: Callable[[Path], Path]) -> Callable[[Path], Path]:
    BROKEN[function.__name__.replace("_", " ")] = function
    return function


def several(suffix: str, write: Callable[..., Path], **variants: dict) -> None:
    """One broken dataset for each variant."""
    for name, given in variants.items():
        BROKEN[f"{suffix}: {name.replace('_', ' ')}"] = lambda folder, given=given: write(folder, **given)


def npz(folder: Path, **arrays: np.ndarray) -> Path:
    np.savez(folder / "a.npz", allow_pickle=False, **arrays)
    return folder / "a.npz"


def changed(values: np.ndarray, value: float) -> np.ndarray:
    copy = values.astype(np.float64)
    copy[2, 3, 1] = value
    return copy


several(
    "npz",
    npz,
    without_actions={"observations": OBS},
    not_a_number={"observations": changed(OBS, np.nan), "actions": ACT},
    infinite_actions={"observations": OBS, "actions": changed(ACT, np.inf)},
    huge_values={"observations": changed(OBS, 1e30), "actions": ACT},
    texts={"observations": OBS.astype(str), "actions": ACT},
    one_episode={"observations": OBS[:, :1], "actions": ACT[:, :1]},
    one_step={"observations": OBS[:1], "actions": ACT[:1]},
    unequal_steps={"observations": OBS, "actions": ACT[:4]},
    empty={"observations": OBS[:, :0], "actions": ACT[:, :0]},
    constant_actions={"observations": OBS, "actions": 0 * ACT},
    mask_with_a_hole={"observations": OBS, "actions": ACT, "mask": np.arange(5)[:, None] != np.full((1, 20), 2)},
)


@broken
def truncated_npz(folder: Path) -> Path:
    path = npz(folder, observations=OBS, actions=ACT)
    path.write_bytes(path.read_bytes()[:200])
    return path


def lerobot(folder: Path, drop: str = "", info: str = "", **columns: object) -> Path:
    rows: dict[str, object] = {"episode_index": np.repeat(np.arange(20), 5), "frame_index": np.tile(np.arange(5), 20)}
    rows |= {"observation.state": list(OBS.transpose(1, 0, 2).reshape(-1, 3))}
    rows |= {"action": list(ACT.transpose(1, 0, 2).reshape(-1, 2))} | columns
    rows.pop(drop, None)
    path = folder / "data/chunk-000/episode_000000.parquet"
    path.parent.mkdir(parents=True)
    pd.DataFrame(rows).to_parquet(path)
    (folder / "meta").mkdir()
    features = {name: {"dtype": "float32", "shape": [2]} for name in ("observation.state", "action")}
    text = info or json.dumps({"codebase_version": "v2.1", "features": features})
    (folder / "meta/info.json").write_text(text)
    return folder


several(
    "lerobot",
    lerobot,
    without_actions={"drop": "action"},
    without_numbers_of_episodes={"drop": "episode_index"},
    not_json={"info": "{"},
    old_version={"info": '{"codebase_version": "v1.0", "features": {}}'},
    ragged_states={"observation.state": [[1.0] * (1 + k % 2) for k in range(100)]},
    not_a_number={"action": [[np.nan, 1.0]] * 100},
    texts={"action": ["left"] * 100},
    doubled_frames={"frame_index": np.zeros(100, int)},
)


@broken
def truncated_parquet(folder: Path) -> Path:
    path = next(lerobot(folder).rglob("*.parquet"))
    path.write_bytes(path.read_bytes()[:500])
    return folder


def hdf5(folder: Path, actions: object = ACT[:, 0], obs: object = OBS[:, 0], group: str = "data/demo_0") -> Path:
    with h5py.File(folder / "a.hdf5", "w") as file:
        file.create_group(group)
        for name, values in (("actions", actions), ("obs", obs)):
            if values is not None:
                file[f"{group}/{name}"] = values
    return folder / "a.hdf5"


several(
    "hdf5",
    hdf5,
    without_actions={"actions": None},
    unequal_lengths={"actions": ACT[:3, 0]},
    pictures_only={"obs": np.zeros((5, 8, 8, 3), np.uint8)},
    texts={"obs": np.array([b"a"] * 5)},
    not_a_number={"obs": np.full((5, 2), np.nan)},
)


@broken
def truncated_hdf5(folder: Path) -> Path:
    path = hdf5(folder)
    path.write_bytes(path.read_bytes()[:900])
    return path


def zarred(folder: Path, action: np.ndarray | None = ACT[:, 0], ends: object = (5,)) -> Path:
    group = zarr.open_group(str(folder / "a.zarr"), mode="w")
    group.create_array("data/state", data=OBS[:, 0])
    if action is not None:
        group.create_array("data/action", data=action)
    if ends is not None:
        group.create_array("meta/episode_ends", data=np.array(ends))
    return folder / "a.zarr"


several(
    "zarr",
    zarred,
    without_actions={"action": None},
    without_ends={"ends": None},
    ends_that_fall={"ends": (5, 3)},
    ends_beyond={"ends": (5, 9)},
    unequal_rows={"action": ACT[:3, 0]},
)


@broken
def parquet_without_episodes(folder: Path) -> Path:
    pd.DataFrame({"state": [1.0, 2.0], "action": [0.0, 1.0]}).to_parquet(folder / "a.parquet")
    return folder / "a.parquet"


@broken
def parquet_that_is_not(folder: Path) -> Path:
    (folder / "a.parquet").write_bytes(b"PAR1 and nothing else")
    return folder / "a.parquet"


def test_there_are_thirty():
    assert len(BROKEN) >= 30


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_dataset_is_one_line(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source = tmp_path / "dataset"
    source.mkdir()
    out = tmp_path / "out"
    assert main(["need", str(BROKEN[name](source)), "-o", str(out)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("diacritic: ")
    assert said.count("\n") == 1
    assert not out.exists()
