"""The paper's figures: `reference.toml`, read by the name of a section and by what a row says of itself."""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from certify.errors import UserError

FILE = Path(__file__).with_name("reference.toml")
Block = dict[str, Any]


@cache
def _text() -> str:
    return FILE.read_text(encoding="utf-8")


@cache
def _tables() -> Block:
    return tomllib.loads(_text())


@cache
def sections() -> tuple[str, ...]:
    """Every section of the reference by its dotted name, in the order of the file, each once."""
    return tuple(dict.fromkeys(re.findall(r"^\[+([\w.]+)\]+$", _text(), re.M)))


def block(name: str) -> Block:
    """One section, `table.learning_main` say."""
    if name not in sections():
        raise UserError("reference", f"has no section [{name}]; {FILE.name} lists what there is")
    table: Any = _tables()
    for part in name.split("."):
        table = table[part]
    return table


def figure(name: str, key: str) -> Any:
    """One value of a section; `a.b` looks into a table."""
    value: Any = block(name)
    for part in key.split("."):
        if not isinstance(value, dict) or part not in value:
            raise UserError(f"reference [{name}]", f"has no {key!r}")
        value = value[part]
    return value


def row(name: str, key: str = "rows", **match: Any) -> Block:
    """The only row of a section with these values."""
    fits = [line for line in figure(name, key) if all(line.get(field) == value for field, value in match.items())]
    if len(fits) != 1:
        wanted = ", ".join(f"{field}={value!r}" for field, value in match.items())
        raise UserError(f"reference [{name}]", f"{len(fits)} rows of {key!r} have {wanted}; one is needed")
    return fits[0]


def count(line: Block, key: str = "sufficient") -> tuple[int, int] | None:
    """Sufficient seeds of how many, where a row gives one number of each."""
    passed, of = line.get(key), line.get("of")
    return (passed, of) if isinstance(passed, int) and isinstance(of, int) else None
