"""`python -m reproduction beyond-paper`: the certified learner, forgetting, long delays, and their pages."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from certify.errors import UserError

RESULTS = Path("results")


@dataclass(frozen=True)
class Certified:
    """The certified learner over the horizon: sufficiency, rates, codes, and the seconds of labelling and fitting."""

    out: Path = RESULTS
    """Folder of the ledger."""
    only: str = ""
    """Cells whose name holds this text."""

    def run(self) -> int:
        from reproduction.beyond_paper.certified import run

        run(self.out, self.only)
        return 0


@dataclass(frozen=True)
class Forgetting:
    """Surplus before and after forgetting."""

    out: Path = RESULTS
    """Folder of the ledger."""
    cells: Literal["development", "held-out", "afterwards", "far", "revised"] = "development"
    """Settings were picked on the development cells; held-out ones are run once. `revised`: the development cells after
    2,000 updates, with codes that are revised instead."""
    device: str = "cpu"
    """cpu or cuda."""
    only: str = ""
    """Cells whose name holds this text."""

    def run(self) -> int:
        from reproduction.beyond_paper.forgetting import run

        run(self.out, self.cells, self.device, self.only)
        return 0


@dataclass(frozen=True)
class Confused:
    """Why plain imitation misses: what failing runs confuse."""

    out: Path = RESULTS
    """Folder of the ledger."""
    device: str = "cpu"
    """cpu or cuda."""
    only: str = ""
    """Cells whose name holds this text."""

    def run(self) -> int:
        from reproduction.beyond_paper.confused import run

        run(self.out, self.device, self.only)
        return 0


@dataclass(frozen=True)
class RobustSearch:
    """The search behind robust revision: fits of weighing under noise in many ways, then closed loops."""

    out: Path = RESULTS
    """Folder of the ledger."""
    device: str = "cpu"
    """cpu or cuda."""
    only: str = ""
    """Settings whose description holds this text, such as imitation=100."""
    demos: Path = Path("out") / "demos"
    """Recordings; made where they are missing."""

    def run(self) -> int:
        from reproduction.beyond_paper.robust_search import run

        run(self.out, self.device, self.only, self.demos)
        return 0


@dataclass(frozen=True)
class LongDelays:
    """Why long delays are hard to learn: one measurement, cohort by cohort."""

    name: Annotated[
        Literal[
            "error-norm",
            "code-usage",
            "basin",
            "left-out",
            "release-left-out",
            "release-towards-carousel",
            "misleading",
            "first-sufficient",
        ],
        tyro.conf.Positional,
    ]
    """The measurement."""
    out: Path = RESULTS
    """Folder of the ledger."""
    device: str = "cpu"
    """cpu or cuda."""
    steps: int | None = None
    """Updates, where the usual number is not wanted."""
    only: str = ""
    """Cells whose name and preset hold this text."""

    def run(self) -> int:
        from reproduction.beyond_paper.delays import run

        if self.steps is not None and self.steps < 1:
            raise UserError("--steps", "must be at least 1")
        run(self.name, self.out, self.device, self.steps, self.only)
        return 0


@dataclass(frozen=True)
class Pages:
    """Renew the tables and pictures of the pages beyond the paper."""

    results: Path = RESULTS
    """Ledgers."""
    docs: Path = Path("docs")
    """Folder of the pages."""

    def run(self) -> int:
        from reproduction.beyond_paper import delays_draw, page

        page.write(self.results, self.docs)
        delays_draw.write(self.results, self.docs)
        return 0


@dataclass(frozen=True)
class BeyondPaper:
    """Beyond the paper: certified, forgetting, confused, robust-search, long-delays, pages."""

    action: Annotated[
        Annotated[Certified, tyro.conf.subcommand("certified", prefix_name=False)]
        | Annotated[Forgetting, tyro.conf.subcommand("forgetting", prefix_name=False)]
        | Annotated[Confused, tyro.conf.subcommand("confused", prefix_name=False)]
        | Annotated[RobustSearch, tyro.conf.subcommand("robust-search", prefix_name=False)]
        | Annotated[LongDelays, tyro.conf.subcommand("long-delays", prefix_name=False)]
        | Annotated[Pages, tyro.conf.subcommand("pages", prefix_name=False)],
        tyro.conf.arg(name=""),
    ]

    def run(self) -> int:
        return self.action.run()
