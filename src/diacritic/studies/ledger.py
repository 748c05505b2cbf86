"""The ledger: one JSON object a run, one file a study, sorted so that differences read well."""

import json
import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from certify.errors import ModelError

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


def write_ledger(path: Path, rows: Iterable[Row]) -> None:
    """Replace the file by these rows, whole or not at all."""
    ordered = sorted(rows, key=_key)
    for row in ordered:
        missing = [key for key in REQUIRED if key not in row]
        if missing:
            raise ModelError(f"ledger row {row.get('cell')!r}", f"lacks {', '.join(missing)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    partial.write_text("".join(json.dumps(_plain(row), ensure_ascii=False) + "\n" for row in ordered))
    partial.replace(path)


def merge_ledger(path: Path, rows: Iterable[Row]) -> None:
    """Put rows in place of those of the same cell, learner, preset and seed; the others stay."""
    known = {_key(row): row for row in (read_ledger(path) if path.exists() else [])}
    write_ledger(path, (known | {_key(row): row for row in rows}).values())


def _key(row: Row) -> tuple[str, str, str, int]:
    return row["cell"], row["learner"], row["preset"], row["seed"]


def read_ledger(path: Path) -> list[Row]:
    """All rows of a study; a broken line is named."""
    rows = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        try:
            rows.append(json.loads(line))
        except ValueError:
            raise ModelError(
                f"{path}:{number}", "is not a JSON object; restore the file from version control"
            ) from None
    return rows


def _plain(value: Any) -> Any:
    """Numbers short enough to read, and no NaN, which is no JSON."""
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
