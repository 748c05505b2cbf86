"""A saved run with its sizes and weights, ready to act."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from certify.errors import UserError
from diacritic.files.run import MANIFEST, REMEDY, RunManifest, read_manifest, read_weights
from diacritic.files.schema import read_as
from diacritic.memory.shape import Architecture, Shape

LARGEST = 1_000_000  # of any size of a network or task


@dataclass(frozen=True)
class SavedRun:
    """One run from disk."""

    path: Path
    manifest: RunManifest
    shape: Shape
    architecture: Architecture
    weights: dict[str, Tensor]


def load_run(path: Path) -> SavedRun:
    """A whole run: its manifest is there, and every file matches its digest."""
    manifest, where = read_manifest(path), str(path / MANIFEST)
    shape = _read(Shape, manifest.shape, f"{where}: shape")
    architecture = _read(Architecture, manifest.architecture, f"{where}: architecture")
    return SavedRun(path, manifest, shape, architecture, read_weights(path))


def _read(kind: type, document: Mapping[str, Any], where: str) -> Any:
    """A `Shape` or `Architecture`; what it lacks is as usual."""
    for name, value in document.items():
        if type(value) is int and value > LARGEST:
            raise UserError(where, f"{name} is {str(value)[:60]}, more than {LARGEST}; {REMEDY}")
    return read_as(kind, document, where, REMEDY)
