"""Write many rows to PostgreSQL through COPY, which is faster than single statements."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import sqlalchemy as sa

from oversight.harness.store.stored_values import clean_rows

if TYPE_CHECKING:
    from sqlalchemy.dialects.sqlite import Insert

Known: TypeAlias = Literal["replace", "keep", "refuse"]
"""Treatment of a row whose key exists: replace the stored row, keep it, or refuse all rows."""


def copy_rows(
    connection: sa.Connection,
    table: sa.Table,
    names: tuple[str, ...],
    rows: Sequence[tuple[Any, ...]],
    known: Known,
) -> int:
    """Copy rows into a temporary table, and from there into the table. Returns how many were written.

    COPY itself cannot handle existing keys. With ``"replace"``, no two rows may have the same key.
    """
    columns = [table.c[name] for name in names]
    beside = sa.table(f"new_{table.name}", *(sa.column(name) for name in names))
    shape = sa.select(*columns).compile(dialect=connection.dialect)
    # The temporary table is created once per transaction, because it is dropped when the transaction ends.
    made = f"CREATE TEMPORARY TABLE IF NOT EXISTS {beside.name} ON COMMIT DROP AS {shape} WITH NO DATA"
    connection.exec_driver_sql(made)
    quoted = ", ".join(map(connection.dialect.identifier_preparer.quote, names))
    _copy(connection, f"COPY {beside.name} ({quoted}) FROM STDIN", clean_rows(rows))
    insert = import_module("sqlalchemy.dialects.postgresql").insert(table)
    insert = insert.from_select(names, sa.select(*(beside.c[name] for name in names)))
    insert = meet_known(insert, table, names, known).execution_options(preserve_rowcount=True)
    written = connection.execute(insert).rowcount
    connection.exec_driver_sql(f"DELETE FROM {beside.name}")  # noqa: S608  the table's own name
    return int(written)


def _copy(connection: sa.Connection, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Send rows; errors of the driver become those of SQLAlchemy, which does not know COPY."""
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
    """Add the handling of existing keys to an insertion."""
    key = [column.name for column in table.primary_key]
    if known == "replace":
        new = {name: insert.excluded[name] for name in names if name not in key}
        return insert.on_conflict_do_update(index_elements=key, set_=new)
    return insert.on_conflict_do_nothing(index_elements=key) if known == "keep" else insert
