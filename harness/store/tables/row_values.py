"""Convert table rows into values, and values into rows."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import sqlalchemy as sa


def select_values(kind: type[Any], table: sa.Table) -> sa.Select[Any]:
    """Select the columns of a table that are the fields of a value."""
    return sa.select(*(table.c[field.name] for field in fields(kind)))


def row_of(value: Any) -> dict[str, Any]:
    """Return the fields of a value by name."""
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


def value_of(kind: type[Any], row: sa.Row[Any], **others: Any) -> Any:
    """Make a value from the columns named like its fields, and from `others`."""
    names = kind.__dataclass_fields__.keys() & row._fields
    return kind(**{name: getattr(row, name) for name in names} | others)


def count_rows(connection: sa.Connection, table: sa.FromClause, *conditions: sa.ColumnElement[bool]) -> int:
    """Count the rows of a table that meet all conditions."""
    query = sa.select(sa.func.count()).select_from(table).where(*conditions)
    return int(connection.execute(query).scalar_one())
