"""Which cells a command means: studies by name, cells by their words, fewer seeds, or a tiny version of them."""

import runpy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from certify.errors import UserError
from diacritic.studies.cell import Cell, Study
from diacritic.studies.tasks import task

QUICK_STEPS, QUICK_SEEDS, QUICK_EPISODES, QUICK_DEMONSTRATIONS = 20, 2, 96, 64
QUICK_EPISODES_PLAYED = 4


def load_studies(file: Path | None) -> dict[str, Study]:
    """The studies that a Python file declares, as `STUDY` or as `STUDIES`, by name."""
    if file is None:
        raise UserError("--studies", "give a Python file that declares cells; docs/studies.md shows one of 15 lines")
    if not file.is_file():
        raise UserError(str(file), "is not a file; --studies takes a Python file that declares cells")
    try:
        declared = runpy.run_path(str(file), run_name=file.stem)
    except UserError:
        raise
    except Exception as problem:  # whatever the file of somebody else does
        raise UserError(str(file), f"ends with {type(problem).__name__}: {problem}".splitlines()[0]) from problem
    listed = declared.get("STUDIES", [declared.get("STUDY")])
    studies = list(listed.values() if isinstance(listed, Mapping) else listed)
    if not studies or not all(isinstance(study, Study) for study in studies):
        raise UserError(str(file), "declares no study; assign a Study to STUDY, or several to STUDIES")
    return {study.name: study for study in studies}


def studies_named(names: Sequence[str], declared: Mapping[str, Study]) -> list[Study]:
    """The studies of these names, or all of them."""
    for name in names:
        if name not in declared:
            near = get_close_matches(name, declared, 3, 0.4)
            hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(declared)}"
            raise UserError("study", f"no study is called {name!r}; {hint}")
    return [declared[name] for name in names] if names else list(declared.values())


def cells_of(studies: Sequence[Study], only: str = "", seeds: int | None = None, quick: bool = False) -> list[Cell]:
    """Cells that hold all words of `only`, or of one of its parts between commas, in study, name, learner or preset."""
    words = [set(part.split()) for part in only.split(",")]
    cells = [(c, {c.study, *c.name.split(), c.learner, c.preset, c.gate}) for study in studies for c in study.cells]
    chosen = [cell for cell, own in cells if any(part <= own for part in words)]
    if not chosen:
        where = ", ".join(study.name for study in studies)
        raise UserError("--only" if only else where, f"no cell of {where} has {only!r}" if only else "trains nothing")
    if seeds is not None:
        if seeds < 1:
            raise UserError("--seeds", "must be at least 1")
        chosen = [replace(cell, seeds=min(seeds, cell.seeds)) for cell in chosen]
    return [_quick(cell) for cell in chosen] if quick else chosen


def _quick(cell: Cell) -> Cell:
    """Tiny: to see that everything runs, not to learn anything."""
    small = replace(cell, steps=min(cell.steps, QUICK_STEPS), seeds=min(cell.seeds, QUICK_SEEDS))
    if not cell.task.recorded:
        return small
    short = None if cell.forecaster is None else min(cell.forecaster, QUICK_STEPS)
    smaller = task(cell.task.name, **{**dict(cell.task.parameters), "episodes": QUICK_EPISODES})
    after = None if cell.after is None else _quick(cell.after)
    return replace(small, task=smaller, demonstrations=QUICK_DEMONSTRATIONS, forecaster=short, after=after)
