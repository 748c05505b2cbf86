"""The picture shows every cell that ran and that the paper counts, and no other; equal results give equal files."""

from dataclasses import replace
from xml.etree import ElementTree

from study_rows import run_of

from diacritic.studies.cell import Cell
from diacritic.studies.tasks import task
from reproduction.chart import OURS, PAPER, chart
from reproduction.compare import compare
from reproduction.paper import Paper, PaperStudy

CELL = Cell("s", task("gap"), "plain", "carousel", "full", 0.03, 6000, Paper("ksweep", (4, 8)), seeds=1)
STUDY = PaperStudy("s", "S", "", (CELL, replace(CELL, beta=0.5), replace(CELL, beta=0.7, reference=None)))


def test_only_what_ran_is_drawn_in_two_colours():
    rows = [run_of(STUDY.cells[0]), run_of(STUDY.cells[2])]
    text = chart(compare(STUDY, rows))
    assert text is not None
    ElementTree.fromstring(text)
    assert CELL.name in text
    assert STUDY.cells[1].name not in text
    assert STUDY.cells[2].name not in text
    assert OURS in text
    assert PAPER in text
    assert chart(compare(STUDY, rows)) == text


def test_without_runs_there_is_no_picture():
    assert chart(compare(STUDY, [])) is None
