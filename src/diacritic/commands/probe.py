"""`diacritic probe`: what recorded observations and actions reveal of what must stay hidden."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from certify.errors import UserError


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
        from diacritic.demos.readers import load
        from diacritic.measure.probe import probe

        passed = True
        for path in self.demos:
            probes = probe(load(path), self.held_out, self.pixels, self.epochs)
            probes.save(path)
            print(f"{path}: " + "\n".join(probes.lines()))
            passed &= probes.passed
        return 0 if passed else 1


COMMANDS = {"probe": Probe}
