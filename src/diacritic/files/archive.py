"""Results in few zip files of a bounded size, and out of them again."""

import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from certify.errors import UserError
from diacritic.files.atomic import make_folder, open_atomic, safe_name

LARGEST = 15_000_000  # bytes of one archive
UNPACKED, FILES = 2**33, 100_000  # bytes and files of all archives of a folder


class ResultArchives:
    """Archives in a folder that grow as results come, numbered on after those there; an archive is always whole."""

    def __init__(self, folder: Path, largest: int = LARGEST) -> None:
        self.folder, self.largest = make_folder(folder), largest
        numbers = (_number(path) for path in self.folder.glob("results-*.zip"))
        self.number, self.files = max(numbers, default=0) + 1, list[Path]()

    def add(self, paths: Iterable[Path]) -> None:
        """Files that belong together go into one archive, a new one where the present one would grow too large."""
        more = list(paths)
        if self.files and sum(path.stat().st_size for path in (*self.files, *more)) > self.largest:
            self.number, self.files = self.number + 1, []
        self.files += more
        with open_atomic(self.folder / f"results-{self.number}.zip") as file, zipfile.ZipFile(file, "w") as archive:
            for path in self.files:
                archive.write(path, path.name)


@contextmanager
def extracted(folder: Path) -> Iterator[Path]:
    """The folder itself, or for a while one with what its archives hold."""
    archives = sorted(folder.glob("results-*.zip"), key=lambda path: (_number(path), path.name))
    if not archives:
        yield folder
        return
    with TemporaryDirectory() as name:
        space, count = UNPACKED, FILES
        for path in archives:
            try:
                with zipfile.ZipFile(path) as archive:
                    entries = archive.infolist()
                    space, count = space - sum(entry.file_size for entry in entries), count - len(entries)
                    if space < 0 or count < 0:
                        raise UserError(str(path), f"holds more than {UNPACKED} bytes or {FILES} files; fetch it again")
                    for entry in entries:
                        target = Path(name) / safe_name(entry.filename, str(path))
                        target.write_bytes(archive.read(entry))
            except (zipfile.BadZipFile, OSError, zlib.error, EOFError, NotImplementedError, RuntimeError) as problem:
                reason = f"is not a whole archive ({str(problem)[:100]}); fetch it again"
                raise UserError(str(path), reason) from None
        yield Path(name)


def _number(path: Path) -> int:
    """The number of an archive; 0 for one named otherwise."""
    digits = path.stem.removeprefix("results-")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 10 else 0
