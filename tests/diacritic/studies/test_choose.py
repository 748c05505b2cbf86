"""Studies by name, cells by words, and tiny versions of them."""

import pytest

from certify.errors import UserError
from diacritic.studies.choose import cells_of, studies_named


def test_names_are_known_or_near_ones_are_suggested():
    assert [study.name for study in studies_named(["toys"])] == ["toys"]
    assert len(studies_named([])) > 20
    with pytest.raises(UserError, match="did you mean toys"):
        studies_named(["toy"])


def test_words_choose_cells():
    cells = cells_of(studies_named(["toys", "learning-targets"]), only="gap=20 carousel event-agnostic")
    assert {(cell.task.title, cell.learner, cell.preset) for cell in cells} == {
        ("two-cues gap=20", "event-agnostic", "carousel")
    }
    with pytest.raises(UserError, match="no cell of toys has 'gap=99'"):
        cells_of(studies_named(["toys"]), only="gap=99")
    with pytest.raises(UserError, match="at least 1"):
        cells_of(studies_named(["toys"]), seeds=0)


def test_a_study_that_trains_nothing_says_so():
    with pytest.raises(UserError, match="t0: trains nothing"):
        cells_of(studies_named(["t0"]))


def test_quick_cells_are_tiny_and_have_names_of_their_own():
    usual = cells_of(studies_named(["learning-targets"]))
    quick = cells_of(studies_named(["learning-targets"]), quick=True, seeds=1)
    assert {(cell.steps, cell.seeds, cell.demonstrations) for cell in quick} == {(20, 1, 64)}
    assert all(cell.forecaster in (None, 20) for cell in cells_of(studies_named(["forecaster"]), quick=True))
    later = [cell.after for cell in cells_of(studies_named(["interventions"]), quick=True) if cell.after]
    assert {(cell.steps, cell.demonstrations) for cell in later} == {(20, 64)}
    assert not {cell.name for cell in usual} & {cell.name for cell in quick}
