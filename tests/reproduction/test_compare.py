"""A study beside the paper: verdicts of cells, of figures, and what counts as run."""

from dataclasses import replace

import pytest
from study_rows import run_of

from certify.errors import UserError
from diacritic.studies.cell import Cell
from diacritic.studies.tasks import task
from reproduction.compare import better_of, cell_verdict, compare
from reproduction.paper import Paper, PaperStudy

CELL = Cell("s", task("gap"), "plain", "carousel", "full", 0.03, 6000, Paper("toys.ablation", (0, 8)), seeds=8)


def rows(cell: Cell, passed: int, seeds: int = 8, success: float | None = 0.9, rate: float = 2.0):
    more = {"rate": {"gap1": rate}, "requirement": {"gap1": 2.0}, "success": success}
    return [run_of(cell, seed, sufficient=seed < passed, **more) for seed in range(seeds)]


def test_a_cell_is_judged_by_its_count_once_every_seed_has_run():
    study = PaperStudy("s", "S", "", (CELL,))
    whole = compare(study, rows(CELL, 8))
    assert whole.cells[0].verdict == "better"
    assert whole.cells[0].ours == (8, 8)
    assert whole.cells[0].success == pytest.approx(0.9)
    assert whole.cells[0].rate("gap1") == 2.0
    assert whole.counts == {"agrees": 0, "better": 1, "differs": 0, "not run": 0, "ours alone": 0}
    part = compare(study, rows(CELL, 7, seeds=7))
    assert part.cells[0].verdict == "not run"
    assert part.cells[0].ours == (7, 7)
    assert compare(study, []).cells[0].ours is None


@pytest.mark.parametrize(
    ("paper", "given", "verdict"),
    [
        (None, {}, "ours alone"),
        (Paper("ksweep"), {}, "ours alone"),
        (Paper("ksweep", (8, 8)), {}, "differs"),
        (Paper("ksweep", (1, 8)), {}, "agrees"),
        (Paper("ksweep", success=0.93), {}, "agrees"),
        (Paper("ksweep", success=0.5), {}, "better"),
        (Paper("ksweep", success=0.5), {"success": None}, "not run"),
        (Paper("ksweep", rate=(("gap1", 2.05),)), {"passed": 8}, "agrees"),
        (Paper("ksweep", rate=(("gap1", 2.2),)), {"passed": 8}, "differs"),
        (Paper("ksweep", rate=(("gap1", 2.05),)), {}, "differs"),  # no sufficient seed, hence no rate
        (Paper("table.sysK", rate=(("gap1", 2.05),)), {}, "agrees"),  # there rates are over all seeds
    ],
)
def test_what_the_paper_gives_decides_how_a_cell_is_judged(paper, given, verdict):
    cell = replace(CELL, reference=paper)
    assert cell_verdict(cell, rows(cell, **{"passed": 0, **given})) == verdict


def test_more_passing_seeds_of_a_control_are_not_better():
    control = replace(CELL, learner="inverse-only", reference=Paper("ksweep", (0, 8)))
    assert cell_verdict(control, rows(control, 8)) == "differs"
    assert better_of("sysid-light") is None
    assert better_of("task-informed") == "higher"


def test_an_unknown_study_is_named():
    with pytest.raises(UserError, match="'nothing' is unknown"):
        compare("nothing", [])
