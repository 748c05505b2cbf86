"""How often `need` gives the certified answer."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from certify.errors import UserError


@dataclass(frozen=True)
class NeedStudy:
    """Draw datasets whose need of memory is certified, and controls without one; ask `need`; renew tables and curves.
    `python -m reproduction.need_study` does the same with numpy and scipy alone."""

    out: Path = Path("results")
    """Folder of need.jsonl; datasets that have a row are not run again."""
    page: Path | None = Path("docs/need.md")
    """The page whose tables and picture are renewed."""
    arm: Path | None = None
    """Folder of the arm's recordings, which are made where they are missing."""
    jobs: int = 1
    """Processes."""
    scale: float = 1.0
    """Multiplies the numbers of seeds."""
    only: str = ""
    """Datasets whose part and family hold this text."""
    limit: float | None = None
    """Seconds after which no further dataset is begun."""

    def run(self) -> int:
        from reproduction.need_study.arm import record_arm
        from reproduction.need_study.page import write_page
        from reproduction.need_study.run import run

        if self.arm is not None:
            record_arm(self.arm)
        print(run(self.out, self.jobs, self.scale, self.only, self.arm, self.limit))
        if self.page is not None:
            write_page(self.out, self.page)
        return 0


@dataclass(frozen=True)
class NeedData:
    """Ask public datasets for their need, and write the page about them."""

    datasets: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="NAME=FOLDER")]
    """Titles, and where copies lie; nothing of them is kept."""
    page: Path = Path("docs/need_data.md")
    """The page."""

    def run(self) -> int:
        from reproduction.need_study.real import write_real_page

        parts = [word.partition("=") for word in self.datasets]
        for (_, sign, folder), word in zip(parts, self.datasets, strict=True):
            if not sign or not Path(folder).exists():
                raise UserError(word, "expected NAME=FOLDER of a dataset that exists")
        write_real_page({name: Path(folder) for name, _, folder in parts}, self.page)
        return 0


@dataclass(frozen=True)
class NeedTrees:
    """Ask every family with and without a tree regressor for the present; rows in OUT/need-trees.jsonl."""

    out: Path = Path("results")
    """Folder of the rows; those that are there are kept."""
    page: Path | None = Path("docs/need.md")
    """The page whose sentence about trees is renewed."""

    def run(self) -> int:
        from reproduction.need_study.page import write_sentence
        from reproduction.need_study.trees import run, sentence

        said = sentence(run(self.out / "need-trees.jsonl"))
        print(said)
        if self.page is not None:
            write_sentence(self.page, "need-trees", said)
        return 0
