"""Ledger rows of declared cells, as far as comparisons read them."""

from typing import Any

from diacritic.files.ledger import Row
from diacritic.studies.cell import Cell

_FIELDS = ("learner", "preset", "steps", "gate")
_TRAINED = {"device": "cpu", "versions": {"torch": "9"}, "code_version": "abc", "diverged": False}


def run_of(cell: Cell, seed: int = 0, **more: Any) -> Row:
    """A sufficient and successful run, unless `more` says otherwise."""
    fields = {
        "cell": cell.name,
        "task": cell.task.title,
        "configuration": cell.digest,
        "task_version": cell.task.version,
        **{name: getattr(cell, name) for name in _FIELDS},
        **_TRAINED,
    }
    return {**fields, "seed": seed, "sufficient": True, "success": 1.0, "rate": {}, "requirement": {}, **more}
