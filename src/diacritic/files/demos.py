"""Demonstrations on disk: arrays without pickle, and a manifest with their digests that is written last."""

import hashlib
import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certify.errors import UserError
from diacritic.files.atomic import make_folder, open_atomic, read_json, write_json
from diacritic.files.convention import Convention

FORMAT = "diacritic-demos/1"
OBSERVATION_SIZE = 27
FRAME_SHAPE = (64, 64, 3)
_LATENT = "latent:"  # prefix of the names of latents inside the npz

Floats = NDArray[np.float32]
Array = NDArray[Any]


@dataclass(frozen=True)
class Demos:
    """N recorded episodes of T steps, time-major: the observation O_t, the expert's action A_t, and what was hidden.

    `symbols` is Ō_t and `choices` the expert's symbolic action, both as indices into their tables of names.
    """

    task: str
    parameters: Mapping[str, Any]
    seed: int
    convention: Convention
    observations: Floats  # [T, N, 27]
    actions: Floats  # [T, N, A]
    phase: NDArray[np.uint8]  # [T, N]
    symbols: NDArray[np.int32]  # [T, N]
    symbol_names: tuple[str, ...]
    choices: NDArray[np.int32]  # [T, N]
    choice_names: tuple[str, ...]
    latents: Mapping[str, NDArray[np.int32]]  # each [N]
    success: NDArray[np.bool_]  # [N]
    frames: NDArray[np.uint8] | None = None  # [T, N, 64, 64, 3]
    versions: Mapping[str, str] = field(default_factory=dict)
    task_version: int = 0
    acceptance: Mapping[str, Any] | None = None  # what the acceptance checks found

    def __post_init__(self) -> None:
        for name, (array, dtype, shape) in self._expected().items():
            if array.dtype != dtype or len(array.shape) != len(shape):
                raise UserError(name, f"expected {dtype} with axes {_axes(shape)}, not {array.dtype} {array.shape}")
            for size, wanted in zip(array.shape, shape, strict=True):
                if wanted is not None and size != wanted:
                    raise UserError(name, f"expected axes {_axes(shape)}, not {array.shape}")
        for name, values in (("observations", self.observations), ("actions", self.actions)):
            if not np.isfinite(values).all():
                t, n = np.argwhere(~np.isfinite(values).all(axis=2))[0].tolist()
                raise UserError(f"{name}[{t}, {n}]", "the value is not finite; record the episode anew")
        for name, table in (("symbols", self.symbol_names), ("choices", self.choice_names)):
            values = getattr(self, name)
            if values.size and not 0 <= values.min() <= values.max() < len(table):
                raise UserError(name, f"an index lies outside the {len(table)} names of its table")

    def _expected(self) -> dict[str, tuple[Array, type, tuple[int | None, ...]]]:
        """Of every array: its element type and its axes, None where any size will do."""
        steps, episodes = self.phase.shape if self.phase.ndim == 2 else (None, None)
        known: dict[str, tuple[Array, type, tuple[int | None, ...]]] = {
            "phase": (self.phase, np.uint8, (steps, episodes)),
            "observations": (self.observations, np.float32, (steps, episodes, OBSERVATION_SIZE)),
            "actions": (self.actions, np.float32, (steps, episodes, None)),
            "symbols": (self.symbols, np.int32, (steps, episodes)),
            "choices": (self.choices, np.int32, (steps, episodes)),
            "success": (self.success, np.bool_, (episodes,)),
        }
        if self.frames is not None:
            known["frames"] = (self.frames, np.uint8, (steps, episodes, *FRAME_SHAPE))
        return known | {f"{_LATENT}{name}": (values, np.int32, (episodes,)) for name, values in self.latents.items()}

    @property
    def steps(self) -> int:
        return self.phase.shape[0]

    @property
    def episodes(self) -> int:
        return self.phase.shape[1]

    @property
    def arrays(self) -> dict[str, Array]:
        """Every array by the name it has on disk."""
        return {name: array for name, (array, _, _) in self._expected().items()}

    @cached_property
    def digests(self) -> dict[str, str]:
        """SHA-256 of every array: its type, shape and bytes."""
        return {name: _digest(array) for name, array in self.arrays.items()}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the whole recording, by which ledgers name it."""
        names = {"symbols": self.symbol_names, "choices": self.choice_names}
        return hashlib.sha256(json.dumps([sorted(self.digests.items()), names]).encode()).hexdigest()

    def take(self, episodes: slice | NDArray[np.integer]) -> "Demos":
        """Some of the episodes, in the order asked for."""
        return replace(
            self,
            observations=self.observations[:, episodes],
            actions=self.actions[:, episodes],
            phase=self.phase[:, episodes],
            symbols=self.symbols[:, episodes],
            choices=self.choices[:, episodes],
            latents={name: values[episodes] for name, values in self.latents.items()},
            success=self.success[episodes],
            frames=None if self.frames is None else self.frames[:, episodes],
        )

    def split(self, train: int) -> tuple["Demos", "Demos"]:
        """The first `train` episodes to learn from, and the rest to test on."""
        if not 0 < train < self.episodes:
            raise UserError("train", f"expected 1 to {self.episodes - 1} of the {self.episodes} episodes, not {train}")
        return self.take(slice(0, train)), self.take(slice(train, None))


def save(demos: Demos, stem: str | os.PathLike[str]) -> Path:
    """Write `stem.npz`, then the manifest `stem.json`: a recording exists when its manifest does."""
    arrays, manifest = _paths(stem)
    make_folder(arrays.parent)
    with open_atomic(arrays) as file:
        np.savez_compressed(file, allow_pickle=False, **demos.arrays)
        manifest.unlink(missing_ok=True)  # never an old manifest beside new arrays
    write_json(manifest, _manifest(demos))
    return manifest


def load(stem: str | os.PathLike[str], task: str | None = None, task_version: int | None = None) -> Demos:
    """Read a recording and check its digests; `task` and `task_version` refuse another one in one line."""
    arrays_path, manifest_path = _paths(stem)
    document = read_json(manifest_path, FORMAT, "record anew")
    try:
        meta: dict[str, Any] = {
            "task": str(document["task"]),
            "parameters": document["parameters"],
            "seed": int(document["seed"]),
            "convention": Convention.from_dict(document["convention"]),
            "symbol_names": tuple(document["symbol_names"]),
            "choice_names": tuple(document["choice_names"]),
            "versions": document["versions"],
            "task_version": int(document["task_version"]),
            "acceptance": document["acceptance"],
        }
        promised: dict[str, Any] = dict(document["arrays"])
    except (KeyError, TypeError, ValueError) as error:
        said = f"{type(error).__name__}: {error}"
        raise UserError(str(manifest_path), f"is no complete manifest ({said}); record anew") from None
    for key, wanted in (("task", task), ("task_version", task_version)):
        if wanted is not None and meta[key] != wanted:
            said = f"{key.replace('_', ' ')} {meta[key]!r}, but {wanted!r} is asked for"
            raise UserError(str(manifest_path), f"holds {said}; record that one")
    arrays: dict[str, Any] = dict(_read_arrays(arrays_path, promised))
    latents = {name.removeprefix(_LATENT): arrays.pop(name) for name in list(arrays) if name.startswith(_LATENT)}
    try:
        return Demos(**meta, **arrays, latents=latents)
    except (UserError, TypeError) as error:
        raise UserError(str(arrays_path), f"does not hold a recording ({error}); record anew") from None


def _paths(stem: str | os.PathLike[str]) -> tuple[Path, Path]:
    path = Path(stem)
    name = path.name.removesuffix(".json").removesuffix(".npz")
    return path.with_name(name + ".npz"), path.with_name(name + ".json")


def _manifest(demos: Demos) -> dict[str, Any]:
    described = {
        name: {"dtype": str(array.dtype), "shape": list(array.shape), "sha256": demos.digests[name]}
        for name, array in demos.arrays.items()
    }
    return {
        "format": FORMAT,
        "task": demos.task,
        "task_version": demos.task_version,
        "parameters": dict(demos.parameters),
        "seed": demos.seed,
        "steps": demos.steps,
        "episodes": demos.episodes,
        "versions": dict(demos.versions),
        "sha256": demos.digest,
        "convention": demos.convention.to_dict(),
        "symbol_names": list(demos.symbol_names),
        "choice_names": list(demos.choice_names),
        "arrays": described,
        "acceptance": demos.acceptance,
    }


def _read_arrays(path: Path, promised: Mapping[str, Any]) -> dict[str, Array]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as data:  # numpy leaves a bad file open
            arrays = {name: data[name] for name in data.files}
    except OSError as error:
        raise UserError(str(path), f"cannot be read: {error.strerror or error}") from None
    except (zipfile.BadZipFile, ValueError, EOFError, KeyError, zlib.error) as error:
        raise UserError(str(path), f"is truncated or no npz of plain arrays ({error}); record anew") from None
    if arrays.keys() != promised.keys():
        odd = sorted(arrays.keys() ^ promised.keys())[0]
        raise UserError(str(path), f"holds other arrays than its manifest says, such as {odd!r}; record anew")
    for name, array in arrays.items():
        if _digest(array) != promised[name].get("sha256"):
            raise UserError(str(path), f"the array {name!r} is not the one that was recorded; record anew")
    return arrays


def _digest(array: Array) -> str:
    head = f"{array.dtype.str} {array.shape} ".encode()
    return hashlib.sha256(head + np.ascontiguousarray(array).tobytes()).hexdigest()


def _axes(shape: tuple[int | None, ...]) -> str:
    return "(" + ", ".join("any" if size is None else str(size) for size in shape) + ")"


def is_recording(name: str) -> bool:
    """Whether a name is the path of recorded demos: NAME.npz with the manifest NAME.json, with or without suffix."""
    path = Path(name)
    manifest = path.with_name(path.name.removesuffix(".json").removesuffix(".npz") + ".json")
    try:
        document = json.loads(manifest.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and str(document.get("format", "")).startswith("diacritic-demos/")
