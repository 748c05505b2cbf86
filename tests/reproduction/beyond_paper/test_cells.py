"""The cells past the paper are declared once, with the settings of the catalogue."""

from dataclasses import replace

from diacritic.studies.cell import Cell
from diacritic.studies.tasks import task
from reproduction.beyond_paper.cells import CELLS, FAR, FORGETFUL, FORGETTING, NAME, kind
from reproduction.catalogue import CELLS as DECLARED
from reproduction.paper import RELEASED, as_released


def test_a_cell_that_the_catalogue_has_too_has_its_settings() -> None:
    digests: dict[object, set[str]] = {}
    for cell in DECLARED:
        if cell.study != NAME:
            digests.setdefault(_place(cell), set()).add(cell.digest)
    shared = [cell for cell in CELLS if _place(cell) in digests]
    assert all(cell.digest in digests[_place(cell)] for cell in shared)
    assert {cell.task.name for cell in shared} == {cell.task.name for cell in CELLS}


def _place(cell: Cell) -> object:
    return cell.task, cell.learner, cell.preset, cell.codes, cell.demonstrations


def test_every_task_has_three_learners_but_the_longest_have_none_of_the_release() -> None:
    assert len({(cell.name, cell.learner, cell.preset) for cell in CELLS}) == len(CELLS)
    for name in {cell.name for cell in CELLS if cell.preset == "carousel"}:
        mine = [cell for cell in CELLS if cell.name == name]
        far = FAR in dict(mine[0].task.parameters).values()
        release = RELEASED.get(mine[0].task.name, "release")
        form = replace(mine[0], task=as_released(mine[0].task), learner="plain", preset=release)
        assert (form in CELLS) != far
        assert [cell.preset for cell in mine if cell.learner.startswith("event-agnostic")] == ["carousel"]
        assert {cell.seeds for cell in mine} == {8}


def test_what_forgets_is_a_plain_cell_with_the_same_settings() -> None:
    forgetful = [cell for cell in CELLS if cell.learner == FORGETTING]
    assert len(forgetful) == len(FORGETFUL)
    assert all(replace(cell, learner="plain") in CELLS for cell in forgetful)


def test_kinds_follow_the_rules() -> None:
    assert kind(task("two-cues", gap=6)) == kind(task("readout-3", modes=32)) == "development"
    assert kind(task("memory-chain", bits=3, delay=100)) == kind(task("two-cues", gap=20)) == "seen"
    assert kind(task("cue-corridor", R=4, L=80)) == "held-out, run before"
    assert kind(task("two-cues", classes=4, gap=6)) == kind(task("memory-chain", bits=1, delay=FAR)) == "held-out"
