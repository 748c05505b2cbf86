"""The ledger: one JSON object a run, one file a study, sorted so that differences read well."""

import json
import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from certify.errors import UserError
from diacritic.studies.cell import Cell

Row = dict[str, Any]
REQUIRED = [
    "study",
    "cell",
    "task",
    "learner",
    "preset",
    "seed",
    "steps",
    "K",
    "beta",
    "N",
    "gate",
    "sufficient",
    "diverged",
    "scores",
    "rate",
    "requirement",
    "success",
    "seconds",
    "device",
    "versions",
    "code_version",
    "demos_sha256",
]


def named(cell: Cell, seed: int) -> Row:
    """The fields that tell one run of one cell from all others, and what it was made with."""
    return {
        "study": cell.study,
        "cell": cell.name,
        "task": cell.task.title,
        "learner": cell.learner,
        "preset": cell.preset,
        "seed": seed,
        "steps": cell.steps,
        "K": cell.codes,
        "beta": cell.beta,
        "N": cell.demonstrations,
        "gate": cell.gate,
        "configuration": cell.digest,
    }


def write_ledger(path: Path, rows: Iterable[Row]) -> None:
    """Replace the file by these rows, whole or not at all."""
    given = list(rows)
    _complete(given)
    ordered = sorted(given, key=place_of)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        partial.write_text("".join(json.dumps(_plain(row), ensure_ascii=False) + "\n" for row in ordered))
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def merge_ledger(path: Path, rows: Iterable[Row]) -> None:
    """Put rows in place of those of the same cell, learner, preset, seed, steps and gate; the others stay."""
    given = list(rows)
    _complete(given)
    known = {place_of(row): row for row in (read_ledger(path) if path.exists() else [])}
    write_ledger(path, (known | {place_of(row): row for row in given}).values())


def _complete(rows: Iterable[Row]) -> None:
    for row in rows:
        missing = [key for key in REQUIRED if key not in row]
        if missing:
            raise UserError(f"ledger row {row.get('cell')!r}", f"lacks {', '.join(missing)}")


Place = tuple[str, str, str, int, int, str]
Key = tuple[Place, str | None]


def place_of(row: Row) -> Place:
    """What tells a run from the others of its study: a row takes the place of an older one of the same name."""
    return row["cell"], row["learner"], row["preset"], row["seed"], row["steps"], str(row["gate"])


def key_of(row: Row) -> Key:
    """What a run was made with: once a frozen setting changes, the rows made before no longer answer."""
    return place_of(row), row.get("configuration")


def read_keys(path: Path) -> set[Key]:
    """The runs that a ledger holds; none where there is no such file, or where it is of something else."""
    return {key_of(row) for row in read_ledger(path) if "seed" in row and "gate" in row} if path.exists() else set()


def read_ledger(path: Path) -> list[Row]:
    """All rows of a study; a broken line is named."""
    rows = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        try:
            rows.append(json.loads(line))
        except ValueError:
            raise UserError(f"{path}:{number}", "is not a JSON object; restore the file from version control") from None
    return rows


def _plain(value: Any) -> Any:
    """Numbers short enough to read, and no NaN, which is no JSON."""
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
