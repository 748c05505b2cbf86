"""LeRobot folders, v2.1 and v3, as recordings: our own exports as they were, others by their states and actions."""

import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certify.errors import UserError
from certify.optional import import_optional
from diacritic.demos.episodes import length_mask, padded
from diacritic.demos.lerobot_video import video_frames
from diacritic.files.atomic import read_json
from diacritic.files.convention import numbered_phases
from diacritic.files.demos import FORMAT, Demos, read_metadata

OWN = "meta/diacritic.json"  # of our own exports: names, convention and parameters
INFO = "meta/info.json"
STATE, ACTION, TASK = "observation.state", "action", "task_index"
_NAMES = {STATE: (STATE, "state"), ACTION: (ACTION, "actions")}  # the usual name first
_OPTIONAL = {"phase": "phase", "symbol": "symbols", "choice": "choices"}  # columns → arrays of a recording
_DTYPES = {"phase": np.uint8, "symbols": np.int32, "choices": np.int32}
_LATENT = "latent/"
_BOOKKEEPING = ("episode_index", "frame_index")

Arrays = dict[str, NDArray[Any]]


def is_lerobot(folder: str | os.PathLike[str]) -> bool:
    """Whether a path is a LeRobot folder."""
    return (Path(folder) / INFO).is_file()


def import_lerobot(folder: str | os.PathLike[str], camera: str | None = None) -> Demos:
    """Read a LeRobot folder, v2.1 or v3: `observation.state`, `action`, and what our own export adds to them.

    Episodes of unequal length are padded with their last row, and `mask` says how long each runs. One embedded image
    a frame becomes `frames`; so does the video that `camera` names, and others are left out. Of several tasks, a policy
    is told which: one more column each.
    """
    path = Path(folder)
    info = _info(path)
    pictures = _image(path, info["features"])
    optional = [name for name in (*_OPTIONAL, TASK) if name in info["features"]]
    state, action = (next(name for name in names if name in info["features"]) for names in _NAMES.values())
    rows = _rows(path, [state, action, *optional], pictures)
    lengths = _lengths(path, rows)
    columns = {name: padded(values, lengths) for name, values in rows.items() if name not in _BOOKKEEPING}
    given: dict[str, Any] = {
        array: columns[name].reshape(columns[name].shape[:2]).astype(_DTYPES[array])
        for name, array in _OPTIONAL.items()
        if name in columns
    }
    for array in ("symbols", "choices"):
        if array in given:
            given[f"{array[:-1]}_names"] = tuple(map(str, range(int(given[array].max()) + 1)))
    given["mask"] = length_mask(lengths)
    observations = _vectors(columns[state])
    tasks = np.unique(columns[TASK]) if TASK in columns else np.zeros(1)
    if len(tasks) > 1:
        told = (columns[TASK].reshape(*observations.shape[:2], 1) == tasks).astype(np.float32)
        observations = np.concatenate([observations, told], axis=2)
    frames = columns[pictures] if pictures else None
    if camera is not None:
        frames = video_frames(path, info, camera, lengths, _video_places(path, camera))
    if "phase" in given:
        given["convention"] = numbered_phases(int(given["phase"].max()))
    try:
        return Demos(
            observations=observations,
            actions=_vectors(columns[action]),
            frames=frames,
            **{**_described(path, len(lengths)), **given, **_own(path)},
        )
    except UserError as problem:
        raise UserError(str(path), f"does not hold a recording ({problem})") from None


