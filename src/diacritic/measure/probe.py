"""Leak probes of a recording: whether observations or past actions reveal what must stay hidden, kept in a file."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from certify.errors import UserError
from certify.progress import working
from diacritic.demos.binner import Binner
from diacritic.demos.leaks import HELD_OUT, Cell, failures, leak_table, lines
from diacritic.demos.pixel_probe import pixel_table
from diacritic.files.atomic import read_json, write_json
from diacritic.files.demos import Demos
from diacritic.measure.body import pending, previous_actions
from diacritic.tasks.registry import task_of

FORMAT = "diacritic-probe/1"


@dataclass(frozen=True)
class Probed:
    """What the probes found, by what they read."""

    demos: Demos
    held_out: int
    tables: Mapping[str, list[Cell]]

    @property
    def passed(self) -> bool:
        """Whether everything that must stay hidden does."""
        return not any(failures(cells) for cells in self.tables.values())

    def lines(self) -> list[str]:
        """The report."""
        demos = self.demos
        settings = " ".join(f"{key}={value}" for key, value in demos.parameters.items())
        text = [f"{demos.task} {settings}, {demos.episodes} episodes; * visible, + partly visible, ! unexpected"]
        for name, cells in self.tables.items():
            bad = failures(cells)
            mark = "FAILED" if bad else "ok    "
            text.append(f"{mark}  {name}: {len(cells) - len(bad)} of {len(cells)} as expected")
            text += [f"          {line}" for line in [*lines(cells), *map(_line, bad)]]
        return text

    def save(self, recording: Path) -> Path:
        """STEM.probe.json beside the recording."""
        document: dict[str, Any] = {"format": FORMAT, "demos_sha256": self.demos.digest, "held_out": self.held_out}
        document["probes"] = {
            name: {"passed": not failures(cells), "cells": [cell.to_dict() for cell in cells]}
            for name, cells in self.tables.items()
        }
        path = probe_file(recording)
        write_json(path, document | {"passed": self.passed})
        return path


def probe(demos: Demos, held_out: int | None = None, pixels: bool = True, epochs: int = 30) -> Probed:
    """Probe windows of raw observations, previous actions, and single camera frames where there are any.

    The probes are counted on `held_out` episodes, by default a quarter, at most 128.
    """
    held_out = held_out or min(HELD_OUT, -(-demos.episodes // 4))
    binner = Binner.fit(demos.convention, demos.observations, demos.latents)
    task = task_of(demos)
    with working(f"probing {demos.task}"):
        tables = {"raw observations": leak_table(demos, binner, held_out)}
        tables["previous actions"] = previous_actions(demos.actions, demos.latents, task.windows, pending(task))
        if demos.frames is not None and pixels:
            tables["single frames"] = pixel_table(demos, binner, held_out=held_out, epochs=epochs)
    return Probed(demos, held_out, tables)


def probe_file(recording: Path) -> Path:
    """Where the probes of a recording are kept."""
    stem = recording.name.removesuffix(".json").removesuffix(".npz")
    return recording.with_name(f"{stem}.probe.json")


def saved_probe(recording: Path, digest: str) -> dict[str, Any] | None:
    """What was found in this very recording, if it has been probed."""
    path = probe_file(recording)
    if not path.exists():
        return None
    document = read_json(path, FORMAT, "run `diacritic probe` again")
    if document.get("demos_sha256") != digest:
        raise UserError(str(path), "is of another recording; run `diacritic probe` again")
    return document


def _line(cell: Cell) -> str:
    odds = f"{cell.accuracy:.2f}, chance {cell.chance:.2f}, Holm p {cell.adjusted:.2g}"
    return f"{cell.phase} × {cell.variable} ({cell.probe}): {odds}"
