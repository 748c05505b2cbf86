"""The arena: what is declared, memories from a file, the matrix from rows."""

from pathlib import Path

import pytest

from certify import UserError
from diacritic.memory.protocol import MEMORIES
from diacritic.studies import arena
from diacritic.studies.arena_run import ArenaSettings, run_cells
from diacritic.studies.results import Results
from diacritic.studies.tasks import task
from diacritic.training.learner import LEARNERS

OWN = (Path(__file__).parents[2] / "leaky_memory.py").read_text(encoding="utf-8").replace('"leaky"', '"leaky own"', 1)


def test_every_entrant_is_a_learner_with_a_memory() -> None:
    declared = arena.cells()
    assert len(declared) == len(arena.TASKS) * len(arena.ENTRANTS)
    assert all(cell.learner in LEARNERS for cell in declared)
    assert not {task.title for task in arena.DEVELOPMENT} & {task.title for task in arena.TASKS}
    with pytest.raises(UserError, match="no memory is called 'elephant'"):
        arena.cells(["elephant"])


def test_a_memory_of_ones_own_enters_and_gets_its_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arena, "TASKS", (task("passive-t-maze", L=2),))
    file = tmp_path / "mine.py"
    file.write_text(OWN, encoding="utf-8")
    try:
        assert arena.enter(file) == ["leaky own"]
        names = ["frames 4", "frames 1", "carousel", "leaky own"]
        run_cells(arena.cells(names, steps=60, seeds=2), ArenaSettings(tmp_path), lambda line: None)
        [scores] = arena.matrix(Results.read(tmp_path), names, 60, 2).values()
        whole, present, coded, own = (score for score in scores if score is not None)
        assert (whole.text, whole.bits) == ("2/2", None)  # the whole episode is in its stack
        assert (present.text, present.success) == ("0/2", 0.5)  # the cue is not
        assert own.seeds == coded.seeds == 2
        assert arena.matrix(Results.read(tmp_path), ["GRU"], 60, 2) == {arena.TASKS[0]: [None]}
    finally:
        MEMORIES.pop("leaky own", None)


def test_files_that_enter_nothing_are_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a file"):
        arena.enter(tmp_path / "none.py")
    for text, said in (("x = 1\n", "registers no memory"), ("1 / 0\n", "ends with ZeroDivisionError")):
        file = tmp_path / "odd.py"
        file.write_text(text)
        with pytest.raises(UserError, match=said):
            arena.enter(file)
