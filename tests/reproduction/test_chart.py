"""The pictures show every cell that ran and every verdict; equal results give equal files."""

from dataclasses import replace
from xml.etree import ElementTree

from study_rows import run_of

from diacritic.studies.cell import Cell
from diacritic.studies.tasks import task
from reproduction.chart import OURS, PAPER, chart, verdict_bars
from reproduction.compare import compare
from reproduction.paper import Paper, PaperStudy
from reproduction.verdicts import KINDS

CELL = Cell("s", task("gap"), "plain", "carousel", "full", 0.03, 6000, Paper("ksweep", (4, 8)), seeds=1)
STUDY = PaperStudy("s", "S", "", (CELL, replace(CELL, beta=0.5), replace(CELL, beta=0.7, reference=None)))


def test_only_what_ran_is_drawn_in_two_colours():
    rows = [run_of(STUDY.cells[0]), run_of(STUDY.cells[2])]
    text = chart(compare(STUDY, rows))
    assert text is not None
    ElementTree.fromstring(text)
    for cell, shown in zip(STUDY.cells, (True, False, True), strict=True):
        assert (f"β={cell.beta}<" in text) == shown
    assert "carousel" not in text  # what all share is in the caption
    assert OURS in text
    assert PAPER in text
    assert chart(compare(STUDY, rows)) == text


def test_however_many_cells_ran_all_are_drawn():
    cells = tuple(replace(CELL, beta=number / 1000) for number in range(1, 121))
    text = chart(compare(PaperStudy("s", "S", "", cells), [run_of(cell) for cell in cells]))
    assert text is not None
    assert all(f"β={cell.beta}<" in text for cell in cells)


def test_without_runs_there_is_no_picture():
    assert chart(compare(STUDY, [])) is None


def test_bars_name_every_study_and_verdict():
    text = verdict_bars([compare(STUDY, [])])
    ElementTree.fromstring(text)
    assert all(f"{kind}</text>" in text for kind in KINDS)
    assert f"{STUDY.title}</text>" in text
