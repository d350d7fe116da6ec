"""Insert many rows with prepared statements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from oversight.harness.store.tables.server_copy import Known, copy_rows, meet_known

if TYPE_CHECKING:
    from sqlalchemy.dialects.sqlite import Insert

_MANY = 64
"""Number of rows from which COPY is faster on a server."""


def execute_many(connection: sa.Connection, statement: sa.Executable, rows: Sequence[dict[str, Any]]) -> None:
    """Run a statement for many rows; do nothing without rows."""
    if rows:
        connection.execute(statement, rows)


def upsert(connection: sa.Connection, table: sa.Table, rows: Sequence[dict[str, Any]]) -> None:
    """Store rows with the same columns; a row replaces an earlier row with the same key."""
    if rows:
        names = tuple(rows[0])
        upsert_tuples(connection, table, names, list(map(itemgetter(*names), rows)))


def upsert_tuples(
    connection: sa.Connection, table: sa.Table, names: tuple[str, ...], rows: Sequence[tuple[Any, ...]]
) -> None:
    """Store at least two rows of these columns; a row replaces an earlier row with the same key.

    JSON columns are given as text (`oversight.harness.store.stored_values.write_json`).
    """
    if _is_copied(connection, rows):
        place = [names.index(column.name) for column in table.primary_key]
        # One statement must not change the same row twice.
        last = {tuple(row[j] for j in place): row for row in rows}
        copy_rows(connection, table, names, list(last.values()), "replace")
        return
    sql, arrange = _compile_insertion(table, names, connection.dialect, "replace")
    connection.exec_driver_sql(sql, arrange(rows))


def insert_tuples(
    connection: sa.Connection,
    table: sa.Table,
    names: tuple[str, ...],
    rows: Sequence[tuple[Any, ...]],
    known: Known = "keep",
) -> int:
    """Store rows as `upsert_tuples` does, but keep or refuse existing keys. Returns how many were new."""
    if not rows:
        return 0
    if _is_copied(connection, rows):
        return copy_rows(connection, table, names, rows, known)
    sql, arrange = _compile_insertion(table, names, connection.dialect, known)
    return connection.exec_driver_sql(sql, arrange(rows)).rowcount


def insert_into(table: sa.Table, dialect: sa.Dialect) -> Insert:
    """Begin an insertion with the conflict handling of the dialect."""
    # Imported on demand, because importing a dialect takes as long as opening a small study.
    insert: Callable[[sa.Table], Insert] = import_module(f"sqlalchemy.dialects.{dialect.name}").insert
    return insert(table)


def _is_copied(connection: sa.Connection, rows: Sequence[tuple[Any, ...]]) -> bool:
    return len(rows) >= _MANY and connection.dialect.name == "postgresql"


@lru_cache(maxsize=32)
def _compile_insertion(
    table: sa.Table,
    names: tuple[str, ...],
    dialect: sa.Dialect,
    known: Known,
) -> tuple[str, Callable[[Sequence[tuple[Any, ...]]], list[Any]]]:
    """Return the SQL, and a function that brings a row's values into the order of the parameters.

    Cached, because SQLAlchemy's lookup takes longer than SQLite's execution.
    """
    insert = insert_into(table, dialect).values({name: sa.bindparam(name) for name in names})
    insert = meet_known(insert, table, names, known)
    dialect_class: Any = type(dialect)
    positional = dialect_class(paramstyle="qmark" if dialect.name == "sqlite" else "format")
    compiled = insert.compile(dialect=positional)
    sql, order = str(compiled), compiled.positiontup or ()
    listed = f"({', '.join(order)})"
    if dialect.name == "sqlite" and listed in sql:
        # All parameters are plain "?", so name the columns in the order of the rows' values.
        return sql.replace(listed, f"({', '.join(names)})", 1), list
    arrange = itemgetter(*(names.index(name) for name in order))
    return sql, lambda rows: list(map(arrange, rows))
