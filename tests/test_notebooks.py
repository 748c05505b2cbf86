"""The notebooks run from top to bottom, and are kept with the outputs that such a run gives. Their own assertions hold
what they say; of the outputs, which differ a little from machine to machine, the kinds are compared."""

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError

from docs_build.notebooks import NOTEBOOKS, execute, read

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def outputs(book: Any) -> list[tuple[int, set[str]]]:
    """Of every code cell its number and the kinds of what it shows; a stream may come in several pieces."""
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    kinds = [{kind for output in cell.outputs for kind in output.get("data", [output.output_type])} for cell in cells]
    return [(cell.execution_count, shown) for cell, shown in zip(cells, kinds, strict=True)]


def test_there_are_two():
    assert len(NOTEBOOKS) == 2


@each_notebook
def test_every_cell_runs_and_shows_what_is_kept(path: Path, tmp_path: Path):
    kept = outputs(read(path))
    done = outputs(execute(read(path), tmp_path))
    assert sum(kind == "image/png" or kind == "image/svg+xml" for _, kinds in done for kind in kinds) >= 2
    assert [number for number, _ in done] == list(range(1, len(done) + 1))
    assert done == kept, f"{path.name}: run python -m docs_build.notebooks"


@each_notebook
def test_links_lead_somewhere(path: Path):
    text = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")
    targets = [target for target in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in target]
    assert [target for target in targets if not (path.parent / target).exists()] == []


def test_a_failing_cell_fails(tmp_path: Path):
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("assert 1 == 2, 'no such bit'")])
    with pytest.raises(CellExecutionError, match="no such bit"):
        execute(book, tmp_path)