def _info(path: Path) -> dict[str, Any]:
    """`meta/info.json`, as far as it is read here."""
    try:
        info = json.loads((path / INFO).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise UserError(str(path / INFO), "is missing or not JSON; give the folder of a LeRobot dataset") from None
    version = str(info.get("codebase_version")) if isinstance(info, dict) else "none"
    if not version.startswith(("v2.", "v3.")):
        raise UserError(str(path / INFO), f"is of version {version[:20]}; convert the dataset to v3.0 with LeRobot")
    features = info.get("features")
    if not isinstance(features, dict) or not all(isinstance(entry, dict) for entry in features.values()):
        raise UserError(str(path / INFO), "has no table of features; export the dataset again")
    for name, names in _NAMES.items():
        if not features.keys() & set(names):
            raise UserError(str(path / INFO), f"has no feature {name!r}, which a recording needs")
    return info


def _image(path: Path, features: Mapping[str, Any]) -> str | None:
    """The name of the one feature that holds embedded images; several cameras are refused."""
    images = [name for name, entry in features.items() if entry.get("dtype") == "image"]
    if len(images) > 1:
        raise UserError(str(path), f"has {len(images)} cameras ({', '.join(images)[:80]}); export it with one")
    return images[0] if images else None


def _rows(path: Path, columns: Sequence[str], pictures: str | None) -> Arrays:
    """Columns of all frames, episode after episode in order."""
    wanted = [*_BOOKKEEPING, *columns, *([pictures] if pictures else [])]
    table = _table(path, "data", wanted)
    order = np.lexsort((table.column("frame_index").to_numpy(), table.column("episode_index").to_numpy()))
    rows: Arrays = {}
    for name in wanted:
        values = table.column(name)
        try:
            parts = [_decoded(cell["bytes"]) for cell in values.to_pylist()] if name == pictures else values.to_pylist()
            rows[name] = np.array(parts)[order]
            if rows[name].dtype.kind not in "biuf":
                raise TypeError(name)
        except (ValueError, TypeError, KeyError, OSError):
            raise UserError(
                str(path), f"the column {name!r} does not hold numbers of one shape; export the dataset again"
            ) from None
    return rows


def _table(path: Path, folder: str, wanted: Sequence[str]) -> Any:
    """All parquet files of a folder as one table with these columns."""
    parquet, arrow = import_optional("pyarrow.parquet", "sources"), import_optional("pyarrow", "sources")
    files = sorted((path / folder).rglob("*.parquet"))
    if not files:
        raise UserError(str(path / folder), "holds no parquet file; give a whole LeRobot dataset")
    tables = []
    for file in files:
        try:
            tables.append(parquet.read_table(file, columns=list(wanted), partitioning=None))
        except (OSError, arrow.ArrowException):
            raise UserError(str(file), "is damaged or not parquet; copy the dataset again") from None
        lacking = sorted(set(wanted) - set(tables[-1].column_names))
        if lacking:
            raise UserError(str(file), f"has no column {lacking[0]!r}; export the dataset again")
    return arrow.concat_tables(tables)


def _lengths(path: Path, rows: Arrays) -> NDArray[np.int64]:
    """Of every episode its number of frames; frames that are missing or doubled are refused."""
    numbers, lengths = np.unique(rows["episode_index"], return_counts=True)
    expected = np.concatenate([np.arange(length) for length in lengths]) if len(lengths) else np.empty(0)
    if not len(lengths) or not np.array_equal(rows["frame_index"], expected):
        raise UserError(str(path), "frames of an episode are missing or doubled; copy the dataset again")
    if not np.array_equal(numbers, np.arange(len(numbers))):
        raise UserError(str(path), f"the {len(numbers)} episodes are not numbered from 0; copy the dataset again")
    return lengths


def _video_places(path: Path, camera: str) -> Arrays:
    """Where the video of each episode is: columns of meta/episodes, which v2.1 does not have."""
    if not list((path / "meta" / "episodes").rglob("*.parquet")):
        return {}
    wanted = [f"videos/{camera}/{name}" for name in ("chunk_index", "file_index", "from_timestamp")]
    table = _table(path, "meta/episodes", ["episode_index", *wanted])
    order = np.argsort(table.column("episode_index").to_numpy())
    return {name: table.column(name).to_numpy()[order] for name in wanted}


def _described(path: Path, episodes: int) -> dict[str, Any]:
    """Success and latents, where the table of episodes has them."""
    parquet, arrow = import_optional("pyarrow.parquet", "sources"), import_optional("pyarrow", "sources")
    files = sorted((path / "meta" / "episodes").rglob("*.parquet"))
    if not files:
        return {}
    try:
        names = parquet.read_schema(files[0]).names
    except (OSError, arrow.ArrowException):
        raise UserError(str(files[0]), "is damaged or not parquet; copy the dataset again") from None
    extra = [name for name in names if name.startswith(_LATENT) or name == "success"]
    table = _table(path, "meta/episodes", ["episode_index", *extra])
    if len(table) != episodes:
        raise UserError(str(path), f"describes {len(table)} episodes, but holds {episodes}; copy the dataset again")
    order = np.argsort(table.column("episode_index").to_numpy())
    values = {name: table.column(name).to_numpy()[order] for name in extra}
    latents = {name.removeprefix(_LATENT): values[name].astype(np.int32) for name in extra if name != "success"}
    return {"latents": latents} | ({"success": values["success"].astype(np.bool_)} if "success" in values else {})


def _own(path: Path) -> dict[str, Any]:
    """What our own export says beside the format; of another one the name alone."""
    if not (path / OWN).exists():
        return {"task": path.name}
    return read_metadata(read_json(path / OWN, FORMAT, "export again"), str(path / OWN), "export again")


def _decoded(data: bytes) -> NDArray[np.uint8]:
    return np.asarray(import_optional("PIL.Image", "sources").open(io.BytesIO(data)).convert("RGB"))


def _vectors(values: NDArray[Any]) -> NDArray[np.float32]:
    """[T, N, d]; a single number a frame is a vector of one."""
    return values.reshape(*values.shape[:2], -1).astype(np.float32)
