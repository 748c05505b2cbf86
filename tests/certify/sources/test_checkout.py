"""A module of a checkout is loaded alone, with what it imports beside itself."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from certify.sources.checkout import load


@pytest.fixture
def suite(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "some_suite" / "tasks"
    folder.mkdir(parents=True)
    for package in (folder.parent, folder):
        (package / "__init__.py").write_text("raise RuntimeError('needs every simulator')")
    (folder / "base.py").write_text("ANSWER = 42")
    (folder / "one.py").write_text("from .base import ANSWER")
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("some_suite")]:
        del sys.modules[name]


def test_package_files_are_not_run(suite: Path) -> None:
    assert load(suite, "some_suite.tasks.one").ANSWER == 42
    assert load(suite, "some_suite.tasks.base").ANSWER == 42
    with pytest.raises(ModuleNotFoundError, match=r"some_suite\.tasks\.two"):
        load(suite, "some_suite.tasks.two")
