"""`diacritic ledger`: ask the ledgers in SQL, or take them elsewhere as Parquet."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table

from diacritic.commands.parameters import remedies


@dataclass(frozen=True)
class Query:
    """Ask in SQL: diacritic ledger query "SELECT learner, avg(success) FROM ledger GROUP BY 1". Nested fields are JSON:
    rate->>'gap2'."""

    sql: Annotated[str, tyro.conf.Positional]
    """A SELECT from the table `ledger`."""
    results: Path = Path("results")
    """Folder of ledgers."""

    def run(self) -> int:
        with remedies():
            from diacritic.studies.query import query

            columns, rows = query(self.results, self.sql)
        table = Table(*columns, box=None)
        for row in rows:
            table.add_row(*("—" if value is None else str(value) for value in row))
        Console(width=None if sys.stdout.isatty() else 200, markup=False).print(table)
        print(f"{len(rows)} rows")
        return 0


@dataclass(frozen=True)
class Export:
    """Write all runs of all studies as one Parquet file."""

    parquet: Path
    """The file."""
    results: Path = Path("results")
    """Folder of ledgers."""

    def run(self) -> int:
        with remedies():
            from diacritic.studies.query import export_parquet

            number = export_parquet(self.results, self.parquet)
        print(f"{self.parquet}: {number} runs")
        return 0


@dataclass(frozen=True)
class Ledger:
    """The ledgers of all studies: query, export."""

    action: Annotated[
        Annotated[Query, tyro.conf.subcommand("query", prefix_name=False)]
        | Annotated[Export, tyro.conf.subcommand("export", prefix_name=False)],
        tyro.conf.arg(name=""),
    ]

    def run(self) -> int:
        return self.action.run()


COMMANDS = {"ledger": Ledger}
