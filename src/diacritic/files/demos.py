"""Recorded demonstrations (`diacritic-demos/1`): arrays without pickle, and a manifest with digests, written last."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certify.errors import UserError
from diacritic.files.arrays import read_npz
from diacritic.files.atomic import make_folder, open_atomic, read_json, write_json
from diacritic.files.convention import NO_CONVENTION, Convention
from diacritic.files.schema import read_as

FORMAT = "diacritic-demos/1"
REMEDY = "record again"
_LATENT = "latent:"  # prefix of the names of latents inside the npz
_METADATA: dict[str, Any] = {
    "task": str,
    "task_version": int,
    "parameters": dict[str, Any],
    "seed": int,
    "versions": dict[str, Any],
    "convention": Convention,
    **dict.fromkeys(("symbol_names", "choice_names"), tuple[str, ...]),
    "acceptance": dict[str, Any] | None,
}
_PROMISE: dict[str, Any] = {"sha256": str, "arrays": {str: {"sha256": str}}}

Floats = NDArray[np.float32]
Array = NDArray[Any]
Axes = tuple[int | None, ...]


def _absent() -> NDArray[np.int32]:
    return np.empty((0, 0), np.int32)


@dataclass(frozen=True)
class Demos:
    """N recorded episodes of T steps, time-major: the observation O_t, the expert's action A_t, and what was hidden.

    Observations and actions are all that a recording must have. `symbols` is Ō_t and `choices` the expert's symbolic
    action, both as indices into their tables of names; where nobody named them they have shape (0, 0). A recording
    without phases has one, and one without a convention reads nothing from observations. Where episodes differ in
    length, `mask` is true as long as an episode runs.
    """

    task: str
    observations: Floats  # [T, N, d]
    actions: Array  # [T, N, k] float32, or int32 with axes [T, N] or [T, N, k]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    convention: Convention = NO_CONVENTION
    phase: NDArray[np.uint8] = field(default_factory=lambda: np.empty((0, 0), np.uint8))  # [T, N]
    symbols: NDArray[np.int32] = field(default_factory=_absent)  # [T, N]
    symbol_names: tuple[str, ...] = ()
    choices: NDArray[np.int32] = field(default_factory=_absent)  # [T, N]
    choice_names: tuple[str, ...] = ()
    latents: Mapping[str, NDArray[np.int32]] = field(default_factory=dict)  # each [N]
    success: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, np.bool_))  # [N]; all, where nobody says
    frames: NDArray[np.uint8] | None = None  # [T, N, height, width, 3]
    mask: NDArray[np.bool_] | None = None  # [T, N]
    versions: Mapping[str, str] = field(default_factory=dict)
    task_version: int = 0
    acceptance: Mapping[str, Any] | None = None  # what the acceptance checks found

    def __post_init__(self) -> None:
        if self.observations.ndim != 3 or not self.observations.size:
            raise UserError("observations", f"expected axes [T, N, d] with entries, not {self.observations.shape}")
        if not self.phase.size:
            object.__setattr__(self, "phase", np.zeros(self.observations.shape[:2], np.uint8))
        if not self.success.size:
            object.__setattr__(self, "success", np.ones(self.observations.shape[1], np.bool_))
        for name, (array, dtype, shape) in self._expected().items():
            if array.dtype != dtype or len(array.shape) != len(shape):
                raise UserError(
                    name, f"expected {dtype.__name__} with axes {_axes(shape)}, not {array.dtype} {array.shape}"
                )
            for size, wanted in zip(array.shape, shape, strict=True):
                if wanted is not None and size != wanted:
                    raise UserError(name, f"expected axes {_axes(shape)}, not {array.shape}")
        self._check_values()
        self.convention.check(self.observations.shape[2], self.steps, int(self.phase.max()), self.latents)

    def _check_values(self) -> None:
        """Refuse values that are not finite, indices outside their tables, and masks with holes."""
        if self.mask is not None and (not self.mask[0].all() or (self.mask[1:] & ~self.mask[:-1]).any()):
            raise UserError("mask", "an episode runs from the first step without interruption to its last")
        for name, values in (("observations", self.observations), ("actions", self.actions)):
            odd = ~np.isfinite(values).reshape(*values.shape[:2], -1).all(axis=2)
            odd = odd if self.mask is None else odd & self.mask
            if odd.any():
                t, n = np.argwhere(odd)[0].tolist()
                raise UserError(f"{name}[{t}, {n}]", "the value is not finite; record the episode again")
        for name, table in (("symbols", self.symbol_names), ("choices", self.choice_names)):
            values = getattr(self, name)
            if values.size and not 0 <= values.min() <= values.max() < len(table):
                raise UserError(name, f"an index lies outside the {len(table)} names of its table")

    def _expected(self) -> dict[str, tuple[Array, type, Axes]]:
        """Of every array that is there: its element type and its axes, None where any size will do."""
        steps, episodes = self.observations.shape[:2]
        whole = np.issubdtype(self.actions.dtype, np.integer)
        acted = (steps, episodes) if whole and self.actions.ndim == 2 else (steps, episodes, None)
        expected: dict[str, tuple[Array, type, Axes]] = {
            "phase": (self.phase, np.uint8, (steps, episodes)),
            "observations": (self.observations, np.float32, (steps, episodes, None)),
            "actions": (self.actions, np.int32 if whole else np.float32, acted),
            "symbols": (self.symbols, np.int32, (steps, episodes)),
            "choices": (self.choices, np.int32, (steps, episodes)),
            "success": (self.success, np.bool_, (episodes,)),
        }
        for name in ("symbols", "choices"):
            if not getattr(self, name).size:
                del expected[name]
        if self.frames is not None:
            expected["frames"] = (self.frames, np.uint8, (steps, episodes, None, None, 3))
        if self.mask is not None:
            expected["mask"] = (self.mask, np.bool_, (steps, episodes))
        latents = {f"{_LATENT}{name}": (values, np.int32, (episodes,)) for name, values in self.latents.items()}
        return expected | latents

    @property
    def steps(self) -> int:
        return self.observations.shape[0]

    @property
    def episodes(self) -> int:
        return self.observations.shape[1]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of steps of each episode, [N]."""
        return np.full(self.episodes, self.steps) if self.mask is None else self.mask.sum(axis=0)

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
        taken: dict[str, Any] = {
            name: array[episodes] if array.ndim == 1 else array[:, episodes] for name, array in self.arrays.items()
        }
        latents = {name: taken.pop(f"{_LATENT}{name}") for name in self.latents}
        return replace(self, **taken, latents=latents)

    def split(self, train: int) -> tuple["Demos", "Demos"]:
        """The first `train` episodes to learn from, and the rest to test on."""
        if not 0 < train < self.episodes:
            raise UserError("train", f"expected 1 to {self.episodes - 1} of the {self.episodes} episodes, not {train}")
        return self.take(slice(0, train)), self.take(slice(train, None))


