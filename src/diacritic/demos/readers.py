"""Recordings of others: arrays, npz, Minari, LeRobot, HDF5, Zarr, parquet, or as we save them."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.typing import ArrayLike, NDArray

from certify.errors import UserError
from diacritic.demos.hdf5 import import_hdf5, is_hdf5
from diacritic.demos.lerobot_reader import import_lerobot, is_lerobot
from diacritic.demos.minari import import_minari
from diacritic.demos.parquet import import_parquet, is_parquet
from diacritic.demos.zarr_reader import import_zarr, is_zarr
from diacritic.files import demos as files
from diacritic.files.arrays import read_npz
from diacritic.files.convention import NO_CONVENTION, Convention, numbered_phases
from diacritic.files.demos import Demos

ARRAYS = ("observations", "actions", "symbols", "choices", "phase", "success", "frames", "mask")
_LATENT = "latent:"
_MINARI = re.compile(r"^(minari:)?([\w-]+/)*[\w-]+-v\d+$")
_REMEDY = f"give arrays named {', '.join(ARRAYS)} or {_LATENT}NAME, of which observations and actions are needed"


def from_arrays(
    observations: ArrayLike,
    actions: ArrayLike,
    *,
    symbols: ArrayLike | None = None,
    choices: ArrayLike | None = None,
    latents: Mapping[str, ArrayLike] | None = None,
    phase: ArrayLike | None = None,
    success: ArrayLike | None = None,
    frames: NDArray[np.uint8] | None = None,
    mask: ArrayLike | None = None,
    symbol_names: Sequence[str] = (),
    choice_names: Sequence[str] = (),
    convention: Convention = NO_CONVENTION,
    task: str = "recording",
) -> Demos:
    """A recording from arrays [T, N, …]: real observations [T, N, d], or integer ones [T, N], which are symbols too.

    Integer actions [T, N] are the expert's choices unless `choices` says otherwise; policies imitate them as one-hot
    vectors, as they read integer observations. Names default to numbers.
    """
    seen, acted = np.asarray(observations), np.asarray(actions)
    if seen.dtype.kind in "biu" and seen.ndim == 2:
        symbols = seen if symbols is None else symbols
        seen = _one_hot("observations", seen)
    if acted.dtype.kind in "biu" and acted.ndim == 2:
        choices = acted if choices is None else choices
        acted = _one_hot("actions", acted)
    given: dict[str, Any] = {}
    for name, values, names in (("symbols", symbols, symbol_names), ("choices", choices, choice_names)):
        if values is not None:
            given[name] = _whole(name, values)
            count = int(given[name].max(initial=-1)) + 1
            given[f"{name[:-1]}_names"] = tuple(names) or tuple(map(str, range(count)))
    for name, values, dtype in (("phase", phase, np.uint8), ("success", success, np.bool_), ("mask", mask, np.bool_)):
        if values is not None:
            given[name] = np.asarray(values).astype(dtype)
    if "phase" in given and convention == NO_CONVENTION:
        convention = numbered_phases(int(given["phase"].max()))
    return Demos(
        task,
        _real("observations", seen),
        _real("actions", acted),
        convention=convention,
        latents={name: _whole(f"latents[{name}]", values) for name, values in (latents or {}).items()},
        frames=frames,
        **given,
    )


def load(
    source: str | os.PathLike[str],
    task: str | None = None,
    task_version: int | None = None,
    camera: str | None = None,
) -> Demos:
    """A recording by its path or its Minari id; `task` and `task_version` refuse another one in one line.

    A path is that of npz and json as `save` writes them, of a bare npz of arrays, of a LeRobot folder (v2.1 or v3), of
    HDF5 (robomimic's, or any groups with actions and obs), of Zarr as diffusion_policy writes it, or of parquet.
    `camera` names the video or the pictures to read beside the numbers.
    """
    arrays, manifest = files.paths(source)
    if manifest.exists():
        return files.load(source, task, task_version)
    if arrays.exists():
        demos = _bare(arrays)
    elif is_lerobot(source):
        demos = import_lerobot(source, camera)
    elif is_zarr(source):
        demos = import_zarr(source, camera)
    elif is_hdf5(source):
        demos = import_hdf5(source, camera)
    elif is_parquet(source):
        demos = import_parquet(source)
    elif _MINARI.match(str(source)):
        demos = import_minari(str(source).removeprefix("minari:"))
    else:
        return files.load(source, task, task_version)  # which says what is missing
    for wanted, here in ((task, demos.task), (task_version, demos.task_version)):
        if wanted not in (None, here):
            raise UserError(str(source), f"holds {here!r}, but {wanted!r} is asked for; give that recording")
    return demos


def is_recording(name: str) -> bool:
    """Whether `load` reads a name as a recording; a Minari id needs the prefix `minari:` here."""
    if (
        files.is_recording(name)
        or name.startswith("minari:")
        or any(is_one(name) for is_one in (is_lerobot, is_zarr, is_hdf5, is_parquet))
    ):
        return True
    arrays, manifest = files.paths(name)
    if manifest.exists() or not arrays.is_file():
        return False
    try:
        with ZipFile(arrays) as archive:
            return {"observations.npy", "actions.npy"} <= set(archive.namelist())
    except (OSError, BadZipFile):
        return False


def _bare(path: Path) -> Demos:
    arrays: dict[str, Any] = dict(read_npz(path, _REMEDY))
    latents = {name.removeprefix(_LATENT): arrays.pop(name) for name in list(arrays) if name.startswith(_LATENT)}
    names: dict[str, Any] = {
        name: tuple(arrays.pop(name).tolist()) for name in ("symbol_names", "choice_names") if name in arrays
    }
    odd = [name for name in arrays if name not in ARRAYS]
    missing = [name for name in ("observations", "actions") if name not in arrays]
    if odd or missing:
        said = f"has no array {missing[0]!r}" if missing else f"has an unknown array {odd[0]!r}"
        raise UserError(str(path), f"{said}; {_REMEDY}")
    try:
        return from_arrays(**arrays, **names, latents=latents, task=path.stem)
    except UserError as problem:
        raise UserError(str(path), str(problem)) from None


def _one_hot(name: str, values: NDArray[Any]) -> NDArray[np.float32]:
    if values.size and values.min() < 0:
        raise UserError(name, "an integer is negative; number them from 0")
    return np.eye(int(values.max(initial=-1)) + 1, dtype=np.float32)[values.astype(np.int64)]


def _real(name: str, values: NDArray[Any]) -> NDArray[np.float32]:
    if values.dtype.kind not in "biuf":
        raise UserError(name, f"expected numbers, not {values.dtype}")
    return values.astype(np.float32)


def _whole(name: str, values: ArrayLike) -> NDArray[np.int32]:
    array = np.asarray(values)
    if array.dtype.kind not in "biu":
        raise UserError(name, f"expected integers, not {array.dtype}")
    return array.astype(np.int32)
