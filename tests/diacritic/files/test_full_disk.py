"""A disk that fills up while a command writes: one line, no partial file, and the older file stays."""

import errno
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow.parquet
import pytest
import torch
from matplotlib.figure import Figure
from report_inputs import make_ledger
from stand_in_task import StandIn

from certify.errors import UserError
from certify.zoo import build
from diacritic.demos.lerobot import export_lerobot
from diacritic.demos.record import record
from diacritic.measure.figure import write_picture
from diacritic.memory import export as memory_export
from diacritic.report import film_files
from diacritic.studies import job_manifest, query
from diacritic.training import train as training
from diacritic.training.cohort import Plan, Run
from diacritic.training.learner import learner
from diacritic.training.preset import preset
from diacritic.training.symbolic import from_model

Patch = pytest.MonkeyPatch
FRAMES = [np.zeros((16, 16, 3), np.uint8)] * 3


def full(*given: Any, **options: Any) -> Any:
    """A writer that leaves the beginning of its file, then finds the disk full."""
    for path in given:
        if isinstance(path, Path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"beginning")
    raise OSError(errno.ENOSPC, "No space left on device")


def picture(folder: Path, patch: Patch) -> None:
    patch.setattr("certify.atomic.os.fsync", full)
    write_picture(Figure(), folder / "old")


def film(folder: Path, patch: Patch) -> None:
    patch.setattr(film_files, "_write_gif", full)
    (folder / "old").rename(folder / "old.gif")
    try:
        film_files.write_film(FRAMES, folder / "old.gif")
    finally:
        (folder / "old.gif").rename(folder / "old")


def parquet(folder: Path, patch: Patch) -> None:
    ledgers = folder.parent / "ledgers"
    ledgers.mkdir()
    make_ledger(ledgers / "a.jsonl")
    opened = query.open_ledgers(ledgers)

    class Full:
        def __enter__(self) -> "Full":
            return self

        def __exit__(self, *_: object) -> None:
            opened.close()

        def execute(self, text: str) -> Any:
            return full(Path(text.split("'")[1]))

    patch.setattr(query, "open_ledgers", lambda _: Full())
    query.export_parquet(ledgers, folder / "old")


def onnx(folder: Path, patch: Patch) -> None:
    patch.setattr(memory_export, "example", lambda _: ())
    patch.setattr(memory_export, "_dynamic", lambda _: {})
    patch.setattr(torch.onnx, "export", lambda *_, **__: SimpleNamespace(save=full))
    carrier = SimpleNamespace(eval=lambda: None)
    memory_export.export_onnx(cast("Any", carrier), folder / "old")


def lerobot(folder: Path, patch: Patch) -> None:
    patch.setattr(pyarrow.parquet, "write_table", full)
    export_lerobot(record(StandIn(), 4, 0)[0], folder / "new")


def metrics(folder: Path, patch: Patch) -> None:
    patch.setattr("certify.atomic.os.fsync", full)
    plan = Plan(learner("plain"), preset("carousel"), (Run(0),), 2)
    training.train(plan, from_model(build("gap", gap1=1, gap2=1)), folder=folder / "run")


def copies(folder: Path, patch: Patch) -> None:
    patch.setattr(shutil, "copyfile", full)
    order = SimpleNamespace(recording="short")
    job_manifest.export([cast("Any", order)], [], folder / "job", folder.parent)


@pytest.mark.parametrize("write", [picture, film, parquet, onnx, lerobot, metrics, copies])
def test_a_full_disk_is_one_line_and_leaves_what_was_there(
    write: Callable[[Path, Patch], None], tmp_path: Path, monkeypatch: Patch
):
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "old").write_bytes(b"older")
    with pytest.raises(UserError, match=r"cannot be written: No space left on device; free some space") as refusal:
        write(folder, monkeypatch)
    assert "\n" not in str(refusal.value)
    assert (folder / "old").read_bytes() == b"older"
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert [path for path in files if "partial" in path.name or path.read_bytes() == b"beginning"] == []
