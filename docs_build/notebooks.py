"""`python -m docs_build.notebooks`: run the notebooks from top to bottom and keep their outputs."""

import os
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))
_QUIET = {"OMP_NUM_THREADS": "1", "MPLBACKEND": "module://matplotlib_inline.backend_inline"}


def read(path: Path) -> Any:
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    return book


def execute(book: Any, folder: Path) -> Any:
    """Run every cell in a kernel of its own whose working directory is `folder`; progress lines are left out."""
    settings = _QUIET | {"IPYTHONDIR": str(folder / "ipython")}  # leave the home folder alone
    client = NotebookClient(book, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(folder)}})
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        done = client.execute()
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
    for cell in done.cells:
        cell.metadata.pop("execution", None)  # times of day
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    return done


def main() -> None:
    for path in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as folder:
            done = execute(read(path), Path(folder))
        nbformat.write(done, path)
        print(path.name, flush=True)


if __name__ == "__main__":
    main()
