"""Ledgers as one table for DuckDB: `ledger`, with nested fields as JSON."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from certify.errors import UserError
from diacritic.files.atomic import make_folder, path_atomic
from diacritic.files.ledger import REQUIRED, read_ledger

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def open_ledgers(results: Path) -> "DuckDBPyConnection":
    """A connection with the table `ledger`: every run of every study in the folder."""
    import duckdb

    rows = {path: read_ledger(path) for path in sorted(results.glob("*.jsonl"))}
    ledgers = {path: listed for path, listed in rows.items() if listed and all(key in listed[0] for key in REQUIRED)}
    if not ledgers:
        raise UserError(str(results), "holds no ledger; `diacritic study run` writes one")
    columns: dict[str, str] = {}
    for row in (row for listed in ledgers.values() for row in listed):
        for key, value in row.items():
            columns[key] = _wider(columns.get(key), value)
    connection = duckdb.connect()
    kinds = {key: kind or "JSON" for key, kind in columns.items()}
    connection.execute(
        "CREATE TABLE ledger AS SELECT * FROM read_json(?, format='newline_delimited', columns=?)",
        [[str(path) for path in ledgers], kinds],
    )
    return connection


def query(results: Path, text: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The columns and rows that a SELECT gives; it sees the ledgers and no other file."""
    import duckdb

    with open_ledgers(results) as connection:
        connection.execute("SET enable_external_access=false")
        try:
            answer: Any = connection.execute(text)  # None where the text holds no statement
            if answer is None:
                raise UserError("query", "is empty; give a SELECT, such as SELECT cell, sufficient FROM ledger")
            return [column[0] for column in answer.description or ()], answer.fetchall()
        except duckdb.Error as problem:
            raise UserError("query", f"{str(problem).splitlines()[0]} (the table is called ledger)") from None


def export_parquet(results: Path, target: Path) -> int:
    """All runs as one Parquet file; their number."""
    import duckdb

    make_folder(target.parent)
    with open_ledgers(results) as connection, path_atomic(target) as partial:
        try:
            connection.execute(f"COPY ledger TO '{str(partial).replace(chr(39), chr(39) * 2)}' (FORMAT parquet)")
        except duckdb.IOException as problem:
            raise OSError(str(problem).splitlines()[0]) from None
        (number,) = connection.execute("SELECT count(*) FROM ledger").fetchall()[0]
    return number


def _wider(earlier: str | None, value: Any) -> str:
    """The type of a column that holds this value besides those before; "" while only nulls were seen."""
    if value is None:
        return earlier or ""
    kinds = {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE", str: "VARCHAR"}
    kind = kinds.get(type(value), "JSON")
    if not earlier or earlier == kind:
        return kind
    return "DOUBLE" if {earlier, kind} == {"BIGINT", "DOUBLE"} else "JSON"
