"""What the paper says of a cell and of a study; the engine of studies carries it and never reads it."""

from dataclasses import dataclass

from diacritic.studies.cell import Cell, Study


@dataclass(frozen=True)
class Paper:
    """What the paper reports of a cell."""

    block: str
    """Section of the reference, `table.learning_main` say."""
    sufficient: tuple[int, int] | None = None
    """Sufficient seeds of how many."""
    success: float | None = None
    """Closed-loop success."""
    rate: tuple[tuple[str, float], ...] = ()
    """Bits by our name of the window."""

    def __str__(self) -> str:
        return "—" if self.sufficient is None else "paper {}/{}".format(*self.sufficient)


@dataclass(frozen=True)
class PaperStudy(Study):
    """One table or figure of the paper."""

    inventory: tuple[int, ...] = ()
    """Items of the paper's inventory that it answers."""
    blocks: tuple[str, ...] = ()
    """Sections of the reference that it answers."""
    order: int = 9
    """Position in the list of runs to make."""


def paper_of(cell: Cell) -> Paper | None:
    """What the paper reports of a cell, if anything."""
    return cell.reference if isinstance(cell.reference, Paper) else None


def paper_count(cell: Cell) -> tuple[int, int] | None:
    """The paper's sufficient seeds of how many."""
    paper = paper_of(cell)
    return None if paper is None else paper.sufficient
