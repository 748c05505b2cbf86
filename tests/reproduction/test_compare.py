"""A study beside the paper: verdicts of cells, of figures, and what counts as run."""

from dataclasses import replace

import pytest
from study_rows import run_of

from certify.errors import UserError
from diacritic.studies.cell import Cell
from diacritic.studies.tasks import task
from reproduction.compare import better_of, compare
from reproduction.paper import Paper, PaperStudy

CELL = Cell("s", task("gap"), "plain", "carousel", "full", 0.03, 6000, Paper("toys.ablation", (0, 8)), seeds=8)


def rows(cell: Cell, passed: int, seeds: int = 8, success: float | None = 0.9, rate: float = 2.0, **more):
    given = {"rate": {"gap1": rate}, "requirement": {"gap1": 2.0}, "success": success, **more}
    return [run_of(cell, seed, sufficient=seed < passed, **given) for seed in range(seeds)]


def verdict(cell: Cell, *given, **more) -> str:
    (line,) = compare(PaperStudy("s", "S", "", (cell,)), rows(cell, *given, **more)).cells
    return str(line.verdict)


def test_a_cell_is_judged_once_every_seed_has_run():
    study = PaperStudy("s", "S", "", (CELL,))
    whole = compare(study, rows(CELL, 8))
    assert str(whole.cells[0].verdict) == "better"
    assert whole.cells[0].ours == (8, 8)
    assert whole.cells[0].success == pytest.approx(0.9)
    assert whole.cells[0].rate("gap1") == 2.0
    assert {kind: count for kind, count in whole.counts.items() if count} == {"better": 1}
    part = compare(study, rows(CELL, 7, seeds=7))
    assert part.cells[0].verdict.kind == "not run"
    assert part.cells[0].ours == (7, 7)
    assert compare(study, []).cells[0].ours is None


@pytest.mark.parametrize(
    ("paper", "given", "said"),
    [
        (None, {}, "not in the paper"),
        (Paper("ksweep"), {}, "not in the paper"),
        (Paper("ksweep", (8, 8)), {}, "differs in count"),
        (Paper("ksweep", (1, 8)), {}, "agrees"),
        (Paper("ksweep", (3, 8)), {}, "no difference shown (n=8)"),
        (Paper("ksweep", success=0.99), {}, "agrees"),
        (Paper("ksweep", success=0.5), {}, "differs in success (+0.40)"),
        (Paper("ksweep", success=0.5), {"success": None}, "no difference shown (n=8)"),
        (Paper("ksweep", (8, 8), 0.5, (("gap1", 2.05),)), {"passed": 8}, "differs in success (+0.40)"),
        (Paper("ksweep", (8, 8), 0.9, (("gap1", 2.2),)), {"passed": 8}, "differs in rate in gap1 (-0.20)"),
        (Paper("ksweep", (0, 8), 0.9, (("gap1", 2.05),)), {"passed": 8}, "better"),
        (Paper("ksweep", (0, 8), 0.9, (("gap1", 3.0),)), {"passed": 8}, "differs in rate in gap1 (-1.00)"),
        (Paper("ksweep", rate=(("gap1", 2.05),)), {}, "no difference shown (n=8)"),  # no sufficient seed, hence no rate
        (Paper("table.sysK", rate=(("gap1", 2.05),)), {}, "agrees"),  # there rates are over all seeds
        (Paper("ksweep", (0, 8)), {"diverged": True}, "differs in runs that diverged (8 of 8)"),
    ],
)
def test_a_cell_agrees_only_if_neither_count_nor_rate_nor_success_differs(paper, given, said):
    cell = replace(CELL, reference=paper)
    assert verdict(cell, **{"passed": 0, **given}) == said


def test_all_recorded_episodes_decide_as_in_the_paper():
    cell = replace(CELL, reference=Paper("ksweep", (8, 8), rate=(("gap1", 1.0),)))
    assert verdict(cell, 0, recorded_sufficient=True, recorded_rate={"gap1": 1.0}) == "agrees"


def test_better_must_survive_the_other_contrasts_of_its_table():
    weak = replace(CELL, reference=Paper("ksweep", (3, 8)))  # p = 0.026
    others = [replace(CELL, beta=beta, reference=Paper("ksweep", (8, 8))) for beta in (0.1, 0.2)]
    study = PaperStudy("s", "S", "", (weak, *others))
    line, *_ = compare(study, [row for cell in study.cells for row in rows(cell, 8)]).cells
    assert line.verdict.p is not None
    assert (line.verdict.p.raw, line.verdict.p.adjusted) == pytest.approx((0.0256, 0.0769), abs=1e-4)
    assert str(line.verdict) == "no difference shown (n=8)"
    assert verdict(weak, 8) == "better"


def test_more_passing_seeds_of_a_control_are_not_better():
    control = replace(CELL, learner="inverse-only", reference=Paper("ksweep", (0, 8)))
    assert verdict(control, 8) == "differs in count"
    assert better_of("sysid-light") is None
    assert better_of("task-informed") == "higher"


def test_runs_of_the_release_widen_what_the_paper_says():
    paper = Paper("table.generic", (7, 8), 0.87, (("gap1", 2.0), ("gap2", 1.26)))
    cell = Cell("s", task("two-cues", gap=10), "event-agnostic", "release", "task", 1e-3, 10_000, paper, 448)
    bits = {"gap1": 2.0, "gap2": 1.7}  # one run of the release has 1.73
    assert verdict(cell, 7, rate=2.0, recorded_rate=bits) == "agrees"
    assert verdict(cell, 7, rate=2.0, recorded_rate=bits | {"gap2": 1.8}) == "differs in rate in gap2 (+0.54)"


def test_an_unknown_study_is_named():
    with pytest.raises(UserError, match="'nothing' is unknown"):
        compare("nothing", [])
