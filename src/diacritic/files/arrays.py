"""Plain arrays in an npz file: written atomically, read without pickle and without trusting the sizes it claims."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certify.core import array_format
from certify.errors import UserError
from diacritic.files.atomic import open_atomic

LARGEST = 2**34  # bytes of all arrays, unpacked
_KINDS = "biufU"  # booleans, integers, floats, texts


def write_npz(path: Path, **arrays: NDArray[Any]) -> None:
    """Write arrays, compressed; the same arrays give the same bytes."""
    with open_atomic(path) as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def read_npz(path: Path, remedy: str) -> dict[str, NDArray[Any]]:
    """All arrays of a file; whatever is not a whole npz of plain arrays is refused in one line."""
    try:
        arrays = array_format.read_npz(path, LARGEST)
    except UserError as problem:
        raise UserError(str(path), f"{problem.reason}; {remedy}") from None
    odd = [name for name, array in arrays.items() if array.dtype.kind not in _KINDS]
    if odd:
        raise UserError(str(path), f"holds {odd[0][:40]!r}, which is neither numbers nor texts; {remedy}")
    return arrays
