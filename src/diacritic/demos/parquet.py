"""A parquet file, or a folder of them, as a recording: rows with an episode number, observed and acted columns."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certify.errors import UserError
from certify.optional import import_optional
from diacritic.demos.episodes import as_columns, from_episodes
from diacritic.files.demos import Demos

EPISODE = ("episode_index", "episode", "episode_id")
STEP = ("frame_index", "step", "timestamp", "t")
_REMEDY = "give columns episode_index, observation… or state…, and action…"


def is_parquet(source: str | os.PathLike[str]) -> bool:
    """Whether a path is a parquet file, or a folder that holds some directly."""
    path = Path(source)
    return path.suffix == ".parquet" if path.is_file() else path.is_dir() and bool(list(path.glob("*.parquet")))


def import_parquet(source: str | os.PathLike[str]) -> Demos:
    """Columns whose names begin with obs or state are seen, those with action acted; lists become several columns."""
    parquet, arrow = import_optional("pyarrow.parquet", "sources"), import_optional("pyarrow", "sources")
    path = Path(source)
    files = [path] if path.is_file() else sorted(path.glob("*.parquet"))
    try:
        table = arrow.concat_tables([parquet.read_table(file, partitioning=None) for file in files])
    except (OSError, arrow.ArrowException):
        raise UserError(str(path), "is damaged, not parquet, or of unequal columns; copy it again") from None
    names = table.column_names
    episode = next((name for name in EPISODE if name in names), None)
    seen = [name for name in names if name.lower().startswith(("obs", "state"))]
    acted = [name for name in names if name.lower().startswith("action")]
    if episode is None or not seen or not acted:
        lacking = "episode number" if episode is None else "observed column" if not seen else "acted column"
        raise UserError(str(path), f"has no {lacking}; {_REMEDY}")
    step = next((name for name in STEP if name in names), None)
    numbers = _column(table, episode, path).ravel()
    times = np.arange(len(numbers)) if step is None else _column(table, step, path).ravel()
    order = np.lexsort((times, numbers))
    cuts = np.flatnonzero(np.diff(numbers[order])) + 1
    parts = [
        np.split(np.concatenate([_column(table, name, path) for name in group], 1)[order], cuts)
        for group in (seen, acted)
    ]
    return from_episodes(parts[0], parts[1], task=path.stem)


def _column(table: Any, name: str, path: Path) -> NDArray[Any]:
    try:
        values = np.array(table.column(name).to_pylist())
    except ValueError:
        raise UserError(f"{path}: {name}", "holds lists of unequal lengths; export it again") from None
    return as_columns(values, f"{path}: {name}")
