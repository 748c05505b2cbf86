"""A picture as PNG bytes, with the standard library alone."""

import struct
import zlib

import numpy as np
from numpy.typing import NDArray


def png(picture: NDArray[np.uint8]) -> bytes:
    """Of RGB values [height, width, 3]."""
    height, width, _ = picture.shape
    rows = b"".join(b"\0" + row.tobytes() for row in np.ascontiguousarray(picture))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*part) for part in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
