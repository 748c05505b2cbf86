"""LeRobot v3.0 export: one parquet table of frames, one of episodes, one of tasks, and the JSON that describes them."""

import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from certify.errors import UserError
from certify.optional import import_optional
from diacritic.demos.lerobot_reader import OWN
from diacritic.files.atomic import make_folder, path_atomic
from diacritic.files.demos import Demos, metadata

VERSION = "v3.0"
DATA = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
EPISODES = "meta/episodes/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
IMAGE = "observation.images.table"
_BOOKKEEPING = {"timestamp": "float32"} | dict.fromkeys(
    ("frame_index", "episode_index", "index", "task_index"), "int64"
)


def export_lerobot(demos: Demos, folder: str | os.PathLike[str], fps: int = 10) -> Path:
    """Write the recording as a LeRobot v3.0 dataset; `fps` counts macro steps.

    Beside state and action every frame has its phase, symbol and symbolic action, where they were recorded, and the
    episodes table has latents and success. Images are embedded as PNG, and `meta/diacritic.json` keeps the names, so
    that `import_lerobot` reads the same recording. The folder appears whole or not at all.
    """
    target = Path(folder)
    if target.exists():
        raise UserError(str(target), "exists already; choose a new folder")
    if demos.mask is not None and not demos.mask.all():
        raise UserError("mask", "episodes of unequal length are not exported; cut them to one length")
    if fps < 1:
        raise UserError("fps", f"expected a whole number of steps a second, not {fps}")
    make_folder(target.parent)
    with path_atomic(target) as building:
        _write_dataset(demos, fps, building)
    return target


def _write_dataset(demos: Demos, fps: int, building: Path) -> None:
    features = _features(demos)
    columns = _columns(demos, fps)
    stats: dict[str, Any] = {name: _stats(values) for name, values in columns.items()}
    if demos.frames is not None:
        stats[IMAGE] = _image_stats(demos.frames)
    _write_frames(demos, columns, features, building / DATA.format(chunk_index=0, file_index=0))
    _write_episodes(demos, columns, building / EPISODES.format(chunk_index=0, file_index=0))
    _write_tasks(demos, building / "meta" / "tasks.parquet")
    info = {
        "codebase_version": VERSION,
        "robot_type": "panda",
        "total_episodes": demos.episodes,
        "total_frames": demos.episodes * demos.steps,
        "total_tasks": 1,
        "chunks_size": 1000,
        "data_files_size_in_mb": 100,
        "video_files_size_in_mb": 200,
        "fps": fps,
        "splits": {"train": f"0:{demos.episodes}"},
        "data_path": DATA,
        "video_path": None,
        "features": features,
    }
    (building / "meta" / "stats.json").write_text(json.dumps(stats, indent=4), encoding="utf-8")
    (building / OWN).write_text(json.dumps(metadata(demos), indent=4), encoding="utf-8")
    (building / "meta" / "info.json").write_text(json.dumps(info, indent=4), encoding="utf-8")


def _columns(demos: Demos, fps: int) -> dict[str, np.ndarray]:
    """Every numeric column, episode after episode."""
    steps, episodes = demos.steps, demos.episodes
    frame = np.tile(np.arange(steps), episodes)
    return {
        "observation.state": _flat(demos.observations),
        "action": _flat(demos.actions),
        **{name: _flat(values).astype(np.int64) for name, values in _labels(demos).items()},
        "timestamp": (frame / fps).astype(np.float32),
        "frame_index": frame,
        "episode_index": np.repeat(np.arange(episodes), steps),
        "index": np.arange(steps * episodes),
        "task_index": np.zeros(steps * episodes, np.int64),
    }


def _labels(demos: Demos) -> dict[str, np.ndarray]:
    """Whole numbers of every frame, as far as they were recorded."""
    labels = {"phase": demos.phase, "symbol": demos.symbols, "choice": demos.choices}
    return {name: values for name, values in labels.items() if values.size}


def _features(demos: Demos) -> dict[str, Any]:
    def vector(prefix: str, size: int) -> dict[str, Any]:
        return {"dtype": "float32", "shape": [size], "names": [f"{prefix}_{k}" for k in range(size)]}

    def scalar(dtype: str) -> dict[str, Any]:
        return {"dtype": dtype, "shape": [1], "names": None}

    features: dict[str, Any] = {
        "observation.state": vector("state", demos.observations.shape[2]),
        "action": vector("action", demos.actions.shape[2]),
    }
    if demos.frames is not None:
        names = ["height", "width", "channels"]
        features[IMAGE] = {"dtype": "image", "shape": list(demos.frames.shape[2:]), "names": names}
    features |= {name: scalar("int64") for name in _labels(demos)}
    return features | {name: scalar(dtype) for name, dtype in _BOOKKEEPING.items()}


