"""Nothing of the paper is forgotten: every item, every section, every committed run is answered by one study."""

import tomllib
from collections import Counter
from pathlib import Path

import pytest

from diacritic.files.ledger import read_ledger
from diacritic.studies.recordings import recorded_task
from diacritic.studies.tasks import windows
from diacritic.training.learner import LEARNERS
from diacritic.training.preset import PRESETS
from reproduction import reference
from reproduction.catalogue import CELLS, FIGURES, NOT_RESULTS, STUDIES
from reproduction.paper import RELEASED, as_released, paper_of

RESULTS = Path(__file__).parents[3] / "results"
INVENTORY = reference.FILE.with_name("inventory.toml")


def test_every_item_of_the_inventory_is_answered_once():
    items = {int(number) for number in tomllib.loads(INVENTORY.read_text())}
    assert items == set(range(121, 157))
    assert Counter(number for study in STUDIES.values() for number in study.inventory) == Counter(items)


def test_every_section_of_the_reference_is_answered_once():
    answered = [name for study in STUDIES.values() for name in study.blocks]
    assert Counter([*answered, *NOT_RESULTS]) == Counter(reference.sections())


def test_every_answer_is_declared_where_it_is_given():
    for name, study in STUDIES.items():
        assert study.name == name
        papers = [paper for cell in study.cells if (paper := paper_of(cell))]
        declared = {item.block for item in (*papers, *FIGURES[name])}
        assert declared <= set(reference.sections()), name
        assert {figure.block for figure in FIGURES[name]} <= set(study.blocks), name
        assert all(cell.study == name for cell in study.cells)


def test_every_section_has_a_line():
    told = {paper.block for cell in CELLS if (paper := paper_of(cell))}
    told |= {figure.block for figures in FIGURES.values() for figure in figures}
    answered = {name for study in STUDIES.values() for name in study.blocks}
    assert answered <= told


def test_cells_are_distinct_and_runnable():
    keys = [(cell.study, cell.name, cell.learner, cell.preset, cell.gate) for cell in CELLS]
    assert len(set(keys)) == len(keys)
    for cell in CELLS:
        assert cell.learner in LEARNERS, cell.learner
        assert cell.preset in PRESETS
        if cell.task.recorded:
            assert cell.gate == "task"
            assert recorded_task(cell.task).windows
        else:
            assert windows(cell.task)


def test_the_release_never_stands_without_our_preset_on_symbolic_tasks():
    plain = [cell for cell in CELLS if cell.learner == "plain" and not cell.task.recorded]
    ours = {as_released(cell.task).name for cell in plain if cell.preset == "carousel"}
    theirs = [cell for cell in plain if cell.preset != "carousel"]
    assert {cell.task.name for cell in theirs} <= ours
    assert all(cell.preset == RELEASED[cell.task.name] for cell in theirs)


def test_figures_have_one_source_and_names_of_their_own():
    for name, figures in FIGURES.items():
        names = [figure.name for figure in figures]
        assert len(set(names)) == len(names), name
        for figure in figures:
            assert (figure.measured is None) != (figure.derived is None), figure.name


@pytest.mark.parametrize("name", ["toys", "cue-corridor", "signpost-corridor", "community"])
def test_committed_runs_answer_declared_cells(name: str):
    declared = {(cell.name, cell.learner, cell.preset, cell.steps, cell.gate) for cell in CELLS}
    for row in read_ledger(RESULTS / f"{name}.jsonl"):
        key = tuple(row[field] for field in ("cell", "learner", "preset", "steps", "gate"))
        assert key in declared, key
