"""`diacritic probe`: what recorded observations and actions tell of what must stay hidden."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from certify.errors import UserError
from certify.progress import working
from diacritic.commands.parameters import remedies

if TYPE_CHECKING:
    from diacritic.demos.leaks import Cell
    from diacritic.files.demos import Demos

FORMAT = "diacritic-probe/1"


@dataclass(frozen=True)
class Probe:
    """Probe recordings for leaks, and write STEM.probe.json beside each; the exit status is 1 where one is found."""

    demos: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Recordings, by their path with or without suffix."""
    held_out: int | None = None
    """Episodes on which the probes are counted; by default a quarter, at most 128."""
    pixels: bool = True
    """Where there are camera frames, train a small network on single frames, too."""
    epochs: int = 30
    """How long that network learns."""

    def run(self) -> int:
        if not self.demos:
            raise UserError("probe", "give at least one recording")
        with remedies():
            from diacritic.files.demos import load

            clean = [self._probe(path, load(path)) for path in self.demos]
        return 0 if all(clean) else 1

    def _probe(self, path: Path, demos: "Demos") -> bool:
        """Windows of raw observations, previous actions, and single frames; whether all are as they must be."""
        from diacritic.demos.binner import Binner
        from diacritic.demos.leaks import HELD_OUT, failures, leak_table, lines
        from diacritic.demos.pixel_probe import pixel_table
        from diacritic.files.atomic import write_text

        held_out = self.held_out or min(HELD_OUT, -(-demos.episodes // 4))
        binner = Binner.fit(demos.convention, demos.observations, demos.latents)
        with working(f"probing {demos.task}"):
            tables = {"raw observations": leak_table(demos, binner, held_out)}
            tables["previous actions"] = _actions(demos)
            if demos.frames is not None and self.pixels:
                tables["single frames"] = pixel_table(demos, binner, held_out=held_out, epochs=self.epochs)
        settings = " ".join(f"{key}={value}" for key, value in demos.parameters.items())
        print(f"{path}: {demos.task} {settings}, {demos.episodes} episodes; * seen, + seen in part, ! wrong")
        document: dict[str, Any] = {"format": FORMAT, "demos_sha256": demos.digest, "held_out": held_out, "probes": {}}
        clean = True
        for name, cells in tables.items():
            bad = failures(cells)
            clean &= not bad
            print(
                f"{'ok    ' if not bad else 'FAILED'}  {name}: {len(cells) - len(bad)} of {len(cells)} as they must be"
            )
            print("\n".join(f"          {line}" for line in [*lines(cells), *map(_told, bad)]))
            document["probes"][name] = {"passed": not bad, "cells": [cell.to_dict() for cell in cells]}
        write_text(probe_file(path), json.dumps(document | {"passed": clean}, indent=1) + "\n")
        return clean


def probe_file(recording: Path) -> Path:
    """Where the probes of a recording are kept."""
    stem = recording.name.removesuffix(".json").removesuffix(".npz")
    return recording.with_name(f"{stem}.probe.json")


def kept_probe(recording: Path, digest: str) -> dict[str, Any] | None:
    """What was found in this very recording, if it has been probed."""
    from diacritic.files.atomic import read_json

    path = probe_file(recording)
    if not path.exists():
        return None
    document = read_json(path, FORMAT, "run `diacritic probe` again")
    if document.get("demos_sha256") != digest:
        raise UserError(str(path), "is of another recording; run `diacritic probe` again")
    return document


def _actions(demos: "Demos") -> "list[Cell]":
    """Classes that are still to be decided on must not be told by the expert's last actions."""
    from diacritic.measure.body import pending, previous_actions
    from diacritic.tasks.registry import task_of

    task = task_of(demos)
    return previous_actions(demos.actions, demos.latents, task.windows, pending(task))


def _told(cell: "Cell") -> str:
    said = f"{cell.phase} × {cell.variable} ({cell.probe}): {cell.accuracy:.2f}, chance {cell.chance:.2f}"
    return f"{said}, Holm p {cell.adjusted:.2g}"
