"""Files that are whole or absent: written beside their place, flushed to the disk, then renamed.

A failure removes the partial file and ends in one line. A killed process cannot remove its own: the next writer of the
same file does, since the kernel has released the lock that every writer holds on its partial file.
"""

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BufferedWriter
from pathlib import Path

from certify.errors import UserError

try:
    import fcntl
except ImportError:  # without locks, partial files of killed runs stay
    fcntl = None

PARTIAL = ".partial"
_REMEDIES = {
    errno.ENOSPC: "free some space and run the same command again",
    errno.EDQUOT: "free some space and run the same command again",
    errno.ENOENT: "create the folder first",
}


def cannot_write(path: Path | str, problem: OSError) -> UserError:
    """A failed write as one line."""
    remedy = _REMEDIES.get(problem.errno or 0, "choose another place to write to")
    return UserError(str(path), f"cannot be written: {problem.strerror or problem}; {remedy}")


def write_text(path: Path, text: str | Iterable[str]) -> None:
    """Write a UTF-8 file whole, from one text or from its pieces, or leave what was there before."""
    with open_atomic(path) as file:
        file.writelines(piece.encode("utf-8") for piece in ([text] if isinstance(text, str) else text))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file whole, or leave what was there before."""
    with open_atomic(path) as file:
        file.write(content)


@contextmanager
def open_atomic(path: Path) -> Iterator[BufferedWriter]:
    """A binary file that takes its place when the block ends without an error."""
    try:
        if path.exists() and not path.is_file() and not path.is_dir():  # a pipe or a device: nothing to rename
            with path.open("wb") as file:
                yield file
            return
        partial, held = _create(path)
        try:
            with os.fdopen(held, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
                os.replace(partial, path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
        _flush_folder(path.parent)
    except OSError as problem:
        raise cannot_write(path, problem) from None


@contextmanager
def path_atomic(path: Path) -> Iterator[Path]:
    """A path of the same name for writers that open files themselves; the file or folder takes its place at the end."""
    try:
        folder, held = _create(path, folder=True)
        try:
            yield folder / path.name
            _flush(folder / path.name)
            os.replace(folder / path.name, path)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(held)
        _flush_folder(path.parent)
    except OSError as problem:
        raise cannot_write(path, problem) from None


def _flush(path: Path) -> None:
    """Flush a file, or every file of a folder, to the disk."""
    for file in path.rglob("*") if path.is_dir() else [path]:
        if not file.is_dir():
            with file.open("rb") as opened:
                os.fsync(opened.fileno())


def _create(path: Path, folder: bool = False) -> tuple[Path, int]:
    """A new partial file or folder, locked; another writer may take it for a stale one before the lock is there."""
    _remove_stale(path)
    while True:
        partial = path.with_name(f".{path.name[:200]}.{secrets.token_hex(4)}{PARTIAL}")
        if folder:
            partial.mkdir()
        held = os.open(partial, os.O_RDONLY if folder else os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        if _hold(held, partial):
            return partial, held


def _hold(held: int, partial: Path) -> bool:
    """Lock a partial file; false if it was removed in between."""
    if fcntl is None:
        return True
    fcntl.flock(held, fcntl.LOCK_EX)
    with contextlib.suppress(FileNotFoundError):
        if os.path.samestat(os.fstat(held), partial.stat()):
            return True
    os.close(held)
    return False


def _remove_stale(path: Path) -> None:
    """Remove the partial files that killed writers of this path left."""
    if fcntl is None:
        return
    with os.scandir(path.parent) as entries:
        start = f".{path.name[:200]}."
        stale = [Path(entry) for entry in entries if entry.name.startswith(start) and entry.name.endswith(PARTIAL)]
    for partial in stale:
        with contextlib.suppress(OSError):
            held = os.open(partial, os.O_RDONLY)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(partial) if partial.is_dir() else partial.unlink()
            finally:
                os.close(held)


def _flush_folder(folder: Path) -> None:
    """Flush the new name itself to the disk, where the system can."""
    with contextlib.suppress(OSError):
        held = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(held)
        finally:
            os.close(held)
