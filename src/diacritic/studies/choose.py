"""Which cells a command means: studies by name, cells by their words, fewer seeds, or a tiny version of them."""

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches

from certify.errors import UserError
from diacritic.studies.cell import Cell, Study
from diacritic.studies.tasks import task

QUICK_STEPS, QUICK_SEEDS, QUICK_EPISODES, QUICK_DEMONSTRATIONS = 20, 2, 96, 64
QUICK_EPISODES_PLAYED = 4


def studies_named(names: Sequence[str]) -> list[Study]:
    """The studies of these names, or all of them."""
    from reproduction.catalogue import STUDIES as known

    for name in names:
        if name not in known:
            near = get_close_matches(name, known, 3, 0.4)
            hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(known)}"
            raise UserError("study", f"no study is called {name!r}; {hint}")
    return [known[name] for name in names] if names else list(known.values())


def cells_of(studies: Sequence[Study], only: str = "", seeds: int | None = None, quick: bool = False) -> list[Cell]:
    """Cells that hold all words of `only` in study, name, learner or preset."""
    words = set(only.split())
    found = [cell for study in studies for cell in study.cells if words <= set(_words(cell))]
    if not found:
        where = ", ".join(study.name for study in studies)
        raise UserError("--only" if words else where, f"no cell of {where} has {only!r}" if words else "trains nothing")
    if seeds is not None:
        if seeds < 1:
            raise UserError("--seeds", f"{seeds} seeds are none; give at least 1")
        found = [replace(cell, seeds=min(seeds, cell.seeds)) for cell in found]
    return [_quick(cell) for cell in found] if quick else found


def _words(cell: Cell) -> list[str]:
    return f"{cell.study} {cell.name} {cell.learner} {cell.preset} {cell.gate}".split()


def _quick(cell: Cell) -> Cell:
    """Tiny: to see that everything runs, not to learn anything."""
    small = replace(cell, steps=min(cell.steps, QUICK_STEPS), seeds=min(cell.seeds, QUICK_SEEDS))
    if not cell.task.recorded:
        return small
    short = None if cell.forecaster is None else min(cell.forecaster, QUICK_STEPS)
    place = task(cell.task.name, **{**dict(cell.task.parameters), "episodes": QUICK_EPISODES})
    after = None if cell.after is None else _quick(cell.after)
    return replace(small, task=place, demonstrations=QUICK_DEMONSTRATIONS, forecaster=short, after=after)
