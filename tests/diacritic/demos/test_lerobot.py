"""LeRobot export, read back by DuckDB and pandas along the published layout: info → episodes → data files."""

import io
import json

import duckdb
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from PIL import Image

from certify.errors import UserError
from diacritic.demos.lerobot import IMAGE, export_lerobot
from diacritic.demos.record import record


def read_episode(folder, number):
    """One episode as the layout says to find it, without any code of ours."""
    info = json.loads((folder / "meta/info.json").read_text())
    found = duckdb.read_parquet(f"{folder}/meta/episodes/*/*.parquet").order("episode_index").df()
    entry = found.iloc[number]
    path = info["data_path"].format(chunk_index=entry["data/chunk_index"], file_index=entry["data/file_index"])
    low, high = entry["dataset_from_index"], entry["dataset_to_index"]
    rows = duckdb.read_parquet(str(folder / path)).filter(f"index >= {low} and index < {high}").order("index").df()
    return info, entry, rows


@pytest.fixture
def demos(stand_in):
    return record(stand_in(failures=2), 9, 0)[0]


def test_an_independent_reader_finds_every_episode(demos, tmp_path):
    folder = export_lerobot(demos, tmp_path / "out", fps=5)
    for n in range(demos.episodes):
        info, entry, rows = read_episode(folder, n)
        np.testing.assert_array_equal(np.stack(rows["observation.state"]), demos.observations[:, n])
        np.testing.assert_array_equal(np.stack(rows["action"]), demos.actions[:, n])
        np.testing.assert_array_equal(rows["symbol"], demos.symbols[:, n])
        np.testing.assert_array_equal(rows["phase"], demos.phase[:, n])
        np.testing.assert_array_equal(rows["choice"], demos.choices[:, n])
        np.testing.assert_array_equal(rows["frame_index"], np.arange(demos.steps))
        assert rows["timestamp"].tolist() == pytest.approx([t / 5 for t in range(demos.steps)])
        assert set(rows["episode_index"]) == {n}
        assert entry["length"] == demos.steps
        assert entry["success"] == demos.success[n]
        assert entry["latent/side"] == demos.latents["side"][n]
        assert list(entry["tasks"]) == ["stand-in"]
        np.testing.assert_allclose(entry["stats/action/mean"], demos.actions[:, n].mean(0), rtol=1e-4, atol=1e-6)
        assert info["codebase_version"] == "v3.0"


def test_description_agrees_with_the_data(demos, tmp_path):
    folder = export_lerobot(demos, tmp_path / "out")
    info = json.loads((folder / "meta/info.json").read_text())
    schema = pq.read_schema(folder / "data/chunk-000/file-000.parquet")
    assert list(info["features"]) == schema.names
    assert (info["total_episodes"], info["total_frames"], info["total_tasks"]) == (9, 9 * 16, 1)
    assert info["splits"] == {"train": "0:9"}
    for name, feature in info["features"].items():
        kind = schema.field(name).type
        inner = str(getattr(kind, "value_type", kind)).replace("float", "float32").replace("float3232", "float32")
        assert inner == feature["dtype"]
        assert feature["shape"] == [getattr(kind, "list_size", 1)]
    stats = json.loads((folder / "meta/stats.json").read_text())
    state = demos.observations.reshape(-1, 27)
    np.testing.assert_allclose(stats["observation.state"]["max"], state.max(0), rtol=1e-6)
    np.testing.assert_allclose(stats["observation.state"]["std"], state.astype(float).std(0), atol=1e-9)
    assert stats["action"]["count"] == [9 * 16]
    assert pq.read_metadata(folder / "data/chunk-000/file-000.parquet").num_row_groups == 9  # one an episode


def test_tasks_are_indexed_by_their_text(demos, tmp_path):
    tasks = pd.read_parquet(export_lerobot(demos, tmp_path / "out") / "meta/tasks.parquet")
    assert tasks.index.tolist() == ["stand-in"]
    assert tasks.loc["stand-in", "task_index"] == 0


def test_images_are_embedded(stand_in, tmp_path):
    demos = record(stand_in(pixels=True), 3, 0)[0]
    assert demos.frames is not None
    folder = export_lerobot(demos, tmp_path / "out")
    info, _, _ = read_episode(folder, 1)
    assert info["features"][IMAGE] == {"dtype": "image", "shape": [64, 64, 3], "names": ["height", "width", "channels"]}
    table = pq.read_table(folder / "data/chunk-000/file-000.parquet", columns=[IMAGE])
    picture = table[IMAGE][16 + 5].as_py()  # episode 1, step 5
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(picture["bytes"]))), demos.frames[5, 1])
    stats = json.loads((folder / "meta/stats.json").read_text())[IMAGE]
    assert np.shape(stats["mean"]) == (3, 1, 1)
    assert 0 < stats["mean"][0][0][0] < 1
    kinds = json.loads(pq.read_schema(folder / "data/chunk-000/file-000.parquet").metadata[b"huggingface"])
    assert kinds["info"]["features"][IMAGE] == {"_type": "Image"}
    assert kinds["info"]["features"]["action"]["length"] == 4


def test_refusals(demos, tmp_path):
    export_lerobot(demos, tmp_path / "out")
    with pytest.raises(UserError, match="out: exists already"):
        export_lerobot(demos, tmp_path / "out")
    with pytest.raises(UserError, match="fps: expected"):
        export_lerobot(demos, tmp_path / "other", fps=0)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
