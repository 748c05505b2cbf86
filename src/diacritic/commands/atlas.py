"""`diacritic atlas`: the memory that many well-known tasks need, a card each."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro


@dataclass(frozen=True)
class Atlas:
    """Certify the tasks of some families (zoo, bsuite, popgym, pomdp, minigrid). What the file holds is kept, so that
    an interrupted run goes on."""

    families: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Which families; all if none is named."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("results/atlas/atlas.jsonl")
    """One card a line."""
    limit: int | None = None
    """At most so many new cards."""
    seconds: float = 2.0
    """Limit of each search of one task."""

    page: Path | None = None
    """Also write the cards as a page of the documentation (Markdown)."""

    def run(self) -> int:
        from diacritic.files.atomic import write_text
        from diacritic.studies.atlas import families, page, run

        found = run(self.families or tuple(families()), self.out, self.limit, self.seconds)
        certified = [card for card in found if "reason" not in card]
        free = sum(not card["needs_memory"] for card in certified)
        print(f"{len(certified)} of {len(found)} tasks have a card; {free} of them need no memory. {self.out}")
        if self.page is not None:
            write_text(self.page, page(found))
        return 0


COMMANDS = {"atlas": Atlas}
