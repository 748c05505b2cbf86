"""The ledger: one JSON object a run, one file a study, sorted so that differences read well."""

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from certify.errors import UserError
from diacritic.files.atomic import make_folder, read_text, write_text
from diacritic.files.schema import fits

Row = dict[str, Any]
REMEDY = "restore the file from version control"


_BITS = dict[str, float | None]  # by window
TYPES: dict[str, Any] = {
    **dict.fromkeys(("study", "cell", "task", "learner", "preset"), str),
    **dict.fromkeys(("seed", "steps"), int),
    "K": int | None,
    "beta": float | None,
    "N": int | None,
    "gate": str,
    **dict.fromkeys(("sufficient", "diverged"), bool),
    "scores": dict[str, _BITS],  # S_Gamma and S_G
    **dict.fromkeys(("rate", "requirement"), _BITS),
    **dict.fromkeys(("success", "seconds"), float | None),
    "device": str,
    "versions": dict[str, Any],
    **dict.fromkeys(("code_version", "demos_sha256"), str),
}
"""Every field that a row must have, and its type."""
REQUIRED = list(TYPES)


def problem_of(row: Any) -> str | None:
    """What keeps a value from being the row of a run; none if nothing does."""
    if not isinstance(row, dict):
        return "is not a JSON object"
    missing = [key for key in REQUIRED if key not in row]
    if missing:
        return f"lacks {', '.join(missing)}"
    wrong = [key for key, kind in TYPES.items() if not fits(kind, row[key])]
    return f"has a {wrong[0]} of another type: {str(row[wrong[0]])[:60]!r}" if wrong else None


Name = tuple[str, str, str, int, int, str, int]
Key = tuple[Name, str | None]


def name_of(row: Row) -> Name:
    """The fields that name a run within its study: a row replaces an older one of the same name.

    A row without `task_version` was made with version 1 of its task.
    """
    version = row.get("task_version", 1)
    return row["cell"], row["learner"], row["preset"], row["seed"], row["steps"], str(row["gate"]), version


def key_of(row: Row) -> Key:
    """The name of a run and its settings: once a frozen setting changes, the rows made before no longer answer."""
    return name_of(row), row.get("configuration")


def write_ledger(path: Path, rows: Iterable[Row]) -> None:
    """Replace the file by these rows, whole or not at all."""
    given = [_plain(row) for row in rows]
    for row in given:
        problem = problem_of(row)
        if problem is not None:
            raise UserError(f"ledger row {row.get('cell')!r}", problem)
    make_folder(path.parent)
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in sorted(given, key=name_of))
    write_text(path, "".join(lines))


def merge_ledger(path: Path, rows: Iterable[Row]) -> None:
    """Put rows in place of those of the same name; the others stay."""
    before = read_ledger(path) if path.exists() else []
    write_ledger(path, {name_of(row): row for row in (*before, *rows)}.values())


def read_keys(path: Path) -> set[Key]:
    """The runs that a ledger holds; none where there is no such file, or where it is of something else."""
    rows = read_ledger(path) if path.exists() else []
    return {key_of(row) for row in rows if problem_of(row) is None}


def read_ledger(path: Path) -> list[Row]:
    """All rows of a file; a broken line is named."""
    rows = []
    for number, line in enumerate(read_text(path, REMEDY).split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            raise UserError(f"{path}:{number}", f"is not a JSON object; {REMEDY}")
        rows.append(row)
    return rows


def _plain(value: Any) -> Any:
    """Numbers short enough to read; those that are not finite, which JSON does not have, become null."""
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