def save(demos: Demos, stem: str | os.PathLike[str]) -> Path:
    """Write `stem.npz`, then the manifest `stem.json`: a recording exists when its manifest does."""
    arrays, manifest = paths(stem)
    make_folder(arrays.parent)
    with open_atomic(arrays) as file:
        np.savez_compressed(file, allow_pickle=False, **demos.arrays)
        manifest.unlink(missing_ok=True)  # never an old manifest beside new arrays
    write_json(manifest, _manifest(demos))
    return manifest


def load(stem: str | os.PathLike[str], task: str | None = None, task_version: int | None = None) -> Demos:
    """Read a recording and check its digests; `task` and `task_version` refuse another one in one line."""
    arrays_path, manifest_path = paths(stem)
    document = read_json(manifest_path, FORMAT, REMEDY)
    promised: Mapping[str, Any] = read_as(_PROMISE, document, str(manifest_path), REMEDY)
    meta = read_metadata(document, str(manifest_path), REMEDY)
    for key, wanted in (("task", task), ("task_version", task_version)):
        if wanted is not None and meta[key] != wanted:
            said = f"{key.replace('_', ' ')} {meta[key]!r}, but {wanted!r} is asked for"
            raise UserError(str(manifest_path), f"holds {said}; record that one")
    arrays: dict[str, Any] = _read_arrays(arrays_path, promised["arrays"])
    latents = {name.removeprefix(_LATENT): arrays.pop(name) for name in list(arrays) if name.startswith(_LATENT)}
    try:
        demos = Demos(**meta, **arrays, latents=latents)
    except (UserError, TypeError) as error:
        raise UserError(str(arrays_path), f"does not hold a recording ({str(error)[:200]}); {REMEDY}") from None
    if promised["sha256"] != demos.digest:
        raise UserError(str(manifest_path), f"is not the manifest of this recording: its digest differs; {REMEDY}")
    return demos


def paths(stem: str | os.PathLike[str]) -> tuple[Path, Path]:
    """The files of arrays and manifest, for a name with or without suffix."""
    path = Path(stem)
    name = path.name.removesuffix(".json").removesuffix(".npz")
    return path.with_name(name + ".npz"), path.with_name(name + ".json")


def _manifest(demos: Demos) -> dict[str, Any]:
    described = {
        name: {"dtype": str(array.dtype), "shape": list(array.shape), "sha256": demos.digests[name]}
        for name, array in demos.arrays.items()
    }
    return metadata(demos) | {"steps": demos.steps, "episodes": demos.episodes, "arrays": described}


def metadata(demos: Demos) -> dict[str, Any]:
    """What a recording says of itself beside its arrays."""
    own = {name: getattr(demos, name) for name in _METADATA}
    return {"format": FORMAT, **own, "convention": demos.convention.to_dict(), "sha256": demos.digest}


def read_metadata(document: Any, path: str, remedy: str) -> dict[str, Any]:
    """The same from a file, as arguments of `Demos`."""
    given = read_as(_METADATA, document, path, remedy)
    return {name: given.get(name) for name in _METADATA}


def _read_arrays(path: Path, promised: Mapping[str, Any]) -> dict[str, Array]:
    arrays = read_npz(path, REMEDY)
    if arrays.keys() != promised.keys():
        odd = sorted(arrays.keys() ^ promised.keys())[0]
        raise UserError(str(path), f"holds other arrays than its manifest says, such as {odd[:60]!r}; {REMEDY}")
    for name, array in arrays.items():
        if _digest(array) != promised[name]["sha256"]:
            raise UserError(str(path), f"the array {name!r} is not the one that was recorded; {REMEDY}")
    return arrays


def _digest(array: Array) -> str:
    head = f"{array.dtype.str} {array.shape} ".encode()
    return hashlib.sha256(head + np.ascontiguousarray(array).tobytes()).hexdigest()


def _axes(shape: Axes) -> str:
    return "(" + ", ".join("any" if size is None else str(size) for size in shape) + ")"


def is_recording(name: str) -> bool:
    """Whether a name is the path of recorded demos: NAME.npz with the manifest NAME.json, with or without suffix."""
    try:
        document = json.loads(paths(name)[1].read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and str(document.get("format", "")).startswith("diacritic-demos/")
