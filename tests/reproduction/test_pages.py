"""Pages say what ran and what did not, in words and not by leaving blanks."""

from study_rows import run_of

from diacritic.studies.cell import Cell
from diacritic.studies.results import Results
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


def shown(given, chart: str | None = None) -> str:
    results = Results({"s": given})
    return page(compare(STUDY, results), results, chart)


def test_a_cell_that_ran_shows_everything_beside_the_paper():
    text = shown(rows(2), "s.svg")
    assert "# The title" in text
    assert "[![Ours and the paper's](s.svg)](s.svg)" in text
    assert "<summary>The table: 1 cells, 1 of them ran</summary>" in text
    assert (
        "| 2/2 (0.34–1.00); TV < 0.05: at most 2/2 | 4/8 (0.22–0.78) | 0.47, 0.47 | differs in rate in gap1 (-0.25), "
        "success (+0.50) |" in text
    )
    assert "Trained on cpu, torch 9, sources abc." in text
    assert "Of 1 lines: 1 differs." in text


def test_gap_toys_show_the_criterion_of_the_release_beside_our_gate():
    near, far, open_ = {"variation_profile": [0.5, 0.049]}, {"variation_profile": [0.0, 0.05]}, {}
    for given, said in (
        ([near, far], "1/2"),
        ([near, open_], "1 to 2/2"),
        ([far, open_], "at most 1/2"),
        ([far, far], "0/2"),
    ):
        text = shown([run_of(CELL, seed, **more) for seed, more in enumerate(given)])
        assert f"| 2/2 (0.34–1.00); TV < 0.05: {said} |" in text
        assert "*TV < 0.05* counts as the authors' release does" in text


def test_what_did_not_run_says_so():
    part = "| 1/1 (0.21–1.00) of 2 seeds so far; TV < 0.05: at most 1/1 | 4/8 (0.22–0.78) | not run |"
    assert f"{part} 1 runs, about 0.0 GPU min |" in shown(rows(1))
    text = shown([])
    assert "| not run | 4/8 (0.22–0.78) | not run | 2 runs, about 0.0 GPU min | – ❘ 0.50 | – ❘ 2.50 |" in text
    assert "None has run." in text


def test_figures_say_whether_they_were_found():
    asked, values = Figure("how many", "ksweep", value([1, 2])), (None, NO_ESTIMATE, value([1, 2]))
    text = page(
        Comparison(STUDY, (), tuple(FigureLine(asked, ours, asked.verdict(ours)) for ours in values)), Results({})
    )
    assert "| how many | not run | 1, 2 | not run | `python -m reproduction figures-measure s` |" in text
    assert "| how many | no estimate | 1, 2 | differs in value | unexplained |" in text
    assert "| how many | 1, 2 | 1, 2 | agrees | – |" in text
