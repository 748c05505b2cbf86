"""Writing and reading files safely: atomic writes, JSON of a declared format, digests, names that become paths."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from certify.atomic import cannot_write, open_atomic, path_atomic, write_bytes, write_text  # noqa: F401 (for others)
from certify.errors import UserError

SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=,-]{0,199}")


def safe_name(name: object, where: str) -> str:
    """A name that may become part of a path: no separators, no leading dot, of moderate length."""
    if not isinstance(name, str) or not SAFE_NAME.fullmatch(name):
        allowed = "letters, digits and ._+=,- only, beginning with a letter or digit"
        raise UserError(where, f"{str(name)[:60]!r} cannot name a file; use {allowed}")
    return name


def make_folder(folder: Path) -> Path:
    """Create a folder and its parents where they are missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise cannot_write(folder, problem) from None
    return folder


def write_json(path: Path, document: Any, indent: int | None = 1) -> None:
    """Write a document as strict JSON, one line at the end."""
    write_text(path, json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False) + "\n")


def read_text(path: Path, remedy: str) -> str:
    """A UTF-8 file, or one line that says what is wrong with it."""
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as problem:
        raise UserError(str(path), f"cannot be read: {problem.strerror or problem}; {remedy}") from None
    except ValueError:
        raise UserError(str(path), f"is not UTF-8 text; {remedy}") from None


def read_json(path: Path, expected: str, remedy: str) -> dict[str, Any]:
    """A JSON object whose `format` is the expected one, or one line that says what is wrong with the file."""
    try:
        document = json.loads(read_text(path, remedy))
    except UserError:
        raise
    except (ValueError, RecursionError):
        raise UserError(str(path), f"is truncated or not JSON; {remedy}") from None
    declared = document.get("format") if isinstance(document, dict) else None
    if declared is None:
        raise UserError(str(path), f"names no format, so it is not of this version, which reads {expected!r}; {remedy}")
    if declared != expected:
        reason = f"is of format {str(declared)[:60]!r}, but this version reads {expected!r}"
        raise UserError(str(path), f"{reason}; {remedy}")
    return document


def sha256(content: bytes) -> str:
    """SHA-256 of bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def sha256_file(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
