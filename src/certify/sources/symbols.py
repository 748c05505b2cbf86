"""Raw observations as symbols: short text, or a number with a legend."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np


def readable(raw: Any) -> str:
    """The default symboliser: numbers, arrays, tuples and dictionaries as short text, nothing rounded.

    Within one observation space, equal values and no others have equal text. The shape of an array is left out.
    """
    if isinstance(raw, str | int):
        return raw if type(raw) is str else str(raw)
    if isinstance(raw, Mapping):
        return "{" + ", ".join(f"{key}: {_inner(raw[key])}" for key in sorted(raw, key=str)) + "}"
    if isinstance(raw, tuple | list):
        return "(" + ", ".join(map(_inner, raw)) + ")"
    if isinstance(raw, np.ndarray):
        text = {"b": str, "i": str, "u": str, "f": _decimal}.get(raw.dtype.kind, _inner)
        return "[" + " ".join(map(text, raw.ravel())) + "]" if raw.ndim else text(raw[()])
    return _decimal(raw) if isinstance(raw, float | np.floating) else str(raw)


def _decimal(value: float | np.floating) -> str:
    """The shortest decimal that reads back as the same value in its own precision."""
    return str(int(value)) if value.is_integer() else str(value)


def _inner(item: Any) -> str:
    plain = not isinstance(item, str) or re.fullmatch(r"[\w.-]+", item)
    return readable(item) if plain else repr(str(item))  # quoted, for it may hold the separators


class Legend:
    """A symboliser for images and long tuples: text of up to `width` letters as it is, anything longer as ``obs#12``.

    `raw` keeps what each short name stands for.
    """

    def __init__(self, width: int = 40) -> None:
        self.width = width
        self.raw: dict[str, Any] = {}
        self._names: dict[str, str] = {}

    def __call__(self, raw: Any) -> str:
        text = readable(raw)
        if len(text) <= self.width:
            return text
        name = self._names.setdefault(text, f"obs#{len(self._names)}")
        self.raw.setdefault(name, raw)
        return name
