"""The notebooks run from top to bottom. They are kept without outputs, which would change with every machine: their
own assertions hold what they say, and a test is where they are executed."""

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read(path: Path) -> Any:
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    return book


def execute(book: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run every cell in a kernel of its own whose working directory is `folder`."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("IPYTHONDIR", str(folder / "ipython"))  # leave the home folder alone
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    client = NotebookClient(book, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}})
    return client.execute()


def test_there_are_two():
    assert len(NOTEBOOKS) == 2


@each_notebook
def test_every_cell_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    done = execute(read(path), tmp_path, monkeypatch)
    cells = [cell for cell in done.cells if cell.cell_type == "code"]
    shown = [kind for cell in cells for output in cell.outputs for kind in output.get("data", ())]
    assert sum(kind.startswith("image/") for kind in shown) >= 2
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))


@each_notebook
def test_no_output_is_kept(path: Path):
    for cell in read(path).cells:
        assert cell.cell_type == "markdown" or (cell.outputs, cell.execution_count) == ([], None)


@each_notebook
def test_links_lead_somewhere(path: Path):
    text = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")
    targets = [target for target in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in target]
    assert [target for target in targets if not (path.parent / target).exists()] == []


def test_a_failing_cell_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("assert 1 == 2, 'no such bit'")])
    with pytest.raises(CellExecutionError, match="no such bit"):
        execute(book, tmp_path, monkeypatch)
