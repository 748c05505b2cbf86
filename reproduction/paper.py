"""What the paper says of a cell and of a study; the engine of studies carries it and never reads it."""

from dataclasses import dataclass
from typing import Any

from diacritic.studies.cell import Cell, Study
from diacritic.studies.tasks import Task, task
from reproduction.figure import Figure

RELEASED = {
    "gap-toy": "release-toy",
    "reveal-toy": "release-reveal",
    **dict.fromkeys(("cue-corridor", "signpost-corridor"), "release-corridor"),
    **dict.fromkeys(("memory-chain", "passive-t-maze"), "release-external"),
    "stochastic-expert": "release-stochastic",
}
"""The authors' settings of a symbolic task; those of the arm are called `release`."""


def as_released(instance: Task) -> Task:
    """A symbolic task of ours in the form that the authors' code has."""
    given = dict(instance.parameters)
    forms: dict[str, tuple[str, dict[str, Any]]] = {
        "gap": ("gap-toy", given),
        "re-reveal": ("gap-toy", given | {"again": 1}),
        "reveal": ("reveal-toy", {key: given[key] for key in ("p",) if key in given}),
        "lost-cue": ("reveal-toy", {"loss": "3/10"}),
        "cue-corridor": (instance.name, given | {"end": 0}),
        "signpost-corridor": (instance.name, given | {"sign": 1}),
        **dict.fromkeys(("memory-chain", "passive-t-maze"), (instance.name, given | {"raw": 1})),
    }
    name, parameters = forms.get(instance.name, (instance.name, given))
    return task(name, **parameters)


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
    figures: tuple[Figure, ...] = ()
    """What the paper reports of it that is not a cell."""


def paper_of(cell: Cell) -> Paper | None:
    """What the paper reports of a cell, if anything."""
    return cell.reference if isinstance(cell.reference, Paper) else None


def paper_count(cell: Cell) -> tuple[int, int] | None:
    """The paper's sufficient seeds of how many."""
    paper = paper_of(cell)
    return None if paper is None else paper.sufficient
