"""Pages say what ran and what did not, in words and not by leaving blanks."""

from study_rows import run_of

from diacritic.studies.cell import Cell
from diacritic.studies.tasks import task
from reproduction.compare import Comparison, FigureLine, compare
from reproduction.figure import Figure
from reproduction.pages import page
from reproduction.paper import Paper, PaperStudy
from reproduction.verdicts import NO_ESTIMATE, value

PAPER = Paper("ksweep", (4, 8), 0.5, (("gap1", 2.5),))
CELL = Cell("s", task("gap"), "plain", "carousel", "full", 0.03, 6000, PAPER, seeds=2)
STUDY = PaperStudy("s", "The title", "The introduction.", (CELL,), blocks=("ksweep",))


def rows(number: int):
    return [run_of(CELL, seed, rate={"gap1": 2.25}, requirement={"gap1": 2.0}) for seed in range(number)]


def test_a_cell_that_ran_shows_everything_beside_the_paper():
    text = page(compare(STUDY, rows(2)), "s.svg")
    assert "# The title" in text
    assert "![Ours and the paper's counts](s.svg)" in text
    assert "| 2/2 (0.34–1.00) | 4/8 (0.22–0.78) | agrees | 1.00 ❘ 0.50 | 2.25 (2.00) ❘ 2.50 |" in text
    assert "Trained on cpu, torch 9, sources abc." in text
    assert "Of 1 lines: 1 agrees." in text


def test_what_did_not_run_says_so():
    assert "| 1/1 (0.21–1.00) of 2 seeds so far | 4/8 (0.22–0.78) | not run |" in page(compare(STUDY, rows(1)))
    text = page(compare(STUDY, []))
    assert "| not run | 4/8 (0.22–0.78) | not run | – ❘ 0.50 | – ❘ 2.50 |" in text
    assert "None has run." in text


def test_figures_say_whether_they_were_found():
    asked, found = Figure("how many", "ksweep", value([1, 2])), (None, NO_ESTIMATE, value([1, 2]))
    text = page(Comparison(STUDY, (), tuple(FigureLine(asked, ours, asked.verdict(ours)) for ours in found)))
    assert "| how many | not run | 1, 2 | not run |" in text
    assert "| how many | no estimate | 1, 2 | differs |" in text
    assert "| how many | 1, 2 | 1, 2 | agrees |" in text
