"""`diacritic figure`: a figure of the paper from our ledgers and certificates."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from certify.progress import working


@dataclass(frozen=True)
class Figure:
    """Draw a figure of the paper again: diacritic figure memory-chain -o memory-chain.svg. The exit status is 2 where
    its runs are in no ledger."""

    name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")] = "list"
    """Our name of the figure or the paper's label; `list` shows them."""
    results: Path = Path("results")
    """The folder of ledgers."""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """Where to write, as .svg, .pdf or .png; NAME.svg without it."""

    def run(self) -> int:
        from reproduction.paper_figures import FIGURES, find, write_figure

        if self.name == "list":
            for item in FIGURES:
                print(f"{item.name:20}{item.label:22}{item.title}")
            return 0
        path = self.out or Path(f"{find(self.name).name}.svg")
        with working(f"drawing {self.name}"):
            write_figure(self.name, self.results, path)
        print(path)
        return 0
