"""Plain arrays in an npz file: written atomically, read without pickle and without trusting the sizes it claims."""

import math
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from certify.errors import UserError
from diacritic.files.atomic import open_atomic

LARGEST = 2**34  # bytes of one array, unpacked
_KINDS = "biufU"  # booleans, integers, floats, texts


def write_npz(path: Path, **arrays: NDArray[Any]) -> None:
    """Write arrays, compressed; the same arrays give the same bytes."""
    with open_atomic(path) as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def read_npz(path: Path, remedy: str) -> dict[str, NDArray[Any]]:
    """All arrays of a file; whatever is not a whole npz of plain arrays is refused in one line."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [info.filename for info in archive.infolist()]
            if len(set(names)) < len(names):
                raise ValueError("two arrays have one name")
            return {info.filename.removesuffix(".npy"): _read(archive, info) for info in archive.infolist()}
    except UserError:
        raise
    except OSError as problem:
        raise UserError(str(path), f"cannot be read: {problem.strerror or problem}; {remedy}") from None
    except (zipfile.BadZipFile, ValueError, EOFError, zlib.error, NotImplementedError, RuntimeError) as problem:
        reason = f"is truncated or not an npz of plain arrays ({str(problem)[:100]})"
        raise UserError(str(path), f"{reason}; {remedy}") from None


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> NDArray[Any]:
    """One array, after its header has been held against the size of its entry."""
    with archive.open(info) as entry:
        shape, fortran, dtype = _header(entry)
        size = math.prod(shape) * dtype.itemsize
        if dtype.kind not in _KINDS or not 0 <= size <= LARGEST or entry.tell() + size != info.file_size:
            raise ValueError(f"{info.filename[:40]!r} is not what its header says")
        content = entry.read()
    array = np.frombuffer(content, dtype, math.prod(shape)) if size else np.empty(shape, dtype)
    return array.reshape(shape, order="F" if fortran else "C").copy()


def _header(entry: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = npy.read_magic(entry)
    if version == (1, 0):
        shape, fortran, dtype = npy.read_array_header_1_0(entry)
    elif version == (2, 0):
        shape, fortran, dtype = npy.read_array_header_2_0(entry)
    else:
        raise ValueError(f"version {version} of npy")
    if any(size < 0 for size in shape):
        raise ValueError("a negative size")
    return shape, fortran, dtype
