"""A saved run with its sizes and weights, ready to act."""

import types
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from torch import Tensor

from certify.errors import UserError
from diacritic.files.run import MANIFEST, REMEDY, RunManifest, read_manifest, read_weights
from diacritic.memory.shape import Architecture, Shape

LARGEST = 1_000_000  # of any size of a network or task
Sizes = TypeVar("Sizes", Shape, Architecture)


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
    shape = from_dict(Shape, manifest.shape, f"{where}: shape")
    architecture = from_dict(Architecture, manifest.architecture, f"{where}: architecture")
    return SavedRun(path, manifest, shape, architecture, read_weights(path))


def from_dict(kind: type[Sizes], document: Mapping[str, Any], place: str) -> Sizes:
    """A `Shape` or `Architecture` from a manifest, every entry checked; what it lacks is as usual."""
    hints = get_type_hints(kind)
    unknown = sorted(document.keys() - {field.name for field in fields(kind)})
    if unknown:
        raise UserError(place, f"has an unknown entry {unknown[0][:60]!r}; {REMEDY}")
    for name, value in document.items():
        if not _fits(value, hints[name]):
            raise UserError(place, f"{name} is {str(value)[:60]!r}, which is not possible; {REMEDY}")
    try:
        return kind(**document)
    except TypeError:
        raise UserError(place, f"lacks an entry; {REMEDY}") from None


def _fits(value: Any, hint: Any) -> bool:
    if get_origin(hint) is Literal:
        return isinstance(value, str) and value in get_args(hint)
    if get_origin(hint) is types.UnionType:
        return any(_fits(value, part) for part in get_args(hint))
    return type(value) is hint and (hint is not int or 0 <= value <= LARGEST)
