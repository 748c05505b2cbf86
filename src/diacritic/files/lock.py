"""One runner a folder, and one line for a disk that is full."""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from certify.errors import UserError

FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder alone. The kernel lets go when the process ends, however it ends: no lock outlives its holder."""
    folder.mkdir(parents=True, exist_ok=True)
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        reason = "another runner is at work in this folder; wait for it, or give another folder"
        raise UserError(str(folder), reason) from None
    finally:
        os.close(held)


@contextmanager
def disk_faults() -> Iterator[None]:
    """A full disk as one line; what was written before is whole, since every file gets its name last."""
    try:
        yield
    except OSError as problem:
        if problem.errno not in FULL:
            raise
        where = str(problem.filename or "disk")
        reason = "no space is left; free some and run the same command again, what is finished is kept"
        raise UserError(where, reason) from None
