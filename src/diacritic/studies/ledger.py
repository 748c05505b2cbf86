"""Rows of cells; the ledger's file itself is `diacritic.files.ledger`."""

from diacritic.files.ledger import (
    REQUIRED,
    TYPES,
    Key,
    Row,
    key_of,
    merge_ledger,
    name_of,
    problem_of,
    read_keys,
    read_ledger,
    write_ledger,
)
from diacritic.studies.cell import Cell

__all__ = [
    "REQUIRED",
    "TYPES",
    "Key",
    "Row",
    "key_of",
    "merge_ledger",
    "name_of",
    "named",
    "problem_of",
    "read_keys",
    "read_ledger",
    "write_ledger",
]


def named(cell: Cell, seed: int) -> Row:
    """The fields that distinguish one run of one cell from all others, and its settings."""
    return {
        "study": cell.study,
        "cell": cell.name,
        "task": cell.task.title,
        "learner": cell.learner,
        "preset": cell.preset,
        "seed": seed,
        "steps": cell.steps,
        "K": cell.codes,
        "beta": cell.beta,
        "N": cell.demonstrations,
        "gate": cell.gate,
        "configuration": cell.digest,
        **({} if cell.task.version == 1 else {"task_version": cell.task.version}),
    }
