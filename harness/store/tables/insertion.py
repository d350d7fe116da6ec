"""Insert many rows fast: with prepared statements, or with COPY in PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import lru_cache
from importlib import import_module
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import sqlalchemy as sa

from oversight.harness.store.serialization import clean_rows

if TYPE_CHECKING:
    from sqlalchemy.dialects.sqlite import Insert

Known: TypeAlias = Literal["replace", "keep"]
"""Treatment of a row whose key exists: replace the stored row, or keep it."""


def copy_rows(
    connection: sa.Connection,
    table: sa.Table,
    names: tuple[str, ...],
    rows: Sequence[tuple[Any, ...]],
    known: Known,
) -> int:
    """Send rows with COPY to a temporary table, and insert them from there. Returns how many were written.

    The temporary table is needed because COPY cannot handle existing keys. If `known` is ``"replace"``, the
    given rows must have different keys.
    """
    columns = [table.c[name] for name in names]
    beside = sa.table(f"new_{table.name}", *(sa.column(name) for name in names))
    shape = sa.select(*columns).compile(dialect=connection.dialect)
    # The table is created once per transaction, and dropped when the transaction ends.
    made = f"CREATE TEMPORARY TABLE IF NOT EXISTS {beside.name} ON COMMIT DROP AS {shape} WITH NO DATA"
    connection.exec_driver_sql(made)
    quoted = ", ".join(map(connection.dialect.identifier_preparer.quote, names))
    _copy(connection, f"COPY {beside.name} ({quoted}) FROM STDIN", clean_rows(rows))
    insert = insert_into(table, connection.dialect).from_select(names, sa.select(*beside.c))
    insert = meet_known(insert, table, names, known).execution_options(preserve_rowcount=True)
    written = connection.execute(insert).rowcount
    connection.exec_driver_sql(f"DELETE FROM {beside.name}")  # noqa: S608  the table's own name
    return int(written)


def _copy(connection: sa.Connection, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Send rows with COPY through the driver, and convert the driver's errors to SQLAlchemy's."""
    driver: Any = connection.connection.driver_connection
    errors: Any = connection.dialect.loaded_dbapi.Error
    try:
        with driver.cursor() as cursor, cursor.copy(statement) as copy:
            for row in rows:
                copy.write_row(row)
    except errors as error:
        lost = bool(driver.closed)
        if lost:
            connection.invalidate(error)
        raise sa.exc.DBAPIError.instance(
            statement, None, error, errors, connection_invalidated=lost, dialect=connection.dialect
        ) from error


def meet_known(insert: Insert, table: sa.Table, names: tuple[str, ...], known: Known) -> Insert:
    """Return an insertion that, depending on `known`, replaces or keeps stored rows with the same keys."""
    key = [column.name for column in table.primary_key]
    if known == "replace":
        new = {name: insert.excluded[name] for name in names if name not in key}
        return insert.on_conflict_do_update(index_elements=key, set_=new)
    return insert.on_conflict_do_nothing(index_elements=key)


def select_values(kind: type[Any], table: sa.Table) -> sa.Select[Any]:
    """Return a query of the columns that are named like the fields of the dataclass `kind`."""
    return sa.select(*(table.c[field.name] for field in fields(kind)))


def row_of(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass instance by name."""
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


def value_of(kind: type[Any], row: sa.Row[Any], **others: Any) -> Any:
    """Create an instance of the dataclass `kind`.

    Its fields get the values of the row's columns with the same names, and the values in `others`.
    """
    names = kind.__dataclass_fields__.keys() & row._fields
    return kind(**{name: getattr(row, name) for name in names} | others)


def count_rows(connection: sa.Connection, table: sa.FromClause, *conditions: sa.ColumnElement[bool]) -> int:
    """Count the rows of a table that meet all conditions."""
    query = sa.select(sa.func.count()).select_from(table).where(*conditions)
    return int(connection.execute(query).scalar_one())


_MANY = 64
"""Minimum number of rows for which COPY is faster than INSERT in PostgreSQL."""


def execute_many(connection: sa.Connection, statement: sa.Executable, rows: Sequence[dict[str, Any]]) -> None:
    """Run a statement once per row; do nothing without rows."""
    if rows:
        connection.execute(statement, rows)


def upsert(connection: sa.Connection, table: sa.Table, rows: Sequence[dict[str, Any]]) -> None:
    """Store rows, which all have the same columns; a row replaces a stored row with the same key."""
    if rows:
        names = tuple(rows[0])
        upsert_tuples(connection, table, names, list(map(itemgetter(*names), rows)))


def upsert_tuples(
    connection: sa.Connection, table: sa.Table, names: tuple[str, ...], rows: Sequence[tuple[Any, ...]]
) -> None:
    """Store rows, given as tuples of at least two columns; a row replaces a stored row with the same key.

    Values of JSON columns must be texts, see `oversight.harness.store.serialization.write_json`.
    """
    if _is_copied(connection, rows):
        place = [names.index(column.name) for column in table.primary_key]
        # PostgreSQL refuses a statement that changes the same row twice.
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
) -> int:
    """Store the rows whose key is not stored yet, and return the number of these rows.

    Rows are given as in `upsert_tuples`.
    """
    if not rows:
        return 0
    if _is_copied(connection, rows):
        return copy_rows(connection, table, names, rows, "keep")
    sql, arrange = _compile_insertion(table, names, connection.dialect, "keep")
    return connection.exec_driver_sql(sql, arrange(rows)).rowcount


def insert_into(table: sa.Table, dialect: sa.Dialect) -> Insert:
    """Return the dialect's own insertion, which supports a clause for rows with existing keys."""
    # The dialect is imported on demand, because the import takes as long as opening a small study.
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
    """Return the SQL, and a function that puts each row's values into the order of the SQL's parameters.

    The result is cached, because in SQLite, compiling the SQL takes longer than executing it.
    """
    insert = insert_into(table, dialect).values({name: sa.bindparam(name) for name in names})
    insert = meet_known(insert, table, names, known)
    dialect_class: Any = type(dialect)
    positional = dialect_class(paramstyle="qmark" if dialect.name == "sqlite" else "format")
    compiled = insert.compile(dialect=positional)
    arrange = itemgetter(*(names.index(name) for name in compiled.positiontup or ()))
    return str(compiled), lambda rows: list(map(arrange, rows))
