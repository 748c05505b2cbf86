"""LeRobot export, read back by DuckDB and pandas along the published layout: info → episodes → data files."""

import io
import json

import av
import duckdb
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from PIL import Image

from certify.errors import UserError
from diacritic.demos.lerobot import IMAGE, export_lerobot
from diacritic.demos.readers import from_arrays, load
from diacritic.demos.record import record


def read_episode(folder, number):
    """One episode as the layout says to find it, without any code of ours."""
    info = json.loads((folder / "meta/info.json").read_text())
    actual = duckdb.read_parquet(f"{folder}/meta/episodes/*/*.parquet").order("episode_index").df()
    entry = actual.iloc[number]
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


def test_our_own_export_reads_back(stand_in, tmp_path):
    demos, _ = record(stand_in(failures=2), 9, 0)
    folder = export_lerobot(demos, tmp_path / "out")
    again = load(folder)
    assert again.digest == demos.digest
    assert (again.task, again.parameters, again.convention) == (demos.task, demos.parameters, demos.convention)
    assert again.latents.keys() == demos.latents.keys()


def test_frames_read_back(stand_in, tmp_path):
    demos = record(stand_in(pixels=True), 2, 0)[0]
    assert demos.frames is not None
    assert load(export_lerobot(demos, tmp_path / "out")).digest == demos.digest


def test_an_export_without_symbols_reads_back(tmp_path):
    rng = np.random.default_rng(0)
    demos = from_arrays(rng.random((4, 3, 2)), rng.random((4, 3, 1)))
    assert load(export_lerobot(demos, tmp_path / "out")).digest == demos.digest


def foreign(folder, lengths=(3, 2), **features):
    """The least that the published layout asks for, in two data files and in no particular order."""
    episode = np.repeat(np.arange(len(lengths)), lengths)
    frame = np.concatenate([np.arange(length) for length in lengths])
    states = np.stack([episode, frame], 1).astype(np.float32)
    columns = {"observation.state": list(states), "action": list(-states), "episode_index": episode}
    table = pd.DataFrame({**columns, "frame_index": frame, "index": np.arange(len(frame))})
    for k, part in enumerate((table[::2], table[1::2])):
        path = folder / f"data/chunk-000/file-{k:03d}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        part.to_parquet(path)
    described = {name: {"dtype": "float32", "shape": [2]} for name in ("observation.state", "action")} | features
    (folder / "meta").mkdir()
    (folder / "meta/info.json").write_text(json.dumps({"codebase_version": "v3.0", "features": described}))
    return folder


def test_episodes_of_others_are_padded_and_masked(tmp_path):
    demos = load(foreign(tmp_path / "theirs"))
    assert (demos.task, demos.steps, demos.episodes, demos.lengths.tolist()) == ("theirs", 3, 2, [3, 2])
    assert demos.observations[:, 1].tolist() == [[1, 0], [1, 1], [1, 1]]
    assert demos.actions[1, 0].tolist() == [0, -1]
    assert not demos.symbols.size


def test_a_policy_is_told_which_of_several_tasks(tmp_path):
    folder = foreign(tmp_path / "tasks", task_index={"dtype": "int64", "shape": [1]})
    for path in (folder / "data").rglob("*.parquet"):
        table = pd.read_parquet(path)
        table["task_index"] = table["episode_index"]
        table.to_parquet(path)
    assert load(folder).observations[0, :, 2:].tolist() == [[1, 0], [0, 1]]


def film(path, colours):
    """A video whose frames are of one grey each."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=10)
        stream.width = stream.height = 80
        for grey in colours:
            frame = av.VideoFrame.from_ndarray(np.full((80, 80, 3), grey, np.uint8), "rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


CAMERA = "observation.images.top"
FILMED = {CAMERA: {"dtype": "video", "shape": [80, 80, 3]}}


def described(folder, **more):
    info = folder / "meta/info.json"
    info.write_text(json.dumps({**json.loads(info.read_text()), **more}))


def test_videos_of_v2(tmp_path):
    folder = foreign(tmp_path / "films", **FILMED)
    described(folder, codebase_version="v2.1", chunks_size=1000)
    described(folder, video_path="videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4")
    for n, colours in enumerate(((0, 100, 200), (50, 250))):
        film(folder / f"videos/chunk-000/{CAMERA}/episode_{n:06d}.mp4", colours)
    assert load(folder).frames is None
    frames = load(folder, camera=CAMERA).frames
    assert frames is not None
    assert frames.shape == (3, 2, 64, 64, 3)
    np.testing.assert_allclose(frames[:, :, 30, 30, 0], [[0, 50], [100, 250], [200, 250]], atol=6)
    with pytest.raises(UserError, match="'left' is not a video of"):
        load(folder, camera="left")
    path = folder / f"videos/chunk-000/{CAMERA}/episode_000001.mp4"
    film(path, (50,))
    with pytest.raises(UserError, match="holds 1 of the 2 frames of episode 1"):
        load(folder, camera=CAMERA)
    path.write_bytes(b"no video")
    with pytest.raises(UserError, match="is damaged or not a video"):
        load(folder, camera=CAMERA)
    path.unlink()
    with pytest.raises(UserError, match="the video of episode 1 is missing"):
        load(folder, camera=CAMERA)


def test_videos_of_v3(tmp_path):
    folder = foreign(tmp_path / "films", **FILMED)
    described(folder, video_path="videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4")
    film(folder / f"videos/{CAMERA}/chunk-000/file-000.mp4", (0, 100, 200, 50, 250))
    columns = {"chunk_index": [0, 0], "file_index": [0, 0], "from_timestamp": [0.0, 0.3]}
    table = pd.DataFrame({"episode_index": [0, 1]} | {f"videos/{CAMERA}/{name}": at for name, at in columns.items()})
    (folder / "meta/episodes/chunk-000").mkdir(parents=True)
    table.to_parquet(folder / "meta/episodes/chunk-000/file-000.parquet")
    frames = load(folder, camera=CAMERA).frames
    assert frames is not None
    np.testing.assert_allclose(frames[:, :, 30, 30, 0], [[0, 50], [100, 250], [200, 250]], atol=6)


def test_folders_of_others_that_cannot_be_read(tmp_path):
    folder = foreign(tmp_path / "holes")
    (folder / "data/chunk-000/file-001.parquet").unlink()
    with pytest.raises(UserError, match="frames of an episode are missing or doubled"):
        load(folder)
    (folder / "data/chunk-000/file-000.parquet").write_bytes(b"PAR1")
    with pytest.raises(UserError, match="is damaged or not parquet"):
        load(folder)
    (folder / "data/chunk-000/file-000.parquet").unlink()
    with pytest.raises(UserError, match="holds no parquet file"):
        load(folder)
    for text, line in (
        ("{", "is missing or not JSON"),
        ('{"codebase_version": "v1.6"}', "is of version v1.6; convert"),
        ('{"codebase_version": "v3.0"}', "has no table of features"),
        ('{"codebase_version": "v3.0", "features": {}}', "has no feature 'observation.state'"),
    ):
        (folder / "meta/info.json").write_text(text)
        with pytest.raises(UserError, match=line):
            load(folder)


def test_unequal_episodes_are_not_exported(tmp_path):
    demos = load(foreign(tmp_path / "theirs"))
    with pytest.raises(UserError, match="episodes of unequal length are not exported"):
        export_lerobot(demos, tmp_path / "out")
