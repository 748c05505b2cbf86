"""`diacritic atlas`: the memory that many well-known tasks need, a card each."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro


@dataclass(frozen=True)
class Atlas:
    """Certify the tasks of some families (zoo, forever, simulated, bsuite, popgym, pomdp, prism, mikasa, memory-gym,
    minigrid). What the file holds is kept, so that an interrupted run goes on."""

    families: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Which families; all if none is named."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("results/atlas.jsonl")
    """One card a line."""
    only: str = "*"
    """Only tasks whose names match; * stands for anything."""
    limit: int | None = None
    """At most so many new cards."""
    seconds: float = 2.0
    """Limit of each search of one task."""
    jobs: int = 1
    """Tasks at once, each in a process of its own."""
    engine: Literal["local", "ray"] = "local"
    """Where: on this machine, or on a Ray cluster (one is started here without --address)."""
    address: str | None = None
    """Of the Ray cluster."""
    mikasa: Path | None = None
    """Checkout of github.com/CognitiveAISystems/MIKASA-Base, for the families mikasa and memory-gym."""
    models: Path | None = None
    """Folder with `.pomdp` and PRISM files, such as models/ of github.com/randriu/synthesis."""
    minigrid: Path | None = None
    """Checkout of github.com/Farama-Foundation/Minigrid, whose package lacks the patterns of the ids MiniGrid-WFC-*."""
    page: Path | None = None
    """Also write the cards as a page of the documentation (Markdown)."""
    html: Path | None = None
    """Also write the cards as one HTML file with search, filters and a picture."""

    def run(self) -> int:
        from diacritic.files.atomic import write_text
        from diacritic.studies import atlas

        checkouts = atlas.Checkouts(self.mikasa, self.models, self.minigrid)
        cards = atlas.run(
            self.families or tuple(atlas.families()),
            self.out,
            checkouts,
            only=self.only,
            limit=self.limit,
            seconds=self.seconds,
            jobs=self.jobs,
            engine=self.engine,
            address=self.address,
        )
        certified = [card for card in cards if "reason" not in card]
        free = sum(not card["needs_memory"] for card in certified)
        print(f"{len(certified)} of {len(cards)} tasks have a card; {free} of them need no memory. {self.out}")
        if self.page is not None:
            write_text(self.page, atlas.page(cards))
        if self.html is not None:
            write_text(self.html, atlas.html(cards))
        return 0


COMMANDS = {"atlas": Atlas}
