"""The fields of a document from a file, each read with its type; a wrong one is refused by name."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from certify.errors import UserError

LARGEST = 2**53  # integers beyond are not counts of anything


@dataclass(frozen=True)
class Fields:
    """A JSON object of which every field is asked for with its type. A default makes a field optional."""

    values: Mapping[str, Any]
    path: str
    remedy: str

    @staticmethod
    def of(value: Any, path: str, remedy: str) -> "Fields":
        """A value that must be an object."""
        if not isinstance(value, dict):
            raise UserError(path, f"is not a JSON object; {remedy}")
        return Fields(value, path, remedy)

    def only(self, *names: str) -> None:
        """Refuse unknown fields."""
        unknown = sorted(self.values.keys() - set(names))
        if unknown:
            raise UserError(self.path, f"has an unknown field {unknown[0][:60]!r}; {self.remedy}")

    def text(self, name: str, *default: str | None) -> Any:
        return self._checked(name, str, "a text", default)

    def flag(self, name: str, *default: bool | None) -> Any:
        return self._checked(name, bool, "true or false", default)

    def integer(self, name: str, low: int = 0, high: int = LARGEST, default: tuple[int | None, ...] = ()) -> Any:
        """An integer from `low` to `high`."""
        value = self._value(name, default)
        if (value is None and None in default) or (type(value) is int and low <= value <= high):
            return value
        raise self.refusal(name, f"an integer from {low} to {high}")

    def number(self, name: str, *default: float | None) -> Any:
        """A finite number."""
        value = self._value(name, default)
        if (value is None and None in default) or is_number(value):
            return value if value is None else float(value)
        raise self.refusal(name, "a finite number")

    def object(self, name: str, *default: dict[str, Any]) -> dict[str, Any]:
        return self._checked(name, dict, "an object", default)

    def items(self, name: str, *default: list[Any]) -> list[Any]:
        return self._checked(name, list, "a list", default)

    def texts(self, name: str, *default: list[str]) -> tuple[str, ...]:
        """A list of texts."""
        values = self.items(name, *default)
        if not all(isinstance(value, str) for value in values):
            raise self.refusal(name, "a list of texts")
        return tuple(values)

    def numbers(self, name: str, *default: list[float | None]) -> tuple[float | None, ...]:
        """A list of finite numbers, or nulls."""
        values = self.items(name, *default)
        if not all(value is None or is_number(value) for value in values):
            raise self.refusal(name, "a list of numbers or nulls")
        return tuple(values)

    def inner(self, name: str) -> "Fields":
        """An object within, with its own fields."""
        return Fields(self.object(name), f"{self.path}: {name}", self.remedy)

    def refusal(self, name: str, expected: str) -> UserError:
        value = self.values.get(name)
        shown = repr(value)[:60] if isinstance(value, str | int | float | bool | None) else type(value).__name__
        return UserError(self.path, f"{name} is {shown}, but {expected} is expected; {self.remedy}")

    def _value(self, name: str, default: tuple[Any, ...]) -> Any:
        if name not in self.values and not default:
            raise UserError(self.path, f"lacks {name!r}; {self.remedy}")
        return self.values.get(name, default[0] if default else None)

    def _checked(self, name: str, kind: type, expected: str, default: tuple[Any, ...]) -> Any:
        value = self._value(name, default)
        if isinstance(value, kind) or (value is None and None in default):
            return value
        raise self.refusal(name, expected)


def is_number(value: Any) -> bool:
    """A finite number that a double holds; booleans are not numbers."""
    if type(value) is int:
        return abs(value) <= LARGEST
    return type(value) is float and math.isfinite(value)
