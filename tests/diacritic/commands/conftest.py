"""A small recording on disk, made once."""

from pathlib import Path

import pytest

from diacritic.demos.record import record
from diacritic.files.demos import save
from diacritic.tasks.registry import make as make_task


@pytest.fixture(scope="session")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stem of 40 episodes of a short `two-cues`."""
    stem = tmp_path_factory.mktemp("demos") / "short"
    demos, _ = record(make_task("two-cues", gap=1, first_gap=1), 40, seed=2)
    save(demos, stem)
    return stem
