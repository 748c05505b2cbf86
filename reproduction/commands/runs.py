"""Runs that are not cells of a table: preset search, attribution, live environments, the shipped cohort."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from certify.errors import UserError

RESULTS = Path("results")


@dataclass(frozen=True)
class PresetSearch:
    """The search behind the preset `carousel`: development cells only, every combination, eight seeds."""

    out: Path = RESULTS
    """Folder of preset-search.jsonl; lines of other cells that are already there stay."""
    device: str = "cpu"
    """cpu or cuda."""
    steps: int = 3000
    """Updates."""
    recordings: Path | None = None
    """Where two-cues-gap-6 and readout-3-modes-32 are."""
    only: str = ""
    """Cells whose name holds this."""

    def run(self) -> int:
        from reproduction.preset_search import search_all

        search_all(self.out, self.device, self.steps, self.recordings, self.only)
        return 0


@dataclass(frozen=True)
class Attribution:
    """Three ways in which a code is not the only memory, and which control notices: four small cells, on a CPU."""

    out: Path = RESULTS
    """Folder of attribution.jsonl."""
    seeds: int = 3
    """Runs of each cell."""
    updates: int = 1000
    """Of each run."""
    episodes: int = 64
    """In closed loop."""
    interventions: int = 16
    """Episodes of each intervention in closed loop."""
    threads: int = 0
    """Threads that simulate; 0 for one a core."""
    page: Path | None = None
    """A page with the marks of the table: docs/measure.md."""

    def run(self) -> int:
        from diacritic.measure.recorded_run import Effort
        from reproduction.attribution import run, table, write_page

        rows = run(self.out, self.seeds, self.updates, Effort(self.episodes, self.interventions, 0, self.threads))
        print("\n".join(table(rows)))
        if self.page is not None:
            write_page(self.page, rows)
        return 0


@dataclass(frozen=True)
class Live:
    """Play the machines of ledgers in the unmodified environments of bsuite, and of MIKASA-Base."""

    results: Annotated[Path, tyro.conf.Positional]
    """Folder of ledgers: results/live."""
    mikasa: Path | None = None
    """Checkout of MIKASA-Base."""
    episodes: int = 256
    """Episodes of each machine."""
    page: Path | None = None
    """A page with the marks of the table: docs/live.md."""

    def run(self) -> int:
        from reproduction.live import play_ledgers

        if self.episodes < 1:
            raise UserError("--episodes", "must be at least 1")
        if not self.results.is_dir():
            raise UserError(str(self.results), "is not a folder; `python -m reproduction run … --results` writes one")
        if self.page is not None and not self.page.exists():
            raise UserError(str(self.page), "does not exist; write it with the marks of the table first")
        play_ledgers(self.results, self.mikasa, self.episodes, self.page)
        return 0


@dataclass(frozen=True)
class Ship:
    """Put trained policies in place of the shipped ones. Their recording, and a fresh one to judge by, are made again
    where they are not found."""

    results: Annotated[Path, tyro.conf.Positional]
    """What `python -m diacritic.training FOLDER --half` wrote for two-cues gap=20, event-agnostic."""
    demos: Path = Path("out") / "demos"
    """Recordings."""

    def run(self) -> int:
        from diacritic.shipped import FOLDER
        from reproduction.ship import ship

        document = ship(self.results, demos=self.demos)
        for run in document["runs"]:
            word = "sufficient" if run["sufficient"] else "failed"
            print(f"seed {run['seed']}: {word}, success {run['success']:.2f} in {run['episodes']} episodes")
        print(FOLDER)
        return 0
