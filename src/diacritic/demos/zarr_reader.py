"""Zarr as diffusion_policy writes it: `data/…` with all rows one after another, and `meta/episode_ends`."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from certify.errors import UserError
from certify.optional import import_optional
from diacritic.demos.episodes import as_columns, from_episodes, thinned
from diacritic.files.demos import Demos

_REMEDY = "give data/action, data/state and meta/episode_ends, as diffusion_policy writes them"


def is_zarr(source: str | os.PathLike[str]) -> bool:
    """Whether a path is a Zarr group, or one packed as a zip."""
    path = Path(source)
    if path.is_dir():
        return path.suffix == ".zarr" or any((path / name).exists() for name in (".zgroup", "zarr.json"))
    return path.is_file() and path.name.endswith((".zarr.zip", ".zarr"))


def import_zarr(source: str | os.PathLike[str], camera: str | None = None) -> Demos:
    """All arrays of `data` but the actions are observed; pictures only where `camera` names them."""
    path = Path(source)
    zarr = import_optional("zarr", "sources")
    try:
        group: Any = zarr.open_group(str(path), mode="r")
        data = {name: array[:] for name, array in group["data"].arrays() if name == camera or array.ndim <= 2}
        ends = np.asarray(group["meta"]["episode_ends"][:])
    except Exception as problem:  # zarr and its codecs raise whatever they like
        raise UserError(str(path), f"is damaged or not such a dataset ({str(problem)[:80]}); {_REMEDY}") from None
    if camera is not None and (camera not in data or data[camera].ndim != 4):
        raise UserError("--camera", f"{camera!r} is not a picture of {path}: {', '.join(data)}")
    pictures = None if camera is None else thinned(data.pop(camera).astype(np.uint8))
    actions = data.pop("action", None)
    if actions is None or not data:
        raise UserError(str(path), f"has no {'observation' if actions is not None else 'action'}; {_REMEDY}")
    starts = np.concatenate([[0], ends[:-1]])
    if ends.ndim != 1 or not len(ends) or ends.dtype.kind not in "iu" or (ends <= starts).any():
        raise UserError(f"{path}/meta/episode_ends", f"is not an increasing list of rows; {_REMEDY}")
    rows = {name: len(values) for name, values in {"action": actions, **data}.items()}
    if set(rows.values()) != {int(ends[-1])}:
        raise UserError(str(path), f"has {rows} rows, but episodes end at {int(ends[-1])}; copy it again")
    seen = np.concatenate([as_columns(values, f"{path}/data/{name}") for name, values in sorted(data.items())], 1)
    cuts = ends[:-1].tolist()
    frames = None if pictures is None else np.split(pictures, cuts)
    return from_episodes(np.split(seen, cuts), np.split(actions, cuts), frames=frames, task=path.name.partition(".")[0])
