"""Runs as somebody names them: a folder, several, or what training gave back."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from diacritic.files.run import find_runs


class HasPaths(Protocol):
    """What training gives back knows where its runs are."""

    @property
    def paths(self) -> Sequence[Path]: ...


RunsLike = HasPaths | Path | str | Iterable[Path | str]


def run_paths(runs: RunsLike) -> list[Path]:
    """The folder of every run; each name is that of a run, or of a folder of runs."""
    if isinstance(runs, str | Path):
        return find_runs([Path(runs)])
    given = runs if isinstance(runs, Iterable) and not hasattr(runs, "paths") else getattr(runs, "paths")  # noqa: B009
    return find_runs([Path(path) for path in given])
