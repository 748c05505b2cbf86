"""Labels show what differs, the caption says what does not."""

from dataclasses import replace

from diacritic.studies.cell import Cell
from diacritic.studies.tasks import task
from reproduction.captions import Labels, short_names
from reproduction.paper import Paper

CELL = Cell(
    "s", task("gap"), "plain", "carousel", "full", 0.03, 6000, Paper("ksweep", (4, 8)), demonstrations=512, seeds=1
)


def test_what_all_share_leaves_the_labels():
    other = replace(CELL, beta=0.5, learner="sysid")
    labels = Labels.of([CELL, other])
    assert labels.parts(CELL) == ["gap β=0.03", "plain"]
    assert labels.parts(other) == ["gap β=0.5", "sysid"]
    assert labels.caption == "All cells: N=512, preset carousel."


def test_a_single_cell_keeps_its_whole_label():
    labels = Labels.of([CELL])
    assert labels.parts(CELL) == [CELL.name, "plain", "carousel"]
    assert labels.caption == ""


def test_cells_of_a_task_are_named_by_what_differs_among_them():
    short, said = short_names(["a x=1 n=5", "a x=2 n=5", "b y=1 n=5", "b y=2 n=5", "c n=5"])
    assert list(short.values()) == ["a x=1", "a x=2", "b y=1", "b y=2", "c n=5"]
    assert said == "Settings that are not shown: a, b: n=5."
    assert short_names(["a x=1"]) == ({"a x=1": "a x=1"}, "")
