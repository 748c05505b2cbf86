"""Results in few files of a bounded size, for ways home that take no more; each bundle is a plain zip."""

import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from certify.errors import UserError

LARGEST = 15_000_000  # bytes of one bundle


class Bundles:
    """Bundles in a folder that grow as results come; a bundle is always whole."""

    def __init__(self, folder: Path, largest: int = LARGEST) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.largest = folder, largest
        self.number, self.files = 1, list[Path]()

    def add(self, paths: Iterable[Path]) -> None:
        """Files that belong together go into one bundle, a new one where the present one would grow too large."""
        more = list(paths)
        if self.files and sum(path.stat().st_size for path in (*self.files, *more)) > self.largest:
            self.number, self.files = self.number + 1, []
        self.files += more
        final = self.folder / f"results-{self.number}.zip"
        partial = final.with_name(f"{final.name}.partial")
        with zipfile.ZipFile(partial, "w") as bundle:
            for path in self.files:
                bundle.write(path, path.name)
        partial.replace(final)


@contextmanager
def unbundled(folder: Path) -> Iterator[Path]:
    """The folder itself, or for a while one with what its bundles hold."""
    bundles = sorted(folder.glob("results-*.zip"))
    if not bundles:
        yield folder
        return
    with TemporaryDirectory() as name:
        for path in bundles:
            try:
                with zipfile.ZipFile(path) as bundle:
                    bundle.extractall(name)
            except (zipfile.BadZipFile, OSError) as problem:
                raise UserError(str(path), f"is no whole bundle ({problem}); fetch it again") from None
        yield Path(name)
