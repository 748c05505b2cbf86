"""HDF5 as recordings: robomimic's `data/demo_0/…`, one group an episode under any names, or a folder of such files."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certify.errors import UserError
from certify.optional import import_optional
from diacritic.demos.episodes import as_columns, from_episodes, thinned
from diacritic.files.demos import Demos

SUFFIXES = (".hdf5", ".h5")
ACTIONS, OBSERVATIONS = ("actions", "action"), ("obs", "observations", "observation", "states", "state")
_REMEDY = f"give groups with {ACTIONS[0]!r} and {OBSERVATIONS[0]!r}, such as robomimic's data/demo_0"
_NUMBER = re.compile(r"(\d+)")


def is_hdf5(source: str | os.PathLike[str]) -> bool:
    """Whether a path is an HDF5 file, or a folder that holds some."""
    path = Path(source)
    return path.suffix in SUFFIXES if path.is_file() else path.is_dir() and bool(_files(path))


def import_hdf5(source: str | os.PathLike[str], camera: str | None = None) -> Demos:
    """Every group that holds actions and observations is an episode; its columns are all observed numbers, by name.

    Pictures are left out unless `camera` names them.
    """
    h5py = import_optional("h5py", "sources")
    path = Path(source)
    seen, acted, frames = [], [], []
    for file in [path] if path.is_file() else _files(path):
        try:
            with h5py.File(file) as opened:
                for group in _episodes(opened, h5py):
                    where = f"{file}: {group.name}"
                    acted.append(as_columns(_member(group, ACTIONS)[()], f"{where}/actions"))
                    observed = dict(_numbers(_member(group, OBSERVATIONS), h5py, "obs"))
                    seen.append(_columns(observed, where))
                    if camera is not None:
                        frames.append(_picture(observed, camera, where))
        except (OSError, RuntimeError, KeyError) as problem:
            raise UserError(str(file), f"is damaged or not HDF5 ({str(problem)[:80]}); copy it again") from None
    if not seen:
        raise UserError(str(path), f"holds no episode; {_REMEDY}")
    return from_episodes(seen, acted, frames=frames or None, task=path.stem)


def _files(path: Path) -> list[Path]:
    return sorted((file for file in path.iterdir() if file.suffix in SUFFIXES), key=lambda file: _natural(file.name))


def _natural(name: str) -> list[Any]:
    """demo_2 before demo_10."""
    return [int(part) if part.isdigit() else part for part in _NUMBER.split(name)]


def _episodes(group: Any, h5py: Any) -> Iterator[Any]:
    if _member(group, ACTIONS) is not None and _member(group, OBSERVATIONS) is not None:
        yield group
        return
    for name in sorted(group, key=_natural):
        if isinstance(group[name], h5py.Group):
            yield from _episodes(group[name], h5py)


def _member(group: Any, names: tuple[str, ...]) -> Any:
    return next((group[name] for name in names if name in group), None)


def _numbers(item: Any, h5py: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Every dataset below, by its path."""
    if isinstance(item, h5py.Dataset):
        yield name, item
        return
    for key in sorted(item):
        yield from _numbers(item[key], h5py, key if name == "obs" else f"{name}/{key}")


def _columns(observed: dict[str, Any], where: str) -> NDArray[Any]:
    parts = [as_columns(item[()], f"{where}/{name}") for name, item in observed.items() if 1 <= item.ndim <= 2]
    if not parts:
        raise UserError(where, "has pictures only; name one with --camera, or give numbers too")
    if len({len(part) for part in parts}) > 1:
        raise UserError(where, "its observations have unequal lengths; record the episode again")
    return np.concatenate(parts, 1)


def _picture(observed: dict[str, Any], camera: str, where: str) -> NDArray[np.uint8]:
    pictures = [name for name, item in observed.items() if item.ndim == 4 and item.shape[3] == 3]
    if camera not in pictures:
        raise UserError("--camera", f"{camera!r} is not among the pictures of {where}: {', '.join(pictures) or 'none'}")
    return thinned(np.asarray(observed[camera][()], np.uint8))
