"""Read the arrays of a model from an npz file: plain arrays only, and no larger than the file says."""

import json
import lzma
import math
import tokenize
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from certify.errors import UserError

_MAX_BYTES = 4 * 2**30  # of all arrays, unpacked
_KINDS = {  # what an array holds: integers, text, or one flag
    "observations": "iu",
    "actions": "iu",
    "weights": "iu",
    "laws": "iu",
    "law_table": "iu",
    "observation_names": "U",
    "action_names": "U",
    "empirical": "biu",
    "name": "U",
}
_NOT_NPZ = (
    ValueError,
    TypeError,
    KeyError,
    SyntaxError,
    EOFError,
    OverflowError,
    MemoryError,
    RecursionError,
    RuntimeError,
    UserWarning,
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    tokenize.TokenError,  # of a header
    lzma.LZMAError,
)


def load_arrays(path: Path) -> dict[str, Any]:
    """The arguments of `Model.from_arrays` that a file holds."""
    arrays = read_npz(path)
    unknown = [key for key in arrays if key not in _KINDS]
    if unknown:
        raise UserError("", f"unknown array {json.dumps(unknown[0][:40])}; expected {', '.join(sorted(_KINDS))}")
    missing = sorted({"observations", "actions"} - arrays.keys())
    if missing:
        raise UserError("", f'the array "{missing[0]}" is missing')
    return {key: _value(key, array) for key, array in arrays.items()}


def read_npz(path: Path, most: int = _MAX_BYTES) -> dict[str, np.ndarray]:
    """All arrays of a file, of at most so many bytes together; whatever is not a whole npz is refused in one line."""
    try:
        with zipfile.ZipFile(path) as archive, warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)  # headers that numpy has to guess at
            return _read(archive, most)
    except OSError as error:
        raise UserError("", f"cannot be read: {error.strerror or error}") from None
    except _NOT_NPZ as error:
        reason = " ".join(str(error).split())[:100] or type(error).__name__
        raise UserError("", f"not an npz file of plain arrays: {reason}") from None


def _read(archive: zipfile.ZipFile, most: int) -> dict[str, np.ndarray]:
    members = archive.infolist()
    if sum(member.file_size for member in members) > most:
        raise ValueError(f"the arrays take more than {most:,} bytes")
    arrays: dict[str, np.ndarray] = {}
    for member in members:
        key = member.filename.removesuffix(".npy")
        if key in arrays:
            raise ValueError("an array is given twice")
        with archive.open(member) as file:
            _check_size(file, member.file_size)
        with archive.open(member) as file:
            arrays[key] = np.lib.format.read_array(file, allow_pickle=False)
    return arrays


def _check_size(file: Any, size: int) -> None:
    """Refuse a header that announces another array than the file has room for, before memory is taken for it."""
    version = np.lib.format.read_magic(file)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"arrays of version {version[0]}.{version[1]} are not read; save them with numpy.savez")
    shape, _, dtype = readers[version](file)
    if dtype.hasobject:
        raise ValueError("an array holds Python objects")
    if min(shape, default=0) < 0 or file.tell() + math.prod(shape) * dtype.itemsize != size:
        raise ValueError("an array has not as many bytes as its header announces")


def _value(key: str, array: np.ndarray) -> Any:
    """An array as `from_arrays` takes it."""
    if key in ("empirical", "name"):
        if array.size != 1 or array.dtype.kind not in _KINDS[key]:
            expected = "one flag" if key == "empirical" else "one text"
            raise UserError(key, f"expected {expected}, not shape {array.shape} of {array.dtype}")
        return bool(array.item()) if key == "empirical" else _texts(key, array)[0]
    if _KINDS[key] != "U":
        return array
    if array.ndim != 1 or array.dtype.kind != "U":
        raise UserError(key, f"expected a list of texts, not shape {array.shape} of {array.dtype}")
    return _texts(key, array)


def _texts(key: str, array: np.ndarray) -> list[str]:
    """The texts of an array, whose letters are four bytes each and may be none at all."""
    native = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("="), copy=False)).ravel()
    letters = np.frombuffer(native.tobytes(), np.uint32)
    if ((letters > 0x10FFFF) | ((letters >= 0xD800) & (letters <= 0xDFFF))).any():
        raise UserError(key, "holds letters that are not text")
    return [str(text) for text in native]
