"""What a line that differs says of itself, and what one that was not run would cost."""

from dataclasses import replace

import pytest
from study_rows import run_of

from diacritic.studies.cell import Cell
from diacritic.studies.results import Results
from diacritic.studies.tasks import task
from reproduction.compare import FigureLine, compare
from reproduction.derive import tally
from reproduction.figure import Figure
from reproduction.paper import Paper, PaperStudy
from reproduction.verdicts import Count
from reproduction.why import UNEXPLAINED, Costs, camera_seconds, why_cell, why_figure

PAPER = Paper("ksweep", (8, 8), 0.9, (("gap2", 1.1),))
CELL = Cell("s", task("two-cues", gap=6), "plain", "carousel", "task", 1e-3, 10_000, PAPER, 448)
BEFORE = {"device": "GPU", "code_version": "memory 2, training 2"}
UNSCORED = {"sufficient": False, "scores": {"gap1": {}}}
LOST = {"gap1": {"S_Gamma": 1.0, "S_G": None}, "gap2": {"S_Gamma": 0.4, "S_G": 1.0}}


def reason(**more) -> str:
    given = {"rate": {"gap2": 2.0}, "requirement": {"gap2": 1.0}, "scores": LOST, "slot": 0.5, **more}
    (line,) = compare(PaperStudy("s", "S", "", (CELL,)), [run_of(CELL, seed, **given) for seed in range(8)]).cells
    assert line.verdict.kind == "differs"
    return why_cell(line)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"success": 0.9}, "beyond the 1.00 bit that gap2 needs, our code holds +1.00, the paper's +0.10"),
        ({"success": 0.9, "sufficient": False}, "of 8 failing seeds a class is lost in gap2 in 8"),
        (
            {"success": 0.9, "variation_profile": [0.0, 0.5, 0.01, 0.2], **UNSCORED},
            "of 8 failing seeds actions are not the expert's at step 2 in 8, 4 in 8",
        ),
        ({"success": 0.2, "rate": {"gap2": 1.1}}, "right slot 0.50"),
        ({"success": 0.9, "rate": {"gap2": 1.1}, "diverged": True}, "not finite"),
        ({"success": 0.9, "rate": {"gap2": 1.1}, "diverged": True, **BEFORE}, "shared a workspace"),
    ],
)
def test_a_cell_that_differs_says_what_was_measured(more, said):
    assert said in reason(**more)


def test_a_figure_without_a_reason_is_unexplained():
    figure = Figure("of nobody", "ksweep", Count(1, 1), derived=lambda results: Count(0, 1))
    assert why_figure("t0", FigureLine(figure, Count(0, 1))) == UNEXPLAINED


def test_missing_runs_cost_what_runs_like_them_took():
    row = run_of(CELL, 0, task="two-cues gap=6", seconds=3.0, profile=[], forecaster_seconds=None) | {"device": "GPU"}
    costs = Costs(Results({"s": [row]}))
    assert costs.told([CELL]) == "7 runs, about 0.3 GPU min"
    assert costs.told([replace(CELL, steps=20_000, learner="sysid", seeds=4)]) == "4 runs, about 0.4 GPU min"
    camera = replace(CELL, task=task("two-cues", gap=6, pixels=True))
    told = costs.told([camera])
    hours = camera_seconds() * camera.steps * 8 / 3600
    assert told == f"8 runs with a camera, about {hours:.1f} GPU h by a trial of 200 updates"
    figure = Figure("how many", "ksweep", Count(1, 1), derived=tally([CELL]))
    assert costs.of_figure(FigureLine(figure, None), "s") == "7 runs, about 0.3 GPU min"
