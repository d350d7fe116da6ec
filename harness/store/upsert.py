"""Inserting or replacing many rows at once, for what is written at every call to a model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlalchemy as sa
    from sqlalchemy.dialects.sqlite import Insert


def upsert(connection: sa.Connection, table: sa.Table, rows: Sequence[tuple[Any, ...]]) -> None:
    """Store rows with a value for every column, in the table's order; a later row replaces one of its key."""
    # Compiled once: SQLAlchemy takes longer to look a statement up than SQLite to run it.
    sql, places = _statement(table, connection.dialect)
    if places is not None:
        connection.exec_driver_sql(sql, [tuple(map(row.__getitem__, places)) for row in rows])
    else:
        names = table.columns.keys()
        connection.exec_driver_sql(sql, [dict(zip(names, row, strict=True)) for row in rows])


def insert_into(table: sa.Table, dialect: sa.Dialect) -> Insert:
    """Begin an insertion that may say what to do about a conflict, in the dialect's own words."""
    # Imported here, and only the one: a dialect takes as long to import as a small study to open.
    if dialect.name == "sqlite":
        from sqlalchemy.dialects.sqlite import insert
    else:
        from sqlalchemy.dialects.postgresql import insert  # type: ignore[assignment]  # of the same methods
    return insert(table)


@lru_cache(maxsize=16)
def _statement(table: sa.Table, dialect: sa.Dialect) -> tuple[str, tuple[int, ...] | None]:
    """SQL, and the columns its parameters stand for in order; None where it names them."""
    insert = insert_into(table, dialect)
    key = [column.name for column in table.primary_key]
    new = {c.name: insert.excluded[c.name] for c in table.columns if c.name not in key}
    compiled = insert.on_conflict_do_update(index_elements=key, set_=new).compile(dialect=dialect)
    names = compiled.positiontup
    return str(compiled), None if names is None else tuple(map(table.columns.keys().index, names))
