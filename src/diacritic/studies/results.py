"""The folder of ledgers, and which of its rows answer a cell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from diacritic.files.ledger import Row, read_ledger
from diacritic.studies.cell import Cell

Key = tuple[object, ...]
KEYS = ("cell", "learner", "preset", "steps", "gate", "configuration")


@dataclass(frozen=True)
class Results:
    """Rows by the name of their file; measured figures are under `figures/NAME`."""

    files: Mapping[str, Sequence[Row]]

    @staticmethod
    def read(folder: Path) -> "Results":
        """Every ledger of a folder."""
        paths = sorted([*folder.glob("*.jsonl"), *folder.glob("figures/*.jsonl")])
        return Results({path.relative_to(folder).with_suffix("").as_posix(): read_ledger(path) for path in paths})

    @cached_property
    def _by_cell(self) -> dict[Key, dict[int, Row]]:
        by_cell: dict[Key, dict[int, Row]] = {}
        for rows in self.files.values():
            for row in rows:
                if "cell" in row and "seed" in row:
                    key = tuple(row.get(name) for name in KEYS)
                    by_cell.setdefault(key, {})[row["seed"]] = row
        return by_cell

    def runs(self, cell: Cell, version: int | None = None) -> list[Row]:
        """The rows of a cell's seeds, as many as there are; a run that another study made counts as well.

        Rows that were made with other frozen settings, an older preset say, or with another version of the task do not
        answer.
        """
        digest = cell.digest if version is None else cell.digest_of(version)
        mine = self._by_cell.get((cell.name, cell.learner, cell.preset, cell.steps, cell.gate, digest), {})
        return [mine[seed] for seed in cell.run_seeds if seed in mine]

    def shown(self, cell: Cell) -> list[Row]:
        """The rows of the latest version of the task that has any; those of an older one say which."""
        versions = range(cell.task.version, 0, -1)
        return next((rows for version in versions if (rows := self.runs(cell, version))), [])

    def complete(self, cell: Cell) -> list[Row]:
        """The rows of the latest version of the task with as many as the cell asks for, or the usual number of seeds;
        none if no version has them."""
        enough = min(cell.seeds, Cell.seeds)
        versions = range(cell.task.version, 0, -1)
        return next((rows for version in versions if len(rows := self.runs(cell, version)) >= enough), [])

    def comparable(self, cell: Cell) -> list[Row]:
        """The shown rows if there are as many as the cell asks for, or the usual number of seeds; none otherwise."""
        rows = self.shown(cell)
        return rows if len(rows) >= min(cell.seeds, Cell.seeds) else []