def _write_frames(demos: Demos, columns: Mapping[str, np.ndarray], features: Mapping[str, Any], path: Path) -> None:
    """One row a frame, one row group an episode, so that an episode can be read alone."""
    arrow, parquet = import_optional("pyarrow", "sources"), import_optional("pyarrow.parquet", "sources")
    arrays: dict[str, Any] = {}
    for name in features:
        if name == IMAGE:
            arrays[name] = arrow.array(_pictures(demos))
        elif columns[name].ndim == 2:
            flat = arrow.array(columns[name].reshape(-1))
            arrays[name] = arrow.FixedSizeListArray.from_arrays(flat, columns[name].shape[1])
        else:
            arrays[name] = arrow.array(columns[name])
    table = arrow.table(arrays).replace_schema_metadata({"huggingface": json.dumps(_huggingface(features))})
    path.parent.mkdir(parents=True)
    parquet.write_table(table, path, row_group_size=demos.steps)


def _write_episodes(demos: Demos, columns: Mapping[str, np.ndarray], path: Path) -> None:
    arrow, parquet = import_optional("pyarrow", "sources"), import_optional("pyarrow.parquet", "sources")
    start = np.arange(demos.episodes) * demos.steps
    zeros = np.zeros(demos.episodes, np.int64)
    table: dict[str, Any] = {
        "episode_index": np.arange(demos.episodes),
        "tasks": [[demos.task]] * demos.episodes,
        "length": zeros + demos.steps,
        "dataset_from_index": start,
        "dataset_to_index": start + demos.steps,
        "data/chunk_index": zeros,
        "data/file_index": zeros,
        "meta/episodes/chunk_index": zeros,
        "meta/episodes/file_index": zeros,
        "success": demos.success,
    }
    table |= {f"latent/{name}": values.astype(np.int64) for name, values in demos.latents.items()}
    for name, values in columns.items():
        each = [_stats(part) for part in np.split(values, demos.episodes)]
        table |= {f"stats/{name}/{kind}": [item[kind] for item in each] for kind in each[0]}
    path.parent.mkdir(parents=True)
    parquet.write_table(arrow.table(table), path)


def _write_tasks(demos: Demos, path: Path) -> None:
    """A table whose row index, as pandas keeps it, is the text of the task."""
    arrow, parquet = import_optional("pyarrow", "sources"), import_optional("pyarrow.parquet", "sources")
    table = arrow.table({"task_index": np.zeros(1, np.int64), "task": [demos.task]})

    def described(name: str, kind: str, dtype: str) -> dict[str, Any]:
        return {"name": name, "field_name": name, "pandas_type": kind, "numpy_type": dtype, "metadata": None}

    meta = {
        "index_columns": ["task"],
        "column_indexes": [],
        "columns": [described("task_index", "int64", "int64"), described("task", "unicode", "object")],
        "pandas_version": "2.0.0",
    }
    parquet.write_table(table.replace_schema_metadata({"pandas": json.dumps(meta)}), path)


def _pictures(demos: Demos) -> list[dict[str, Any]]:
    assert demos.frames is not None
    image = import_optional("PIL.Image", "sources")
    pictures: list[dict[str, Any]] = []
    for pixels in _flat(demos.frames):
        data = io.BytesIO()
        image.fromarray(pixels).save(data, "PNG")
        pictures.append({"bytes": data.getvalue(), "path": None})
    return pictures


def _huggingface(features: Mapping[str, Any]) -> dict[str, Any]:
    """The element types as the `datasets` library writes them into the schema."""

    def typed(feature: Mapping[str, Any]) -> dict[str, Any]:
        if feature["dtype"] == "image":
            return {"_type": "Image"}
        value = {"dtype": feature["dtype"], "_type": "Value"}
        size = feature["shape"][0]
        return value if size == 1 else {"feature": value, "length": size, "_type": "Sequence"}

    return {"info": {"features": {name: typed(feature) for name, feature in features.items()}}}


def _stats(values: np.ndarray) -> dict[str, list[float] | list[int]]:
    columns = values.reshape(len(values), -1).astype(np.float64)
    stats = {kind: getattr(columns, kind)(axis=0).tolist() for kind in ("min", "max", "mean", "std")}
    return stats | {"count": [len(values)]}


def _image_stats(frames: np.ndarray) -> dict[str, Any]:
    """Per channel, of values between 0 and 1, in the shape [3, 1, 1] of an image with channels first."""
    stats = {kind: getattr(frames, kind)(axis=(0, 1, 2, 3)) / 255 for kind in ("min", "max", "mean", "std")}
    count = [frames.shape[0] * frames.shape[1]]
    return {kind: values.reshape(-1, 1, 1).tolist() for kind, values in stats.items()} | {"count": count}


def _flat(values: np.ndarray) -> np.ndarray:
    """[T, N, …] → [N·T, …], episode after episode."""
    return np.ascontiguousarray(np.swapaxes(values, 0, 1)).reshape(-1, *values.shape[2:])
