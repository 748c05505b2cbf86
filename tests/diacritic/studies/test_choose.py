"""Studies of a Python file by name, cells by words, and tiny versions of them."""

from dataclasses import replace
from pathlib import Path

import pytest
from own_study import ARM, BY_NAME, FILE, NOTHING, TOYS

from certify.errors import UserError
from diacritic.studies.choose import cells_of, load_studies, studies_named


def test_a_file_declares_one_study_or_several(tmp_path: Path):
    assert list(load_studies(FILE).values()) == list(BY_NAME.values())
    one = tmp_path / "one.py"
    one.write_text("from own_study import TOYS as STUDY\n")
    assert load_studies(one) == {"toys": TOYS}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "declares no study; assign a Study to STUDY"),
        ("STUDY = 3", "declares no study"),
        ("STUDIES = []", "declares no study"),
        ("STUDY =", "ends with SyntaxError"),
        ("raise RuntimeError('a\\nb')", "ends with RuntimeError: a"),
        ("from diacritic.studies import Study\nSTUDY = Study('../x', 'X')", "'../x' cannot name a file"),
    ],
)
def test_a_file_that_declares_none_is_one_line(text: str, told: str, tmp_path: Path):
    file = tmp_path / "study.py"
    file.write_text(text)
    with pytest.raises(UserError, match=told) as refused:
        load_studies(file)
    assert len(str(refused.value).splitlines()) == 1


def test_without_a_file_it_is_said_how():
    with pytest.raises(UserError, match="--studies: give a Python file"):
        load_studies(None)
    with pytest.raises(UserError, match="is not a file"):
        load_studies(Path("nowhere.py"))


def test_names_are_known_or_near_ones_are_suggested():
    assert studies_named(["toys"], BY_NAME) == [TOYS]
    assert studies_named([], BY_NAME) == list(BY_NAME.values())
    with pytest.raises(UserError, match="did you mean toys"):
        studies_named(["toy"], BY_NAME)


def test_words_choose_cells():
    cells = cells_of([TOYS, ARM], only="gap=20 carousel event-agnostic")
    assert [(cell.task.title, cell.learner) for cell in cells] == [("two-cues gap=20", "event-agnostic")]
    either = cells_of([TOYS, ARM], only="gap=20 carousel event-agnostic, gap=99")
    assert either == cells
    with pytest.raises(UserError, match="no cell of toys has 'gap=99'"):
        cells_of([TOYS], only="gap=99")
    with pytest.raises(UserError, match="--seeds: must be at least 1"):
        cells_of([TOYS], seeds=0)


def test_a_study_that_trains_nothing_says_so():
    with pytest.raises(UserError, match="nothing: trains nothing"):
        cells_of([NOTHING])


def test_quick_cells_are_tiny_and_have_names_of_their_own():
    quick = cells_of([ARM], quick=True, seeds=1)
    assert {(cell.steps, cell.seeds, cell.demonstrations) for cell in quick} == {(20, 1, 64)}
    assert not {cell.name for cell in ARM.cells} & {cell.name for cell in quick}
    first = ARM.cells[0]
    later = replace(ARM, cells=(replace(first, forecaster=100, after=first),))
    (cell,) = cells_of([later], quick=True)
    assert cell.forecaster == 20
    assert cell.after is not None
    assert (cell.after.steps, cell.after.demonstrations) == (20, 64)
