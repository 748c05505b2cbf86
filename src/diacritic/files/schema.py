"""Documents from files held against types: a refusal names the place, what stands there, and what is expected.

A type is an annotation (`str`, `float | None`, `tuple[int, ...]`, a dataclass, …), a list of one type, an object of any
names `{str: type}`, or an object of named fields `{"name": type}`, others of which are left alone.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, NoReturn, Union, get_args, get_origin, get_type_hints

from certify.errors import UserError
from diacritic.files.atomic import SAFE_NAME

LARGEST = 2**53  # integers beyond are not counts of anything
FileName = Annotated[str, "a name of letters, digits and ._+=,-"]
"""A text that becomes part of a path."""
_EXPECTED = {str: "a text", bool: "true or false", float: "a finite number"}


class Range(NamedTuple):
    """Bounds of an `Annotated` integer, both included."""

    low: int
    high: int


class _Unfit(Exception):
    """A value that is not of its type; the places around it are added on the way out."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason, self.where = reason, list[str]()


def read_as(kind: Any, value: Any, path: str, remedy: str) -> Any:
    """A JSON value of a type; lists become tuples, and objects the dataclasses that they are of.

    A field that may be null may be missing, and one of a dataclass where it has a default.
    """
    try:
        return _read(kind, value)
    except _Unfit as problem:
        where, reason = problem.where, problem.reason
        if where and reason.startswith("is "):
            reason = f"{where.pop()} {reason}"
        raise UserError(": ".join([path, *where]), f"{reason}; {remedy}") from None


def fits(kind: Any, value: Any) -> bool:
    """Whether a JSON value is of a type."""
    try:
        _read(kind, value)
    except _Unfit:
        return False
    return True


def _refuse(value: Any, expected: str) -> NoReturn:
    shown = repr(value)[:60] if isinstance(value, str | int | float | bool | None) else type(value).__name__
    raise _Unfit(f"is {shown}, but {expected} is expected")


def _read(kind: Any, value: Any) -> Any:
    origin, inside = get_origin(kind), get_args(kind)
    if origin is Annotated and inside[0] is str:
        return value if isinstance(value, str) and SAFE_NAME.fullmatch(value) else _refuse(value, inside[1])
    if kind is int or origin is Annotated:
        low, high = inside[1] if inside else (0, LARGEST)
        good = type(value) is int and low <= value <= high
        return value if good else _refuse(value, f"an integer from {low} to {high}")
    if origin in (Union, UnionType):
        return None if value is None else _read(next(part for part in inside if part is not NoneType), value)
    if origin is Literal:
        return value if isinstance(value, str) and value in inside else _refuse(value, f"one of {', '.join(inside)}")
    if isinstance(kind, list) or origin in (tuple, Sequence):
        return _items(inside or kind, value, origin is tuple and inside[-1] is not Ellipsis)
    if origin in (dict, Mapping) or (isinstance(kind, dict) and str in kind):
        named = value if isinstance(value, dict) else _refuse(value, "an object")
        return {key: _within(inside[1] if inside else kind[str], item, key[:60]) for key, item in named.items()}
    if isinstance(kind, dict) or dataclasses.is_dataclass(kind):
        return _record(kind, value)
    if kind is float:  # a finite number that a double holds; booleans are not numbers
        good = abs(value) <= LARGEST if type(value) is int else type(value) is float and math.isfinite(value)
        return float(value) if good else _refuse(value, _EXPECTED[kind])
    return value if kind is Any or isinstance(value, kind) else _refuse(value, _EXPECTED[kind])


def _record(kind: Any, value: Any) -> Any:
    if not isinstance(value, dict):
        raise _Unfit("is not a JSON object")
    is_open = isinstance(kind, dict)
    types, optional = (kind, {name for name in kind if NoneType in get_args(kind[name])}) if is_open else _fields(kind)
    lacking = [name for name in types if name not in optional and name not in value]
    unknown = sorted(value.keys() - types.keys())
    if unknown and not is_open:
        raise _Unfit(f"has an unknown field {unknown[0][:60]!r}")
    if lacking:
        raise _Unfit(f"lacks {lacking[0]!r}")
    given = {name: _within(types[name], value[name], name) for name in types if name in value}
    try:
        return value | given if is_open else kind(**given)
    except UserError as problem:
        raise _Unfit(str(problem)) from None


@cache
def _fields(kind: Any) -> tuple[dict[str, Any], set[str]]:
    """The type of every field of a dataclass, and the fields that have a default."""
    none = dataclasses.MISSING
    usual = {field.name for field in dataclasses.fields(kind) if (field.default, field.default_factory) != (none, none)}
    return get_type_hints(kind, include_extras=True), usual


def _items(kinds: Any, value: Any, fixed: bool) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple) or (fixed and len(value) != len(kinds)):
        _refuse(value, f"a list of {len(kinds)}" if fixed else "a list")
    each = kinds if fixed else [kinds[0]] * len(value)
    return tuple(_within(kind, item, f"[{k}]") for k, (kind, item) in enumerate(zip(each, value, strict=True)))


def _within(kind: Any, value: Any, where: str) -> Any:
    try:
        return _read(kind, value)
    except _Unfit as problem:
        problem.where.insert(0, where)
        raise
